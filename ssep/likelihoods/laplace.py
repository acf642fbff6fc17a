"""Noise with sharp peak and exponential tails."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import PRNGKeyArray

from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood, Tilted, tilted_by_derivatives
from ssep.likelihoods.gaussian import LOG_TWO_PI
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class Laplace(Likelihood):
    """y ~ exp(-|y - f| / scale) / (2 scale): the median is followed, not the mean."""

    num_latents: ClassVar[int | None] = 1
    scale: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, scale: ScalarLike = 1.0):
        self.scale = as_float(scale)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        return -jnp.abs(y - f[0]) / self.scale - jnp.log(2 * self.scale)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        return f[0], 2 * self.scale**2

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """Closed form: on either side of y the likelihood is an exponential, and the integral a normal tail."""
        rate, variance = alpha / self.scale, marginal.cov[0, 0]
        deviation = jnp.sqrt(variance)

        def log_normaliser(mean: Scalar) -> Scalar:
            residual = (y - mean) / deviation
            sides = [
                sign * residual * deviation * rate + log_ndtr(-sign * residual - rate * deviation) for sign in (1, -1)
            ]
            return jnp.logaddexp(*sides) + (rate * deviation) ** 2 / 2 - alpha * jnp.log(2 * self.scale)

        return tilted_by_derivatives(log_normaliser, marginal)

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form: the mean of a folded normal variable."""
        deviation = jnp.sqrt(marginal.cov[0, 0])
        residual = (y - marginal.mean[0]) / deviation
        folded = 2 * jnp.exp(-(residual**2 + LOG_TWO_PI) / 2) + residual * (2 * ndtr(residual) - 1)
        return -deviation * folded / self.scale - jnp.log(2 * self.scale)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return f[0] + self.scale * jax.random.laplace(key, (), f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        residual = (y - f[0]) / self.scale
        tail = jnp.exp(-jnp.abs(residual)) / 2
        return jnp.where(residual > 0, 1 - tail, tail)

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form."""
        return self.tilted(y, marginal, 1.0, aux, cubature).log_normaliser
