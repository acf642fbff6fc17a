"""Proportions."""

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
from ssep.likelihoods.support import require_all, require_sigmoid
from ssep.links import Link
from ssep.types import Aux, Latents, Scalar, ScalarLike


class Beta(Likelihood):
    """y ~ Beta with mean m = link(f) and variance m (1 - m) / (1 + concentration)."""

    num_latents: ClassVar[int | None] = 1
    concentration: Scalar = eqx.field(metadata=POSITIVE)
    link: Link

    def __init__(self, concentration: ScalarLike = 1.0, link: Link = links.logistic):
        self.concentration = as_float(concentration)
        self.link = link

    def __check_init__(self) -> None:
        """Check that the link gives probabilities."""
        require_sigmoid(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        first, second = self._exponents(f)
        constant = gammaln(self.concentration) - gammaln(first) - gammaln(second)
        return constant + (first - 1) * jnp.log(y) + (second - 1) * jnp.log1p(-y)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        mean = self.link(f[0])
        return mean, mean * self.link(-f[0]) / (1 + self.concentration)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents: a share of two Gamma variables, in log space."""
        first, second = self._exponents(f)
        one, two = jax.random.split(key)
        difference = jax.random.loggamma(one, first, (), f.dtype) - jax.random.loggamma(two, second, (), f.dtype)
        return jax.nn.sigmoid(difference)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        return betainc(*self._exponents(f), jnp.clip(y, 0, 1))

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Proportions lie strictly between 0 and 1."""
        remedy = "Counts out of a total are `Binomial`; mark missing values as NaN."
        require_all(self, y, (y > 0) & (y < 1), "needs values strictly between 0 and 1 in y", remedy)

    def stand_in(self, aux: Aux) -> tuple[float, Aux]:
        """A proportion."""
        return 0.5, aux

    def _exponents(self, f: Latents) -> tuple[Scalar, Scalar]:
        # Through the logarithm: a mean that underflows would leave no distribution.
        first, second = (jnp.exp(jnp.maximum(self.link.log(z), -80)) for z in (f[0], -f[0]))
        return self.concentration * first, self.concentration * second
