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


def motorcycle() -> Task:
    """Head accelerations with noise that changes, times and values standardised: n = 133, two latents."""
    t, y = ((values - values.mean()) / values.std() for values in ssep.datasets.motorcycle())
    prior = ssep.SDEPrior((Matern32(3.0, 1.0), Matern32(3.0, 1.0)))
    return Task(prior, HeteroscedasticGaussian(), ssep.Data(t, y))


def coal() -> Task:
    """Mining disasters in 333 bins, with the paper's rounded times."""
    t, y = np.loadtxt(FOLDER / "coal_binned.csv", delimiter=",", skiprows=1).T
    return Task(ssep.SDEPrior(Matern52(1.0, 1.0)), Poisson(), ssep.Data(t, y))


def banana(large: bool = False) -> Task:
    """Two classes in the plane: the first coordinate is time, the second space, with 15 inducing lines."""
    rows = np.stack(ssep.datasets.banana(FOLDER, large=large))
    t, r, y = rows[:, np.argsort(rows[0], kind="stable")]
    prior = ssep.SpatioTemporalPrior(Matern52(1.0, 1.0), Matern52(1.0, 1.0), np.linspace(-3, 3, 15))
    return Task(prior, Bernoulli(), ssep.Data(t, y, r=r))


def binary(size: int = 10_000) -> Task:
    """The sign of a slowing, noisy sine at irregular times."""
    return Task(ssep.SDEPrior(Matern72(1.0, 25.0)), Bernoulli(), ssep.Data(*ssep.datasets.binary(size)))


def audio() -> Task:
    """Half a second of speech as three subbands, each with an envelope; times in milliseconds: n = 22,050."""
    t, y = ssep.datasets.speech(FOLDER)
    subbands = [Matern12(0.1, 75.0) * Cosine(1.0, 2 * np.pi * hertz / 1000) for hertz in (220, 440, 660)]
    prior = ssep.SDEPrior((*subbands, *[Matern52(0.5, 10.0)] * 3))
    return Task(prior, AmplitudeDemodulation(0.3), ssep.Data(t, y))


def airline() -> Task:
    """Accidents per day from the first to the last: n = 35,959, a trend, a yearly and a weekly pattern."""
    kernel = (
        Matern52(2.0, 5.5e4)
        + Periodic(1.0, 2.0, 365.0, 6) * Matern32(1.0, 1.5e4)
        + Periodic(1.0, 2.0, 7.0, 6) * Matern32(1.0, 10950.0)
    )
    return Task(ssep.SDEPrior(kernel), Poisson(), ssep.Data(*ssep.datasets.airline(FOLDER)))


def rainforest() -> Task:
    """Trees in 500 x 250 cells of 2 m x 2 m: every column of cells is a step."""
    along, across, counts = ssep.datasets.rainforest(FOLDER)
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 10.0), Matern32(1.0, 10.0))
    return Task(prior, Poisson(), ssep.Data(along, counts, r=across))


TASKS: dict[str, Callable[[], Task]] = {
    task.__name__: task for task in (motorcycle, coal, banana, binary, audio, airline, rainforest)
}
