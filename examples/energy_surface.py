"""The energy as a function of two hyperparameters, on a grid by `jax.vmap`, and what `fit` finds on it.

The coal mining disasters again: 600 models, each swept until it converges, in one call. Prints the best of the grid and
the learned optimum, and writes the surface with the path of the optimiser to build/energy_surface.png.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import BoundaryNorm

import ssep

jax.config.update("jax_enable_x64", True)


def main(output: pathlib.Path = pathlib.Path("build/energy_surface.png"), side: int = 25) -> None:
    """Evaluate the grid, learn, print and plot."""
    t, counts = ssep.datasets.coal()
    width = t[1] - t[0]
    data = ssep.Data(t, counts, aux=np.full(len(t), width))
    lik, rule, objective = ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5), ssep.PowerEPEnergy()
    level = np.log(counts.mean() / width)

    def model(variance: float | jax.Array, lengthscale: float | jax.Array) -> ssep.SDEPrior:
        return ssep.SDEPrior(ssep.kernels.Matern52(variance, lengthscale), mean=level)

    @jax.jit
    def energy(variance: jax.Array, lengthscale: jax.Array) -> jax.Array:
        return ssep.infer(model(variance, lengthscale), lik, rule, data, objective=objective).energy

    variances, lengthscales = jnp.geomspace(0.1, 4, side - 1), jnp.geomspace(3, 100, side)
    over_lengthscales = jax.vmap(energy, (None, 0))
    surface = np.asarray(jax.jit(jax.vmap(over_lengthscales, (0, None)))(variances, lengthscales))
    i, j = np.unravel_index(surface.argmin(), surface.shape)
    print(f"{surface.size} models: least energy {surface.min():.3f}")
    print(f"  at variance {variances[i]:.3f}, lengthscale {lengthscales[j]:.2f} years")

    def trainable(prior: ssep.SDEPrior, lik: ssep.Likelihood):
        return prior.kernels[0]  # the mean stays where it is on the grid

    start = model(3.0, 4.0)
    fit = ssep.fit(start, lik, rule, data, objective=objective, trainable=trainable, num_steps=120)
    kernel, trace = fit.prior.kernels[0], fit.hyperparameters[0].kernels[0]
    print(f"learned in {len(fit.energies)} steps: energy {fit.solution.energy:.3f}")
    print(f"  at variance {kernel.variance:.3f}, lengthscale {kernel.lengthscale:.2f} years")

    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    above = surface - float(fit.solution.energy)
    # Within 2 of the least: about where the posterior of the hyperparameters would be.
    levels = [0, 0.1, 0.3, 1, 2, 4, 8, 16]
    colours = BoundaryNorm(levels, 256, extend="max")
    image = ax.contourf(lengthscales, variances, above, levels, norm=colours, cmap="viridis_r", extend="max")
    ax.contour(lengthscales, variances, above, levels, colors="white", linewidths=0.5)
    ax.plot(trace.lengthscale, trace.variance, "k.-", markersize=4, linewidth=1, label="steps of Adam")
    ax.plot(kernel.lengthscale, kernel.variance, "*", color="C3", markersize=15, label="learned")
    ax.plot(lengthscales[j], variances[i], "+", color="C1", markersize=12, markeredgewidth=2, label="best of the grid")
    ax.set(xscale="log", yscale="log", xlabel="lengthscale (years)", ylabel="variance of the log rate")
    for axis, ticks in [(ax.xaxis, [5, 10, 20, 50, 100]), (ax.yaxis, [0.1, 0.2, 0.5, 1, 2, 4])]:
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    ax.legend(loc="lower right")
    figure.colorbar(image, label="energy above that of the learned model")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
