"""Positive quantities: durations, sizes, amounts."""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammainc, gammaln
from jaxtyping import PRNGKeyArray

from ssep import links
from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood, Tilted
from ssep.likelihoods.gaussian import Gaussian
from ssep.likelihoods.support import require_positive, require_rate
from ssep.links import Link
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class GammaFamily(Likelihood):
    """y ~ Gamma with mean link(f) and variance link(f)^2 / shape."""

    num_latents: ClassVar[int | None] = 1
    link: eqx.AbstractVar[Link]

    @abc.abstractmethod
    def _shape(self) -> Scalar:
        """The shape."""

    def __check_init__(self) -> None:
        """Check that the link is one."""
        require_rate(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        log_mean = self.link.log(f[0])
        return self._log_density(y, log_mean, jnp.exp(-log_mean))

    def _log_density(self, y: Scalar, log_mean: Scalar, inverse_mean: Scalar) -> Scalar:
        shape = self._shape()
        constant = shape * jnp.log(shape) - gammaln(shape) + (shape - 1) * jnp.log(y)
        return constant - shape * (log_mean + y * inverse_mean)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        mean = self.link(f[0])
        return mean, mean**2 / self._shape()

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form for the exponential link; cubature for others."""
        if not isinstance(self.link, links.Exp):
            return super().expected_log_prob(y, marginal, aux, cubature)
        mean, variance = marginal.mean[0], marginal.cov[0, 0]
        return self._log_density(y, mean, jnp.exp(variance / 2 - mean))

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        draw = jax.random.loggamma(key, self._shape(), (), f.dtype)
        return jnp.exp(draw - jnp.log(self._shape()) + self.link.log(f[0]))

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        return gammainc(self._shape(), self._shape() * jnp.maximum(y, 0) * jnp.exp(-self.link.log(f[0])))

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Values are positive."""
        require_positive(self, y)


class Gamma(GammaFamily):
    """y ~ Gamma with mean link(f) and variance link(f)^2 / shape."""

    shape: Scalar = eqx.field(metadata=POSITIVE)
    link: Link

    def __init__(self, shape: ScalarLike = 1.0, link: Link = links.exp):
        self.shape = as_float(shape)
        self.link = link

    def _shape(self) -> Scalar:
        return self.shape


class Exponential(GammaFamily):
    """y ~ Exponential with mean link(f): waiting times without memory."""

    link: Link = eqx.field(default=links.exp)

    def _shape(self) -> Scalar:
        return jnp.ones(())


class Weibull(Likelihood):
    """y ~ Weibull with scale link(f): P(observation > y) = exp(-(y / link(f))^shape).

    The hazard grows with time for a shape above one, and falls for one below.
    """

    num_latents: ClassVar[int | None] = 1
    shape: Scalar = eqx.field(metadata=POSITIVE)
    link: Link

    def __init__(self, shape: ScalarLike = 1.0, link: Link = links.exp):
        self.shape = as_float(shape)
        self.link = link

    def __check_init__(self) -> None:
        """Check that the link is one."""
        require_rate(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        scaled = self.shape * (jnp.log(y) - self.link.log(f[0]))
        return jnp.log(self.shape) - jnp.log(y) + scaled - jnp.exp(scaled)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        first, second = (jnp.exp(gammaln(1 + order / self.shape)) for order in (1, 2))
        scale = self.link(f[0])
        return scale * first, scale**2 * (second - first**2)

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form for the exponential link; cubature for others."""
        if not isinstance(self.link, links.Exp):
            return super().expected_log_prob(y, marginal, aux, cubature)
        scaled = self.shape * (jnp.log(y) - marginal.mean[0])
        spread = self.shape**2 * marginal.cov[0, 0] / 2
        return jnp.log(self.shape) - jnp.log(y) + scaled - jnp.exp(scaled + spread)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return self.link(f[0]) * jax.random.exponential(key, (), f.dtype) ** (1 / self.shape)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        positive = jnp.where(y > 0, y, 1)
        cdf = -jnp.expm1(-jnp.exp(self.shape * (jnp.log(positive) - self.link.log(f[0]))))
        return jnp.where(y > 0, cdf, 0)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Values are positive."""
        require_positive(self, y)


class LogNormal(Likelihood):
    """log y ~ N(f, variance): errors in proportion to the size."""

    num_latents: ClassVar[int | None] = 1
    variance: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0):
        self.variance = as_float(variance)

    @property
    def _of_logarithm(self) -> Gaussian:
        return Gaussian(self.variance)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        return self._of_logarithm.log_prob(jnp.log(y), f, aux) - jnp.log(y)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        mean = jnp.exp(f[0] + self.variance / 2)
        return mean, mean**2 * jnp.expm1(self.variance)

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """Closed form."""
        found = self._of_logarithm.tilted(jnp.log(y), marginal, alpha, aux, cubature)
        return Tilted(found.log_normaliser - alpha * jnp.log(y), found.gradient, found.hessian)

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form."""
        return self._of_logarithm.expected_log_prob(jnp.log(y), marginal, aux, cubature) - jnp.log(y)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return jnp.exp(self._of_logarithm.sample(key, f, aux))

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        return jnp.where(y > 0, self._of_logarithm.cdf(jnp.log(jnp.where(y > 0, y, 1)), f, aux), 0)

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form."""
        return self._of_logarithm.predictive_log_prob(jnp.log(y), marginal, aux, cubature) - jnp.log(y)

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """Closed form: the logarithm is normal with both variances."""
        spread = self.variance + marginal.cov[0, 0]
        mean = jnp.exp(marginal.mean[0] + spread / 2)
        return mean, mean**2 * jnp.expm1(spread)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Values are positive."""
        require_positive(self, y)
