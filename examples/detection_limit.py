"""Concentrations in a river, some below the limit of detection: what `CensoredGaussian` sees and deletion does not.

The readings are made up: weekly logarithms of a concentration with a season and a slow decline, of which everything
below the limit is known to be below, and no more.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import Matern32, Matern52, Periodic

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(3)
t = np.arange(0, 6, 1 / 52)  # in years
truth = 0.3 + 0.9 * np.sin(2 * np.pi * t) - 0.25 * t
reading = truth + 0.25 * rng.normal(size=t.size)
limit = -0.5
below = reading < limit

prior = ssep.SDEPrior(Matern52(1.0, 4.0) + Periodic(0.5, 1.5, 1.0, order=2) * Matern32(1.0, 20.0))
censored = ssep.Data(t, np.maximum(reading, limit), aux=np.where(below, -1.0, 0.0))
deleted = ssep.Data(t, np.where(below, np.nan, reading))
rule = ssep.PowerEP(alpha=1.0)
with_limit = ssep.infer(prior, ssep.likelihoods.CensoredGaussian(0.0625), rule, censored)
without = ssep.infer(prior, ssep.likelihoods.Gaussian(0.0625), rule, deleted)

print(f"{below.mean():.0%} of {t.size} readings are below the limit of detection")
for name, solution in [("censored", with_limit), ("deleted", without)]:
    posterior = solution.posterior
    error, deviation = posterior.mean[:, 0] - truth, np.sqrt(posterior.cov[:, 0, 0])
    inside = np.mean(np.abs(error) < 1.645 * deviation)
    print(f"{name}: mean error {np.mean(error):+.3f}, {inside:.0%} of the curve in 90 % intervals")

figure, axes = plt.subplots(2, 1, figsize=(8, 6), sharex=True, sharey=True, layout="constrained")
for ax, solution, title in zip(
    axes, (with_limit, without), ("below the limit: censored", "below the limit: deleted"), strict=True
):
    mean, deviation = solution.posterior.mean[:, 0], np.sqrt(solution.posterior.cov[:, 0, 0])
    ax.fill_between(t, mean - 1.645 * deviation, mean + 1.645 * deviation, alpha=0.25, label="90 % interval")
    ax.plot(t, mean, label="estimate")
    ax.plot(t, truth, "k--", linewidth=1, label="truth")
    ax.plot(t[~below], reading[~below], "k.", markersize=3, label="readings")
    ax.axhline(limit, color="red", linewidth=0.8, label="limit of detection")
    ax.set(title=title, ylabel="log concentration")
axes[0].legend(ncols=5, fontsize="small")
axes[1].set_xlabel("years")
output = pathlib.Path("build/detection_limit.png")
output.parent.mkdir(exist_ok=True)
figure.savefig(output, dpi=110)
