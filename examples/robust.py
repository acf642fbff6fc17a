"""Robust regression: a slow curve with outliers, under Gaussian noise and under Student's t.

A sensor reads a smooth curve with noise of standard deviation 0.2; one reading in eight is off by much more, most of
them upwards. Both models learn their kernel and their noise from the same readings. Prints how far each ends from the
true curve and writes build/robust.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep

jax.config.update("jax_enable_x64", True)


def simulate() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, readings, the true curve, and which readings are outliers."""
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(0, 10, 250))
    truth = np.sin(t) + 0.5 * np.sin(3 * t)
    outlier = rng.uniform(size=t.size) < 1 / 8
    y = truth + 0.2 * rng.normal(size=t.size) + outlier * rng.normal(2, 3, t.size)
    return t, y, truth, outlier


def main(output: pathlib.Path = pathlib.Path("build/robust.png")) -> None:
    """Fit both, print and plot."""
    t, y, truth, outlier = simulate()
    prior = ssep.SDEPrior(ssep.kernels.Matern52(variance=1.0, lengthscale=1.0))
    rule = ssep.PowerEP(alpha=0.5)
    likelihoods = {
        "Gaussian": ssep.likelihoods.Gaussian(variance=1.0),
        "Student's t": ssep.likelihoods.StudentT(df=4.0, scale=0.5),
    }
    figure, axes = plt.subplots(2, 1, figsize=(8, 6.5), sharex=True, sharey=True, layout="constrained")
    print(f"{outlier.sum()} of {t.size} readings are outliers")
    for ax, (name, lik) in zip(axes, likelihoods.items(), strict=True):
        fit = ssep.fit(prior, lik, rule, ssep.Data(t, y), num_steps=100)
        posterior = fit.solution.posterior
        mean, deviation = posterior.mean[:, 0], np.sqrt(posterior.cov[:, 0, 0])
        error = np.sqrt(np.mean((mean - truth) ** 2))
        inside = np.mean(np.abs(mean - truth) < 1.645 * deviation)
        score = -np.mean(ssep.leave_one_out(fit).pointwise)
        print(f"{name}: error {error:.3f}, {inside:.0%} of the curve in 90 % bands, leave-one-out score {score:.3f}")
        ax.plot(t, truth, "k--", linewidth=1, label="truth")
        ax.fill_between(t, mean - 1.645 * deviation, mean + 1.645 * deviation, alpha=0.3, label="90 % band")
        ax.plot(t, mean, label="estimate")
        ax.plot(t[~outlier], y[~outlier], "k.", markersize=4, label="readings")
        ax.plot(t[outlier], y[outlier], ".", color="C3", markersize=5, label="outliers, unknown to the model")
        ax.set(title=name, ylabel="reading")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    axes[1].set_xlabel("time")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
