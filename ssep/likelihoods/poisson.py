"""Counts."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaincc, gammaln, ndtr
from jaxtyping import PRNGKeyArray

from ssep import links
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.support import exposure_of, known, require_counts, require_exposures, require_rate
from ssep.links import Link
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar

_LARGE_RATE = 1e8
_LONG_SUM = 1e4


class Poisson(Likelihood):
    """y ~ Poisson(exposure link(f)).

    The exposure (time, area, population at risk) of each observation comes through `Data(aux=...)`; one if absent.
    """

    num_latents: ClassVar[int | None] = 1
    discrete: ClassVar[bool] = True
    link: Link = eqx.field(default=links.exp)

    def __check_init__(self) -> None:
        """Check that the link is one."""
        require_rate(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log mass of y given the latents."""
        exposure = exposure_of(self, aux)
        return y * (self.link.log(f[0]) + jnp.log(exposure)) - exposure * self.link(f[0]) - gammaln(y + 1)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]: both the rate."""
        rate = exposure_of(self, aux) * self.link(f[0])
        return rate, rate

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form for the exponential link; cubature for others."""
        if not isinstance(self.link, links.Exp):
            return super().expected_log_prob(y, marginal, aux, cubature)
        mean, variance, exposure = marginal.mean[0], marginal.cov[0, 0], exposure_of(self, aux)
        return y * (mean + jnp.log(exposure)) - exposure * jnp.exp(mean + variance / 2) - gammaln(y + 1)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        rate = exposure_of(self, aux) * self.link(f[0])
        # Large rates come from the normal limit: the sampler's integers would overflow.
        limit = jnp.maximum(jnp.round(rate + jnp.sqrt(rate) * jax.random.normal(key, (), f.dtype)), 0)
        count = jax.random.poisson(key, jnp.minimum(rate, _LARGE_RATE), dtype=jnp.int32).astype(f.dtype)
        return jnp.where(rate < _LARGE_RATE, count, limit)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        rate = exposure_of(self, aux) * self.link(f[0])
        count = jnp.maximum(jnp.floor(y), 0) + 1
        small = jnp.minimum(rate, _LONG_SUM)
        # Wilson and Hilferty (1931) for large rates, where the incomplete gamma function loses its digits.
        root = jnp.expm1(jnp.log1p((rate - count) / count) / 3) + 1 / (9 * count)
        cdf = jnp.where(rate < _LONG_SUM, gammaincc(count, small), ndtr(-3 * jnp.sqrt(count) * root))
        return jnp.where(y < 0, 0, cdf)

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """Closed form for the exponential link; cubature for others."""
        if not isinstance(self.link, links.Exp):
            return super().predictive_moments(marginal, aux, cubature)
        variance = marginal.cov[0, 0]
        mean = exposure_of(self, aux) * jnp.exp(marginal.mean[0] + variance / 2)
        return mean, mean + mean**2 * jnp.expm1(variance)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Counts are non-negative integers, exposures positive."""
        require_counts(self, y)
        require_exposures(self, aux)

    def check_extras(self, aux: Aux) -> None:
        """Exposures are positive."""
        require_exposures(self, known(aux))
