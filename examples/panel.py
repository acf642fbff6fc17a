"""A panel: forty short series of counts, irregular, with gaps and of different lengths, in one compiled program.

Each series is filled up to the length of the longest with missing values at its last time, which change nothing, and
`jax.vmap` runs over all of them. They share a kernel, which is learned from the sum of their energies. The counts are made
up, so the kernel that they come from is known. Writes build/panel.png.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import pyplot as plt
from scipy.optimize import minimize

import ssep

jax.config.update("jax_enable_x64", True)
TRUTH = {"variance": 0.8, "lengthscale": 3.0, "mean": 1.0}
LIKELIHOOD, RULE = ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5)


def model(free: jax.Array) -> ssep.SDEPrior:
    """The prior of every series, from unconstrained numbers."""
    return ssep.SDEPrior(ssep.kernels.Matern52(jnp.exp(free[0]), jnp.exp(free[1])), mean=free[2])


def solve(free: jax.Array, t: jax.Array, y: jax.Array) -> ssep.Solution:
    """The posterior of one series."""
    return ssep.infer(model(free), LIKELIHOOD, RULE, ssep.Data(t, y), objective=ssep.PowerEPEnergy())


def simulate(count: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Times, counts (one in ten is missing) and true rates of each series."""
    rng = np.random.default_rng(3)
    series = []
    for _ in range(count):
        t = np.sort(rng.uniform(0, 20, rng.integers(8, 60)))
        gap = np.sqrt(5) * np.abs(t[:, None] - t) / TRUTH["lengthscale"]
        matern = TRUTH["variance"] * (1 + gap + gap**2 / 3) * np.exp(-gap)
        rate = np.exp(TRUTH["mean"] + rng.multivariate_normal(np.zeros(t.size), matern))
        series.append((t, np.where(rng.uniform(size=t.size) < 0.1, np.nan, rng.poisson(rate)), rate))
    return series


def pad(rows: list[np.ndarray], fill: float | None = None) -> np.ndarray:
    """Rows of equal length; filled up with a number, or with the last entry of each."""
    longest = max(map(len, rows))
    return np.stack([np.append(row, np.full(longest - len(row), row[-1] if fill is None else fill)) for row in rows])


def main(output: pathlib.Path = pathlib.Path("build/panel.png"), count: int = 40) -> None:
    """Learn the shared kernel, compare with series by series, plot."""
    series = simulate(count)
    t, y = pad([each[0] for each in series]), pad([each[1] for each in series], fill=np.nan)
    seen = np.sum(~np.isnan(y), 1)
    print(f"{count} series of {seen.min()} to {seen.max()} counts, padded to {t.shape[1]}")

    compiled = []

    @jax.jit
    def total(free: jax.Array) -> jax.Array:
        compiled.append(t.shape)  # happens when the function is traced, not when it runs
        return jnp.sum(jax.vmap(solve, (None, 0, 0))(free, t, y).energy)

    found = minimize(jax.value_and_grad(total), np.zeros(3), jac=True, method="L-BFGS-B")
    learned = dict(zip(TRUTH, [*np.exp(found.x[:2]), found.x[2]], strict=True))
    print(f"{found.nfev} energies with gradients, compiled {len(compiled)} time(s)")
    for name, value in learned.items():
        print(f"{name}: learned {value:.2f}, true {TRUTH[name]:.2f}")
    truth = np.array([np.log(TRUTH["variance"]), np.log(TRUTH["lengthscale"]), TRUTH["mean"]])
    # Twice this is about chi-squared with three degrees of freedom: 95 % of panels have less than 3.9.
    print(f"energy of the truth above the least: {float(total(truth)) - found.fun:.2f}")

    ahead = np.linspace(0, 24, 121)

    @jax.jit
    @jax.vmap
    def smooth(t: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        prediction = ssep.predict(solve(found.x, t, y), ahead)
        return prediction.f_mean[:, 0], prediction.f_var[:, 0]

    mean, variance = smooth(t, y)
    alone = ssep.infer(model(found.x), LIKELIHOOD, RULE, ssep.Data(*series[0][:2]))
    gap = np.abs(ssep.predict(alone, ahead).f_mean[:, 0] - mean[0]).max()
    print(f"largest difference from the first series on its own, not padded: {gap:.1e}")

    figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
    for ax, i in zip(axes.flat, np.argsort(seen)[np.linspace(0, count - 1, 6).astype(int)], strict=True):
        band = 1.645 * np.sqrt(variance[i])
        ax.fill_between(ahead, np.exp(mean[i] - band), np.exp(mean[i] + band), alpha=0.25, label="90 % band")
        ax.plot(ahead, np.exp(mean[i]), label="estimate")
        ax.plot(series[i][0], series[i][2], "k--", linewidth=1, label="truth")
        ax.plot(t[i], y[i], "k.", markersize=4, label="counts")
        ax.set(title=f"series {i}, {seen[i]} counts", ylim=(0, 25))
    axes[0, 0].legend(fontsize="small")
    figure.supxlabel("time")
    figure.supylabel("rate")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
