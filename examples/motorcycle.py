"""Noise that changes its size: head accelerations in a motorcycle accident, with two latent functions.

One is the acceleration, the other the size of the noise, which is small before the impact and large after it. Prints
leave-one-out scores against noise of one size and writes both functions to build/motorcycle.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import Matern32
from ssep.likelihoods import Gaussian, HeteroscedasticGaussian

jax.config.update("jax_enable_x64", True)


def main(output: pathlib.Path = pathlib.Path("build/motorcycle.png"), num_steps: int = 100) -> None:
    """Fit both models, print and plot."""
    ms, g = ssep.datasets.motorcycle()
    unit = g.std()
    data = ssep.Data(ms, g / unit)
    kernel, rule = Matern32(variance=1.0, lengthscale=10.0), ssep.CVI()
    models = {
        "noise of one size": (ssep.SDEPrior(kernel, mean=0.0), Gaussian(variance=0.1)),
        "noise that changes": (ssep.SDEPrior((kernel, kernel), mean=(0.0, -1.0)), HeteroscedasticGaussian()),
    }
    fits = {}
    for name, (prior, lik) in models.items():
        fit = fits[name] = ssep.fit(prior, lik, rule, data, objective=ssep.FreeEnergy(), num_steps=num_steps)
        score = -np.mean(ssep.leave_one_out(fit).pointwise)
        print(f"{name}: energy {fit.solution.energy:.1f}, leave-one-out score {score:.3f} per reading")

    t = np.linspace(0, 60, 301)
    prediction = ssep.predict(fits["noise that changes"], t)
    low, high = unit * prediction.quantile([0.05, 0.95])
    # The standard deviation is softplus(f2 - 1/2): its quantiles are those of f2.
    level, spread = prediction.f_mean[:, 1], np.sqrt(prediction.f_var[:, 1])
    least, size, most = (unit * np.logaddexp(0, level + z * spread - 0.5) for z in (-1.645, 0, 1.645))
    print(f"size of the noise: {size[40]:.1f} g at {t[40]:.0f} ms, {size[175]:.1f} g at {t[175]:.0f} ms")

    figure, axes = plt.subplots(2, 1, figsize=(8, 6.5), sharex=True, layout="constrained", height_ratios=(3, 2))
    axes[0].fill_between(t, low, high, alpha=0.25, label="90 % of readings")
    axes[0].plot(t, unit * prediction.f_mean[:, 0], label="mean")
    other = unit * ssep.predict(fits["noise of one size"], t).quantile([0.05, 0.95])
    axes[0].plot(t, other.T, "k:", linewidth=1, label=["90 % with noise of one size", None])
    axes[0].plot(ms, g, "k.", markersize=4, label="readings")
    axes[0].set(ylabel="acceleration (g)")
    axes[0].legend(fontsize="small")
    axes[1].fill_between(t, least, most, alpha=0.25, color="C1", label="90 % band")
    axes[1].plot(t, size, color="C1", label="median")
    axes[1].set(ylabel="size of the noise (g)", xlabel="milliseconds", yscale="log")
    axes[1].set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    axes[1].minorticks_off()
    axes[1].legend(fontsize="small")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
