"""Rainforest: a log-Gaussian Cox process of 12,929 trees on a grid of 500 x 250 cells of 2 m x 2 m, all four rules.

    python benchmarks/rainforest.py [folds [rule ...]]

learns the hyperparameters on four strips, a fifth of the plot, or takes those that an earlier run left in
build/rainforest.json; then, for each rule and fold (one unless told more),
infers the whole field without a random tenth of the cells and scores those. Prints the negative log predictive density
and writes the figure of docs/results/spacetime.md.
"""

import json
import pathlib
import resource
import sys
import time

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib import pyplot as plt
from tasks import IMAGES, rainforest

import ssep
from ssep.data import Observations
from ssep.kernels import Matern32
from ssep.likelihoods import Poisson
from ssep.prediction import log_predictive

CELL = 2.0
LEARNED = pathlib.Path(__file__).parents[1] / "build" / "rainforest.json"
RULES = {
    "ExtendedEP(0)": ssep.ExtendedEP(0.0),
    "StatLinEP(0)": ssep.StatLinEP(0.0),
    "PowerEP(0.5)": ssep.PowerEP(0.5),
    "CVI": ssep.CVI(),
}


def model(variance: float, along: float, across: float, mean: float) -> ssep.SpatioTemporalPrior:
    """A field with a constant mean."""
    return ssep.SpatioTemporalPrior(Matern32(variance, along), Matern32(1.0, across), mean=mean)


def learn(prior: ssep.SpatioTemporalPrior, data: ssep.Data, num_steps: int = 25) -> ssep.SpatioTemporalPrior:
    """Maximise the variational bound; the two variances are one number, so only one is learned."""

    def trainable(prior: ssep.SpatioTemporalPrior, lik: ssep.Likelihood):
        term = prior.terms[0]
        mean = [] if term.mean is None else [term.mean]
        return [term.temporal.variance, term.temporal.lengthscale, term.spatial.lengthscale, *mean]

    fit = ssep.fit(
        prior,
        Poisson(),
        ssep.CVI(),
        data,
        optimiser=optax.adam(0.2),
        num_steps=num_steps,
        schedule=ssep.Interleave(frozen=True),
        trainable=trainable,
        objective=ssep.FreeEnergy(),
    )
    return fit.prior


def score(solution: ssep.Solution, counts: np.ndarray, held_out: np.ndarray) -> float:
    """The mean negative log predictive density of the cells that were held out."""
    asked = Observations(jnp.asarray(counts), jnp.asarray(held_out), None)
    return float(-jnp.nanmean(eqx.filter_jit(log_predictive)(solution.likelihood, asked, solution.posterior)))


def draw(solution: ssep.Solution, along: np.ndarray, across: np.ndarray) -> None:
    """The map of the log intensity and of its standard deviation."""
    figure, axes = plt.subplots(2, 1, figsize=(8, 7.6), layout="constrained", sharex=True)
    log_rate = np.asarray(solution.posterior.mean[..., 0]) - np.log(CELL**2)
    spread = np.sqrt(np.asarray(solution.posterior.cov[..., 0, 0]))
    for ax, values, label, colours in [
        (axes[0], log_rate, "posterior mean", "viridis"),
        (axes[1], spread, "posterior standard deviation", "magma"),
    ]:
        image = ax.pcolormesh(along, across, values.T, cmap=colours, shading="nearest", rasterized=True)
        figure.colorbar(image, ax=ax, label="log trees per square metre" if ax is axes[0] else "of the log intensity")
        ax.set(ylabel="metres", title=label, aspect="equal")
    axes[1].set(xlabel="metres")
    figure.savefig(IMAGES / "rainforest.png", dpi=110)


def main(num_folds: int, rules: list[str]) -> None:
    """Learn, infer with each rule on each fold, print and draw."""
    data = rainforest().data
    counts, along, across = (np.asarray(values) for values in (data.y, data.t, data.locations.places[:, 0]))
    fold = np.random.default_rng(0).permutation(counts.size).reshape(counts.shape) % 10
    if not LEARNED.exists():
        # Strips, with the distances between them: for the prior that is nothing but irregular times.
        chosen = np.concatenate([np.arange(begin, begin + 25) for begin in (50, 175, 300, 425)])
        seen = np.where(fold == 0, np.nan, counts)[chosen]
        begun = time.perf_counter()
        term = learn(model(1.0, 10.0, 10.0, -2.0), ssep.Data(along[chosen], seen, r=across)).terms[0]
        found = (term.temporal.variance, term.temporal.lengthscale, term.spatial.lengthscale, term.mean)
        LEARNED.parent.mkdir(exist_ok=True)
        LEARNED.write_text(json.dumps([float(value) for value in found]))
        print(f"learned in {time.perf_counter() - begun:.0f} s")
    prior = model(*json.loads(LEARNED.read_text()))
    print(f"variance, lengthscales along and across, mean: {LEARNED.read_text()}\n")
    print("| rule | fold | NLPD | sweeps | seconds | peak memory so far, GB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for label in rules:
        rule = RULES[label]
        sites, scores = None, []
        for k in range(num_folds):
            begun = time.perf_counter()
            data = ssep.Data(along, np.where(fold == k, np.nan, counts), r=across)
            solution = ssep.infer(prior, Poisson(), rule, data, sites=sites, tol=1e-3)
            seconds = time.perf_counter() - begun
            scores.append(score(solution, counts, fold == k))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(
                f"| {label} | {k} | {scores[-1]:.4f} | {solution.num_sweeps} | {seconds:.0f} | {peak:.2f} |", flush=True
            )
            # The next fold holds out other cells: it begins with what this one found.
            sites = solution.sites
            if k == 0:
                draw(solution, along, across)
        print(f"| {label} | all | {np.mean(scores):.4f} ± {np.std(scores):.4f} | | | |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, sys.argv[2:] or list(RULES))
