"""A field of trees: a log-Gaussian Cox process on a grid of 200 x 100 cells, with the long side of the plot as time.

Counts of one species in a plot of rainforest, 1000 m by 500 m, in cells of 5 m, are read from the folder that SSEP_DATA
names; without them, trees are made up with a known field. The kernel is learned on a strip, and the whole field
inferred with a tenth of the cells held out. Prints scores of these and writes maps to build/rainforest.png.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm
from scipy import stats

import ssep
from ssep.kernels import Matern32

jax.config.update("jax_enable_x64", True)
TRUTH = {"variance": 1.0, "along": 30.0, "across": 20.0, "mean": -0.5}


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres of cells along the plot and across it, in metres, and counts."""
    try:
        return ssep.datasets.rainforest(cell=5.0)
    except FileNotFoundError:
        print("no file of trees: these are made up")
        along, across = np.arange(2.5, 1000, 5), np.arange(2.5, 500, 5)
        return along, across, np.random.default_rng(1).poisson(np.exp(simulate(along, across))).astype(float)


def simulate(along: np.ndarray, across: np.ndarray) -> np.ndarray:
    """A log intensity with a separable Matern-3/2 covariance."""

    def factor(x: np.ndarray, lengthscale: float) -> np.ndarray:
        scaled = np.sqrt(3) * np.abs(x[:, None] - x) / lengthscale
        return np.linalg.cholesky((1 + scaled) * np.exp(-scaled))

    noise = np.random.default_rng(0).normal(size=(along.size, across.size))
    field = factor(along, TRUTH["along"]) @ noise @ factor(across, TRUTH["across"]).T
    return TRUTH["mean"] + np.sqrt(TRUTH["variance"]) * field


def main(output: pathlib.Path = pathlib.Path("build/rainforest.png"), num_steps: int = 25) -> None:
    """Learn on a strip, infer the whole, score, draw."""
    along, across, counts = load()
    held_out = np.random.default_rng(2).uniform(size=counts.shape) < 0.1
    seen = np.where(held_out, np.nan, counts)
    print(f"{counts.sum():.0f} trees in {counts.size} cells, {held_out.sum()} of them held out")
    lik, rule = ssep.likelihoods.Poisson(), ssep.CVI()
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 20.0), Matern32(1.0, 20.0), mean=np.log(counts.mean()))

    def trainable(prior: ssep.SpatioTemporalPrior, lik: ssep.Likelihood):
        """Of two variances whose product counts, one is enough."""
        term = prior.terms[0]
        return [term.temporal, term.spatial.lengthscale, term.mean]

    strip = slice(80, 120)
    fit = ssep.fit(
        prior,
        lik,
        rule,
        ssep.Data(along[strip], seen[strip], r=across),
        num_steps=num_steps,
        trainable=trainable,
        objective=ssep.FreeEnergy(),
        schedule=ssep.Interleave(frozen=True),
    )
    term = fit.prior.terms[0]
    print(
        f"variance {term.temporal.variance:.2f}, lengthscales {term.temporal.lengthscale:.1f} m along and "
        f"{term.spatial.lengthscale:.1f} m across, mean {term.mean:.2f}"
    )
    solution = ssep.infer(fit.prior, lik, rule, ssep.Data(along, seen, r=across), tol=1e-3)
    mean, deviation = np.asarray(solution.posterior.mean[..., 0]), np.sqrt(solution.posterior.cov[..., 0, 0])
    score = float(ssep.nlpd(solution, ssep.Data(along, counts, r=across, mask=held_out)))
    baseline = -np.mean(stats.poisson.logpmf(counts[held_out], np.nanmean(seen)))
    print(f"{solution.num_sweeps} sweeps; NLPD of held-out cells {score:.3f}, of one rate for all {baseline:.3f}")
    draw(along, across, counts, mean, deviation, output)


def draw(
    along: np.ndarray,
    across: np.ndarray,
    counts: np.ndarray,
    mean: np.ndarray,
    deviation: np.ndarray,
    output: pathlib.Path,
) -> None:
    """Counts, the intensity and what is not known of it."""
    figure, axes = plt.subplots(3, 1, figsize=(7, 9.6), sharex=True, layout="constrained")
    for ax, values, title, label, style in [
        (axes[0], counts, "Counts", "trees in a cell", {"cmap": "Greys", "vmax": 10}),
        (axes[1], 400 * np.exp(mean), "Intensity, posterior median", "trees per hectare", {"norm": LogNorm()}),
        (axes[2], deviation, "Uncertainty", "standard deviation of log intensity", {"cmap": "magma"}),
    ]:
        image = ax.pcolormesh(along, across, values.T, shading="nearest", rasterized=True, **style)
        figure.colorbar(image, ax=ax, label=label, extend="max" if "vmax" in style else "neither", shrink=0.9)
        ax.set(title=title, ylabel="metres", aspect="equal")
    axes[2].set(xlabel="metres")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=100)


if __name__ == "__main__":
    main()
