"""Gaussian noise whose size is itself a latent function."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp, ndtr
from jaxtyping import Array, Float, PRNGKeyArray

from ssep import links
from ssep.cubature import Cubature, Dense, Points
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.gaussian import LOG_TWO_PI, log_normal
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar


class HeteroscedasticGaussian(Likelihood):
    """y ~ N(f1, s^2) with the noise scale s = softplus(f2 - 1/2): [W20] appendix I.1.

    The linearised rules learn little about f2: at the mean of the noise the measurement does not depend on it.
    """

    num_latents: ClassVar[int | None] = 2

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        # Through the logarithm of the scale, which stays finite where the scale underflows.
        log_scale = links.softplus.log(f[1] - 0.5)
        return -LOG_TWO_PI / 2 - log_scale - ((y - f[0]) * jnp.exp(-log_scale)) ** 2 / 2

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        return f[0], jax.nn.softplus(f[1] - 0.5) ** 2

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return f[0] + jax.nn.softplus(f[1] - 0.5) * jax.random.normal(key, (), f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        return ndtr((y - f[0]) * jnp.exp(-links.softplus.log(f[1] - 0.5)))

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Cubature over the noise only: given f2 the observation is Gaussian."""
        points, mean, variance = _given_noise(marginal, Dense())
        return logsumexp(log_normal(y, mean, variance), b=points.weights)

    def predictive_cdf(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Cubature over the noise only: given f2 the observation is Gaussian."""
        points, mean, variance = _given_noise(marginal, cubature)
        return points.expect(ndtr((y - mean) / jnp.sqrt(variance)))


def _given_noise(
    marginal: Marginals, cubature: Cubature
) -> tuple[Points, Float[Array, " points"], Float[Array, " points"]]:
    """Nodes for f2, and the mean and variance of an observation given each."""
    mean, cov = marginal.mean, marginal.cov
    points = cubature.points(Marginals(mean[1:], cov[1:, 1:]))
    noise, slope = points.f[:, 0], cov[0, 1] / cov[1, 1]
    left = cov[0, 0] - slope * cov[0, 1]
    return points, mean[0] + slope * (noise - mean[1]), left + jax.nn.softplus(noise - 0.5) ** 2
