"""The paper's seven tasks cut to 60 points, each as a library model and as a dense problem."""

import os
import pathlib

import numpy as np
import pytest

import ssep
from ssep.kernels import Cosine, Matern12, Matern32, Matern52, Matern72, Periodic
from tests import oracle
from tests import oracle_likelihoods as dense

DEGREE = 12
DATA = pathlib.Path(os.environ.get("SSEP_DATA", pathlib.Path(__file__).parents[2] / "shared" / "data"))


def read(load):
    """What a loader finds in the folder, if there is one."""
    try:
        return load(DATA)
    except FileNotFoundError as error:
        pytest.skip(str(error))


def motorcycle():
    t, y = (((values - values.mean()) / values.std())[::2][:60] for values in ssep.datasets.motorcycle())
    kernels = (Matern32(3.0, 1.0), Matern32(3.0, 1.0))
    return t, y, kernels, ssep.likelihoods.HeteroscedasticGaussian(), dense.HeteroscedasticGaussian()


def coal():
    t, y = ssep.datasets.coal()
    return t[:60], y[:60], (Matern52(1.0, 1.0),), ssep.likelihoods.Poisson(), dense.Poisson()


def banana():
    t, _, y = read(ssep.datasets.banana)
    first = np.argsort(t)[:60]
    return t[first], y[first], (Matern52(1.0, 1.0),), ssep.likelihoods.Bernoulli(), dense.Bernoulli()


def binary():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 0.42, 60))
    y = (12 * np.sin(4 * np.pi * t) / (0.25 * np.pi * t + 1) + rng.normal(0, 0.1, 60) > 0).astype(float)
    return 100 * t, y, (Matern72(1.0, 25.0),), ssep.likelihoods.Bernoulli(), dense.Bernoulli()


def audio():
    t, y = (values[5000:5060] for values in read(ssep.datasets.speech))
    kernels = (Matern12(0.1, 75.0) * Cosine(1.0, 2 * np.pi * 0.22), Matern52(0.5, 10.0))
    return t, y, kernels, ssep.likelihoods.AmplitudeDemodulation(0.3), dense.AmplitudeDemodulation(0.3, 1)


def airline():
    days, start = read(ssep.datasets.airline_dates), np.datetime64("1950-01-01")
    y = np.array([(days == start + i).sum() for i in range(60)], float)
    kernel = (
        Matern52(2.0, 5.5e4)
        + Periodic(1.0, 2.0, 365.0, 6) * Matern32(1.0, 1.5e4)
        + Periodic(1.0, 2.0, 7.0, 6) * Matern32(1.0, 10950.0)
    )
    return np.arange(60.0), y, (kernel,), ssep.likelihoods.Poisson(), dense.Poisson()


def rainforest():
    trees = read(ssep.datasets.rainforest_trees)
    row = trees[(trees[:, 1] >= 100) & (trees[:, 1] < 110), 0]
    y = np.histogram(row, np.arange(61) * 2.0)[0].astype(float)
    return np.arange(60) * 2.0, y, (Matern32(1.0, 10.0),), ssep.likelihoods.Poisson(), dense.Poisson()


TASKS = {task.__name__: task for task in (motorcycle, coal, banana, binary, audio, airline, rainforest)}


def build(name):
    """Prior, likelihood, data and the dense problem."""
    t, y, kernels, lik, dense_lik = TASKS[name]()
    problem = oracle.Problem(
        covariances=[np.asarray(kernel.gram(t, t)) for kernel in kernels],
        means=np.zeros((len(t), len(kernels))),
        y=y,
        mask=np.ones(len(t), bool),
        likelihood=dense_lik,
        nodes=oracle.gauss_hermite(DEGREE, len(kernels)),
    )
    return ssep.SDEPrior(kernels), lik, ssep.Data(t, y), problem
