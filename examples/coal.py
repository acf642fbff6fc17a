"""The rate of coal mining disasters, 1851 to 1962: a log-Gaussian Cox process with its hyperparameters learned.

Run with `make demo`. Prints the learned model and the rate by decade, and writes a plot to build/coal.png.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import pyplot as plt

import ssep

jax.config.update("jax_enable_x64", True)


def main(output: pathlib.Path = pathlib.Path("build/coal.png")) -> None:
    """Fit, print and plot."""
    t, counts = ssep.datasets.coal()
    width = t[1] - t[0]
    # With the width of a bin as its exposure, exp(f) is a rate per year.
    data = ssep.Data(t, counts, aux=np.full(len(t), width))
    prior = ssep.SDEPrior(ssep.kernels.Matern52(variance=1.0, lengthscale=1.0), mean=np.log(counts.mean() / width))
    fit = ssep.fit(
        prior, ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5), data, objective=ssep.PowerEPEnergy(), num_steps=150
    )

    trace = fit.hyperparameters[0].kernels[0]
    print("   step     energy   variance   lengthscale (years)")
    for i in range(0, 150, 30):
        print(f"{i:7d} {fit.energies[i]:10.4f} {trace.variance[i]:10.4f} {trace.lengthscale[i]:13.3f}")
    kernel, energy = fit.prior.kernels[0], fit.solution.energy
    print(f"   best {energy:10.4f} {kernel.variance:10.4f} {kernel.lengthscale:13.3f}")

    prediction = ssep.predict(fit, t)
    mean, sd = prediction.f_mean[:, 0], jnp.sqrt(prediction.f_var[:, 0])
    # exp of a normal variable: quantiles are those of f, the mean is exp(mean + variance / 2).
    rate, low, high = jnp.exp(mean + sd**2 / 2), jnp.exp(mean - 1.96 * sd), jnp.exp(mean + 1.96 * sd)

    print("\n decade   disasters   rate per year (95 % interval)")
    for start in range(1850, 1960, 10):
        inside = (t >= start) & (t < start + 10)
        middle = int(np.argmin(np.abs(t - start - 5)))
        print(
            f"  {start}s {counts[inside].sum():11.0f}   {rate[middle]:8.2f} ({low[middle]:.2f} to {high[middle]:.2f})"
        )

    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.fill_between(t, low, high, alpha=0.25, label="95 % interval")
    axes.plot(t, rate, label="posterior mean rate")
    axes.plot(ssep.datasets.coal_dates(), np.full(191, -0.15), "|", color="black", markersize=8, label="disasters")
    axes.set(xlabel="year", ylabel="disasters per year", title="British coal mining disasters")
    axes.legend()
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)
    print(f"\nPlot written to {output}")


if __name__ == "__main__":
    main()
