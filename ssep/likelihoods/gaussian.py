"""Gaussian noise of constant variance."""

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, PRNGKeyArray

from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood, Tilted
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike

LOG_TWO_PI = math.log(2 * math.pi)


def log_normal(y: Scalar, mean: Float[Array, "*n"], variance: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The log density of a normal distribution."""
    return -(LOG_TWO_PI + jnp.log(variance) + (y - mean) ** 2 / variance) / 2


def log_normal_power(
    y: Scalar, mean: Float[Array, "*n"], spread: Float[Array, "*n"], noise: Float[Array, "*n"], alpha: ScalarLike
) -> Float[Array, "*n"]:
    """Log E[N(y | m, noise)^alpha] with m ~ N(mean, spread)."""
    scale = (1 - alpha) * (LOG_TWO_PI + jnp.log(noise)) / 2 - jnp.log(alpha) / 2
    return log_normal(y, mean, spread + noise / alpha) + scale


class Gaussian(Likelihood):
    """y ~ N(f, variance)."""

    num_latents: ClassVar[int | None] = 1
    variance: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0):
        self.variance = as_float(variance)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        return log_normal(y, f[0], self.variance)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        return f[0], self.variance

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """Closed form."""
        spread = marginal.cov[0, 0]
        total = spread + self.variance / alpha
        log_normaliser = log_normal_power(y, marginal.mean[0], spread, self.variance, alpha)
        return Tilted(log_normaliser, (y - marginal.mean) / total, jnp.reshape(-1 / total, (1, 1)))

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form."""
        return log_normal(y, marginal.mean[0], self.variance) - marginal.cov[0, 0] / (2 * self.variance)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return f[0] + jnp.sqrt(self.variance) * jax.random.normal(key, (), f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        return ndtr((y - f[0]) / jnp.sqrt(self.variance))

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form."""
        return log_normal(y, marginal.mean[0], marginal.cov[0, 0] + self.variance)

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """Closed form."""
        return marginal.mean[0], marginal.cov[0, 0] + self.variance

    def predictive_cdf(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form."""
        return ndtr((y - marginal.mean[0]) / jnp.sqrt(marginal.cov[0, 0] + self.variance))
