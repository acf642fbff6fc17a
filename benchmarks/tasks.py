"""The seven tasks of [W20], whole: models with the paper's start values, and the data.

The data are read from the folder that SSEP_DATA names, or from ../shared/data.
"""

import os

# Before JAX: SciPy's OpenBLAS, behind JAX's linear algebra on CPUs, slows down badly when its threads share cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pathlib
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

import ssep
from ssep.kernels import Cosine, Matern12, Matern32, Matern52, Matern72, Periodic
from ssep.likelihoods import AmplitudeDemodulation, Bernoulli, HeteroscedasticGaussian, Poisson

jax.config.update("jax_enable_x64", True)
FOLDER = pathlib.Path(os.environ.get("SSEP_DATA", pathlib.Path(__file__).parents[2] / "shared" / "data"))
IMAGES = pathlib.Path(__file__).parents[1] / "docs" / "images"


class Task(NamedTuple):
    """A model and its data."""

    prior: ssep.Prior
    likelihood: ssep.Likelihood
    data: ssep.Data


def table(name: str) -> np.ndarray:
    """The numbers in a file of comma-separated values with one line of names."""
    return np.loadtxt(FOLDER / name, delimiter=",", skiprows=1)


def motorcycle() -> Task:
    """Head accelerations with noise that changes, times and values standardised: n = 133, two latents."""
    values = table("motorcycle.csv")
    t, y = ((values - values.mean(0)) / values.std(0)).T
    prior = ssep.SDEPrior((Matern32(3.0, 1.0), Matern32(3.0, 1.0)))
    return Task(prior, HeteroscedasticGaussian(), ssep.Data(t, y))


def coal() -> Task:
    """Mining disasters in 333 bins."""
    t, y = table("coal_binned.csv").T
    return Task(ssep.SDEPrior(Matern52(1.0, 1.0)), Poisson(), ssep.Data(t, y))


def banana(name: str = "banana.csv") -> Task:
    """Two classes in the plane: the first coordinate is time, the second space, with 15 inducing lines."""
    values = table(name)
    values = values[np.argsort(values[:, 0], kind="stable")]
    prior = ssep.SpatioTemporalPrior(Matern52(1.0, 1.0), Matern52(1.0, 1.0), np.linspace(-3, 3, 15))
    return Task(prior, Bernoulli(), ssep.Data(values[:, 0], values[:, 2], r=values[:, 1]))


def binary(size: int = 10_000) -> Task:
    """The sign of a slowing, noisy sine at irregular times."""
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 70, size))
    y = 12 * np.sin(4 * np.pi * t) / (0.25 * np.pi * t + 1) + rng.normal(0, 0.1, size) > 0
    return Task(ssep.SDEPrior(Matern72(1.0, 25.0)), Bernoulli(), ssep.Data(100 * t, y.astype(float)))


def audio() -> Task:
    """Half a second of speech as three subbands, each with an envelope; times in milliseconds: n = 22,050."""
    with np.load(FOLDER / "speech.npz") as file:
        y, rate = file["y"], float(file["sample_rate"])
    subbands = [Matern12(0.1, 75.0) * Cosine(1.0, 2 * np.pi * hertz / 1000) for hertz in (220, 440, 660)]
    prior = ssep.SDEPrior((*subbands, *[Matern52(0.5, 10.0)] * 3))
    return Task(prior, AmplitudeDemodulation(0.3), ssep.Data(1000 / rate * np.arange(len(y)), y))


def airline() -> Task:
    """Accidents per day from the first to the last: n = 35,959, a trend, a yearly and a weekly pattern."""
    days = np.loadtxt(FOLDER / "airline_accidents.csv", skiprows=1, dtype="datetime64[D]")
    y = np.bincount((days - days.min()).astype(int)).astype(float)
    kernel = (
        Matern52(2.0, 5.5e4)
        + Periodic(1.0, 2.0, 365.0, 6) * Matern32(1.0, 1.5e4)
        + Periodic(1.0, 2.0, 7.0, 6) * Matern32(1.0, 10950.0)
    )
    return Task(ssep.SDEPrior(kernel), Poisson(), ssep.Data(np.arange(len(y)), y))


def rainforest() -> Task:
    """Trees in 500 x 250 cells of 2 m x 2 m: every column of cells is a step."""
    trees, cell = table("rainforest_trees.csv"), 2.0
    along, across = np.arange(0, 1000 + cell, cell), np.arange(0, 500 + cell, cell)
    counts, _, _ = np.histogram2d(trees[:, 0], trees[:, 1], bins=(along, across))
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 10.0), Matern32(1.0, 10.0))
    return Task(prior, Poisson(), ssep.Data(along[:-1] + cell / 2, counts, r=across[:-1] + cell / 2))


TASKS: dict[str, Callable[[], Task]] = {
    task.__name__: task for task in (motorcycle, coal, banana, binary, audio, airline, rainforest)
}
