"""A panel: forty short series of counts, irregular, with gaps and of different lengths, in one compiled program.

Each series is filled up to the length of the longest with missing values at its last time, which change nothing, and
`jax.vmap` runs over all of them. They share a prior, which is learned from the sum of their energies. The counts are
made up, so that the prior they come from is known. Writes build/panel.png.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from matplotlib import pyplot as plt
from scipy.optimize import minimize

import ssep

jax.config.update("jax_enable_x64", True)
VARIANCE, LENGTHSCALE, MEAN = 0.8, 3.0, 1.0
LIKELIHOOD, RULE = ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5)


def simulate(count: int) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """A fine grid of times, the true rates there, and of each series some times with counts, one in ten missing."""
    rng = np.random.default_rng(3)
    grid = np.linspace(0, 20, 201)
    gap = np.sqrt(5) * np.abs(grid[:, None] - grid) / LENGTHSCALE
    matern = VARIANCE * (1 + gap + gap**2 / 3) * np.exp(-gap)
    rates = np.exp(rng.multivariate_normal(np.full(grid.size, MEAN), matern, count))
    series = []
    for rate in rates:
        chosen = np.sort(rng.choice(grid.size, rng.integers(8, 60), replace=False))
        counts = np.where(rng.uniform(size=chosen.size) < 0.1, np.nan, rng.poisson(rate[chosen]))
        series.append((grid[chosen], counts))
    return grid, rates, series


def pad(series: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Times and counts with a row for each series, filled up with missing counts at its last time."""
    longest = max(len(t) for t, _ in series)
    more = [(0, longest - len(t)) for t, _ in series]
    times = [np.pad(t, extra, mode="edge") for (t, _), extra in zip(series, more, strict=True)]
    counts = [np.pad(y, extra, constant_values=np.nan) for (_, y), extra in zip(series, more, strict=True)]
    return np.stack(times), np.stack(counts)


def solve(free: ArrayLike, t: ArrayLike, y: ArrayLike) -> ssep.Solution:
    """The posterior of one series, given the logarithms of the variance and the lengthscale, and the mean."""
    log_variance, log_lengthscale, mean = jnp.asarray(free)
    prior = ssep.SDEPrior(ssep.kernels.Matern52(jnp.exp(log_variance), jnp.exp(log_lengthscale)), mean=mean)
    return ssep.infer(prior, LIKELIHOOD, RULE, ssep.Data(t, y), objective=ssep.PowerEPEnergy())


def main(output: pathlib.Path = pathlib.Path("build/panel.png"), count: int = 40) -> None:
    """Learn the shared prior, compare with one series on its own, plot."""
    grid, rates, series = simulate(count)
    t, y = pad(series)
    seen = np.sum(~np.isnan(y), 1)
    print(f"{count} series of {seen.min()} to {seen.max()} counts, padded to {t.shape[1]}")
    traced = []

    @jax.jit
    def total(free: jax.Array) -> jax.Array:
        traced.append(1)  # when the function is compiled, not when it runs
        return jnp.sum(jax.vmap(solve, (None, 0, 0))(free, t, y).energy)

    found = minimize(jax.value_and_grad(total), np.zeros(3), jac=True, method="L-BFGS-B")
    print(f"evaluated with gradients {found.nfev} times, traced {len(traced)} time(s)")
    print(f"learned: variance {np.exp(found.x[0]):.2f}, lengthscale {np.exp(found.x[1]):.2f}, mean {found.x[2]:.2f}")
    # Twice this is about chi-squared with three degrees of freedom: 95 % of panels would have less than 3.9.
    excess = float(total(np.array([np.log(VARIANCE), np.log(LENGTHSCALE), MEAN]))) - found.fun
    print(f"truth: variance {VARIANCE}, lengthscale {LENGTHSCALE}, mean {MEAN}; its energy is {excess:.2f} higher")

    ahead = np.linspace(0, 24, 121)

    @jax.jit
    def smooth(t: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        prediction = ssep.predict(solve(found.x, t, y), ahead)
        return prediction.f_mean[:, 0], prediction.f_var[:, 0]

    mean, variance = jax.vmap(smooth)(t, y)
    gap = np.abs(smooth(*series[0])[0] - mean[0]).max()
    print(f"largest difference from the first series on its own, without padding: {gap:.1e}")

    figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True, layout="constrained")
    for ax, i in zip(axes.flat, np.argsort(seen)[np.linspace(0, count - 1, 6).astype(int)], strict=True):
        band = 1.645 * np.sqrt(variance[i])
        ax.fill_between(ahead, np.exp(mean[i] - band), np.exp(mean[i] + band), alpha=0.25, label="90 % band")
        ax.plot(ahead, np.exp(mean[i]), label="median")
        ax.plot(grid, rates[i], "k--", linewidth=1, label="true rate")
        ax.plot(t[i], y[i], "k.", markersize=4, label="counts")
        ax.set(title=f"series {i}: {seen[i]} counts", ylim=(0, 1.5 * np.nanmax(y[i])))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    figure.supxlabel("time; forecast from 20 on")
    figure.supylabel("rate of counts")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
