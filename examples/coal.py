"""The rate of coal mining disasters, 1851 to 1962: a log-Gaussian Cox process with its hyperparameters learned.

Run with `make demo`. Prints the learned model and the rate by decade, and writes a plot to build/coal.png.
"""

import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib import pyplot as plt

import ssep

jax.config.update("jax_enable_x64", True)

NUM_STEPS = 200


def main(output: pathlib.Path = pathlib.Path("build/coal.png")) -> None:
    """Fit, print and plot."""
    t, counts = ssep.datasets.coal()
    width = t[1] - t[0]
    # With the width of a bin as its exposure, exp(f) is a rate per year.
    data = ssep.Data(t, counts, aux=np.full(len(t), width))
    lik = ssep.likelihoods.Poisson()
    rule = ssep.PowerEP(alpha=0.5)

    def build(log_hyper: jax.Array) -> ssep.SDEPrior:
        variance, lengthscale = jnp.exp(log_hyper)
        return ssep.SDEPrior(ssep.kernels.Matern52(variance, lengthscale), mean=np.log(counts.sum() / width / len(t)))

    def energy(log_hyper: jax.Array, sites: ssep.SiteState | None) -> tuple[jax.Array, ssep.SiteState]:
        _, sites, value = ssep.sweep(build(log_hyper), lik, sites, rule, data, objective=ssep.PowerEPEnergy())
        return value, sites

    # One sweep and one gradient step at a time, as in the paper: sites and hyperparameters converge together.
    optimiser = optax.adam(0.1)
    log_hyper = jnp.log(jnp.array([1.0, 1.0]))
    state = optimiser.init(log_hyper)

    @eqx.filter_jit
    def step(log_hyper, state, sites):
        (value, sites), gradient = eqx.filter_value_and_grad(energy, has_aux=True)(log_hyper, sites)
        updates, state = optimiser.update(gradient, state)
        return log_hyper + updates, state, sites, value

    print("   step     energy   variance   lengthscale (years)")
    sites = None
    for i in range(NUM_STEPS + 1):
        variance, lengthscale = np.exp(log_hyper)
        log_hyper, state, sites, value = step(log_hyper, state, sites)
        if i % 40 == 0:
            print(f"{i:7d} {value:10.4f} {variance:10.4f} {lengthscale:13.3f}")

    posterior, sites, _ = ssep.sweep(build(log_hyper), lik, sites, rule, data)
    mean, sd = posterior.mean[:, 0], jnp.sqrt(posterior.cov[:, 0, 0])
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
