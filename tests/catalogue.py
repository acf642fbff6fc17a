"""Likelihoods beside the distributions that SciPy has for them: one entry each, for all tests that apply to all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from scipy import special, stats

import ssep
from ssep import likelihoods as lik
from tests.oracle_likelihoods import OracleLikelihood, softplus


@dataclass(frozen=True)
class Entry:
    """A likelihood, the distribution of y given f (latents last) and an extra, and values of y to try."""

    likelihood: ssep.Likelihood
    given: Callable[[np.ndarray, Any], Any]
    values: tuple[float, ...]
    support: str
    latents: int = 1
    aux: float | None = None
    moments: bool = True
    cdf: bool = True


@dataclass(frozen=True)
class Discrete:
    """A distribution on 0, 1, ..., given the probabilities, classes last."""

    probabilities: np.ndarray

    def logpmf(self, y):
        return np.log(self.probabilities[..., int(y)])

    def cdf(self, y):
        return self.probabilities[..., : int(y) + 1].sum(-1)

    def mean(self):
        return self.probabilities @ np.arange(self.probabilities.shape[-1])

    def var(self):
        labels = np.arange(self.probabilities.shape[-1])
        return self.probabilities @ labels**2 - (self.probabilities @ labels) ** 2


@dataclass(frozen=True)
class Inflated:
    """A zero by itself, or a count."""

    counts: Any
    zero: float

    def logpmf(self, y):
        return np.log((1 - self.zero) * self.counts.pmf(y) + self.zero * (y == 0))

    def cdf(self, y):
        return self.zero + (1 - self.zero) * self.counts.cdf(y)

    def mean(self):
        return (1 - self.zero) * self.counts.mean()

    def var(self):
        second = self.counts.var() + self.counts.mean() ** 2
        return (1 - self.zero) * second - self.mean() ** 2


@dataclass(frozen=True)
class Known:
    """What is known of a reading: a function of y."""

    logpdf: Callable[[float], np.ndarray]


def ordered(thresholds, sigmoid):
    def given(f, aux):
        inner = sigmoid(np.asarray(thresholds) - f[..., :1])
        ends = np.ones_like(f[..., :1])
        return Discrete(np.diff(np.concatenate([0 * ends, inner, ends], -1), axis=-1))

    return given


def negative_binomial(size):
    def given(f, aux):
        mean = (1.0 if aux is None else aux) * np.exp(f[..., 0])
        return stats.nbinom(size, size / (size + mean))

    return given


def censored(deviation):
    def given(f, side):
        reading = stats.norm(f[..., 0], deviation)
        return Known({0: reading.logpdf, 1: reading.logsf, -1: reading.logcdf}[side])

    return given


def interval(deviation):
    def given(f, upper):
        def log_between(y):
            low, high = ((end - f[..., 0]) / deviation for end in (y, upper))
            # Upper tails where both ends are there.
            lower, higher = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
            return np.log(special.ndtr(higher) - special.ndtr(lower))

        return Known(log_between)

    return given


def beta(concentration):
    return lambda f, aux: stats.beta(
        concentration * special.expit(f[..., 0]), concentration * special.expit(-f[..., 0])
    )


ENTRIES = {
    "binomial": Entry(
        lik.Binomial(), lambda f, trials: stats.binom(trials, special.expit(f[..., 0])), (0, 3, 7), "count", aux=7.0
    ),
    "binomial-probit": Entry(
        lik.Binomial(ssep.links.probit),
        lambda f, trials: stats.binom(trials, special.ndtr(f[..., 0])),
        (0, 2, 5),
        "count",
        aux=5.0,
    ),
    "negative-binomial": Entry(lik.NegativeBinomial(1.7), negative_binomial(1.7), (0, 1, 6), "count"),
    "negative-binomial-exposed": Entry(lik.NegativeBinomial(0.6), negative_binomial(0.6), (0, 2, 9), "count", aux=2.5),
    "zero-inflated-poisson": Entry(
        lik.ZeroInflated(lik.Poisson(), 0.3),
        lambda f, aux: Inflated(stats.poisson(np.exp(f[..., 0])), 0.3),
        (0, 1, 4),
        "count",
    ),
    "zero-inflated-negative-binomial": Entry(
        lik.ZeroInflated(lik.NegativeBinomial(2.0), 0.1),
        lambda f, aux: Inflated(negative_binomial(2.0)(f, aux), 0.1),
        (0, 2, 5),
        "count",
    ),
    "gamma": Entry(
        lik.Gamma(2.3), lambda f, aux: stats.gamma(2.3, scale=np.exp(f[..., 0]) / 2.3), (0.05, 1.0, 4.0), "positive"
    ),
    "gamma-softplus": Entry(
        lik.Gamma(0.7, ssep.links.softplus),
        lambda f, aux: stats.gamma(0.7, scale=softplus(f[..., 0]) / 0.7),
        (0.05, 1.0, 4.0),
        "positive",
    ),
    "exponential": Entry(
        lik.Exponential(), lambda f, aux: stats.expon(scale=np.exp(f[..., 0])), (0.05, 1.0, 4.0), "positive"
    ),
    "weibull": Entry(
        lik.Weibull(1.6), lambda f, aux: stats.weibull_min(1.6, scale=np.exp(f[..., 0])), (0.05, 1.0, 3.0), "positive"
    ),
    "log-normal": Entry(
        lik.LogNormal(0.4),
        lambda f, aux: stats.lognorm(np.sqrt(0.4), scale=np.exp(f[..., 0])),
        (0.05, 1.0, 4.0),
        "positive",
    ),
    "beta": Entry(lik.Beta(5.0), beta(5.0), (0.02, 0.4, 0.97), "unit"),
    "ordinal": Entry(lik.Ordinal([-1.0, 0.2, 1.5]), ordered([-1.0, 0.2, 1.5], special.expit), (0, 1, 2, 3), "count"),
    "ordinal-probit": Entry(
        lik.Ordinal([-0.5, 0.7], ssep.links.probit), ordered([-0.5, 0.7], special.ndtr), (0, 1, 2), "count"
    ),
    "categorical": Entry(
        lik.Categorical(3), lambda f, aux: Discrete(special.softmax(f, -1)), (0, 1, 2), "count", 3, moments=False
    ),
    "laplace": Entry(lik.Laplace(0.7), lambda f, aux: stats.laplace(f[..., 0], 0.7), (-2.0, 0.1, 1.5), "real"),
    "heteroscedastic-student": Entry(
        lik.HeteroscedasticStudentT(5.0),
        lambda f, aux: stats.t(5.0, f[..., 0], softplus(f[..., 1] - 0.5)),
        (-2.0, 0.1, 1.5),
        "real",
        2,
    ),
    "von-mises": Entry(
        lik.VonMises(2.0),
        lambda f, aux: stats.vonmises(2.0, loc=f[..., 0]),
        (-3.0, 0.1, 2.0),
        "angle",
        moments=False,
        cdf=False,
    ),
    "reading": Entry(lik.CensoredGaussian(0.3), censored(np.sqrt(0.3)), (-1.0, 0.5), "known", 1, 0.0, False, False),
    "reading-above": Entry(
        lik.CensoredGaussian(0.3), censored(np.sqrt(0.3)), (-1.0, 0.5), "known", 1, 1.0, False, False
    ),
    "reading-below": Entry(
        lik.CensoredGaussian(0.3), censored(np.sqrt(0.3)), (-1.0, 0.5), "known", 1, -1.0, False, False
    ),
    "interval": Entry(lik.IntervalGaussian(0.3), interval(np.sqrt(0.3)), (-1.0, 0.5), "known", 1, 1.2, False, False),
    "second-output": Entry(
        lik.Outputs((lik.Gaussian(0.3), lik.NegativeBinomial(1.7)), [[1.0, 0.5], [0.6, -0.4]]),
        lambda f, output: negative_binomial(1.7)(f @ np.array([[0.6], [-0.4]]), None),
        (0, 1, 6),
        "count",
        2,
        1.0,
    ),
    "numpyro-gumbel": Entry(
        lik.FromNumPyro(dist.Gumbel, {"loc": lik.Latent(), "scale": 0.6}),
        lambda f, aux: stats.gumbel_r(f[..., 0], 0.6),
        (-1.0, 0.1, 2.5),
        "real",
    ),
    "numpyro-half-normal": Entry(
        lik.FromNumPyro(dist.HalfNormal, {"scale": lik.Latent(0, ssep.links.softplus)}),
        lambda f, aux: stats.halfnorm(scale=softplus(f[..., 0])),
        (0.05, 0.4, 2.5),
        "positive",
    ),
    "numpyro-geometric": Entry(
        lik.FromNumPyro(dist.Geometric, {"logits": lik.Latent()}),
        lambda f, aux: stats.geom(special.expit(f[..., 0]), -1),
        (0, 1, 6),
        "count",
        cdf=False,
    ),
    "numpyro-zero-inflated": Entry(
        lik.FromNumPyro(dist.ZeroInflatedPoisson, {"gate": 0.3, "rate": lambda f, exposure: exposure * jnp.exp(f[0])}),
        lambda f, exposure: Inflated(stats.poisson(exposure * np.exp(f[..., 0])), 0.3),
        (0, 1, 4),
        "count",
        aux=1.5,
        cdf=False,
    ),
}


class FromSciPy(OracleLikelihood):
    """An entry as a likelihood of the dense oracle, with derivatives by central differences of fourth order."""

    def __init__(self, entry):
        self.entry, self.latents = entry, entry.latents

    def log_prob(self, y, f):
        given = self.entry.given(f, self.entry.aux)
        return (given.logpmf if self.entry.support == "count" else given.logpdf)(y)

    def gradient(self, y, f):
        return _slopes(lambda at: self.log_prob(y, at), f)

    def mean(self, f):
        def mean(at):
            return np.broadcast_to(self.entry.given(at, self.entry.aux).mean(), at.shape[:-1])

        return mean(f), _slopes(mean, f)

    def variance_of(self, f):
        return np.broadcast_to(self.entry.given(f, self.entry.aux).var(), f.shape[:-1])


def _slopes(function, f, step=1e-3):
    slopes = []
    for axis in np.eye(f.shape[-1]):
        there, back, far, far_back = (function(f + s * step * axis) for s in (1, -1, 2, -2))
        slopes.append((8 * (there - back) - (far - far_back)) / (12 * step))
    return np.stack(slopes, -1)
