"""Counts that vary more than Poisson's."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln
from jaxtyping import PRNGKeyArray

from ssep import links
from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.poisson import Poisson
from ssep.likelihoods.support import exposure_of, known, require_counts, require_exposures, require_rate
from ssep.links import Link
from ssep.types import Aux, Latents, Scalar, ScalarLike


class NegativeBinomial(Likelihood):
    """y ~ NegativeBinomial with mean m = exposure link(f) and variance m + m^2 / concentration.

    A Poisson count whose rate is itself Gamma distributed with this concentration; Poisson's when that is large. The
    exposure of each observation comes through `Data(aux=...)`; one if absent.
    """

    num_latents: ClassVar[int | None] = 1
    discrete: ClassVar[bool] = True
    concentration: Scalar = eqx.field(metadata=POSITIVE)
    link: Link

    def __init__(self, concentration: ScalarLike = 1.0, link: Link = links.exp):
        self.concentration = as_float(concentration)
        self.link = link

    def __check_init__(self) -> None:
        """Check that the link is one."""
        require_rate(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log mass of y given the latents."""
        size = self.concentration
        log_ratio = self.link.log(f[0]) + jnp.log(exposure_of(self, aux)) - jnp.log(size)
        ways = gammaln(y + size) - gammaln(size) - gammaln(y + 1)
        # p = m / (m + size) and 1 - p, through log m, which stays finite where m underflows.
        return ways + y * jax.nn.log_sigmoid(log_ratio) + size * jax.nn.log_sigmoid(-log_ratio)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        mean = exposure_of(self, aux) * self.link(f[0])
        return mean, mean + mean**2 / self.concentration

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents: a Poisson count with a random rate."""
        first, second = jax.random.split(key)
        log_rate = self.link.log(f[0]) + jax.random.loggamma(first, self.concentration, (), f.dtype)
        return Poisson().sample(second, (log_rate - jnp.log(self.concentration))[None], aux)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        mean = exposure_of(self, aux) * self.link(f[0])
        cdf = betainc(self.concentration, jnp.maximum(jnp.floor(y), 0) + 1, 1 / (1 + mean / self.concentration))
        return jnp.where(y < 0, 0, cdf)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Counts are non-negative integers, exposures positive."""
        require_counts(self, y)
        require_exposures(self, aux)

    def check_extras(self, aux: Aux) -> None:
        """Exposures are positive."""
        require_exposures(self, known(aux))
