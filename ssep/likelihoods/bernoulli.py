"""Binary labels."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import PRNGKeyArray

from ssep import links
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood, Tilted, closed_at_one
from ssep.likelihoods.gaussian import LOG_TWO_PI
from ssep.likelihoods.support import require_all, require_sigmoid
from ssep.links import Link
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class Bernoulli(Likelihood):
    """y = 1 with probability link(f), else 0."""

    num_latents: ClassVar[int | None] = 1
    discrete: ClassVar[bool] = True
    link: Link = eqx.field(default=links.logistic)

    def __check_init__(self) -> None:
        """Check that the link gives probabilities."""
        require_sigmoid(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log mass of y given the latents."""
        return self.link.log((2 * y - 1) * f[0])

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]; 1 - link(f) as link(-f), which keeps its digits."""
        probability = self.link(f[0])
        return probability, probability * self.link(-f[0])

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """Closed form for the probit link and alpha = 1; cubature otherwise."""
        if not isinstance(self.link, links.Probit):
            return super().tilted(y, marginal, alpha, aux, cubature)
        return closed_at_one(_tilted_probit(y, marginal), self, y, marginal, alpha, aux, cubature)

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form for the probit link; cubature otherwise."""
        if isinstance(self.link, links.Probit):
            return _tilted_probit(y, marginal).log_normaliser
        return super().predictive_log_prob(y, marginal, aux, cubature)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return jax.random.bernoulli(key, self.link(f[0])).astype(f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        return jnp.where(y < 0, 0, jnp.where(y < 1, self.link(-f[0]), 1))

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Labels are 0 or 1."""
        remedy = "Recode the labels, for example `y = (y > 0)`; mark missing ones as NaN."
        require_all(self, y, (y == 0) | (y == 1), "needs labels 0 or 1 in y", remedy)


def _tilted_probit(y: Scalar, marginal: Marginals) -> Tilted:
    """E[ndtr(s f)] = ndtr(z) with z = s mean / sqrt(1 + variance): Rasmussen and Williams (2006), section 3.9."""
    sign, spread = 2 * y - 1, 1 + marginal.cov[0, 0]
    z = sign * marginal.mean[0] / jnp.sqrt(spread)
    log_normaliser = log_ndtr(z)
    ratio = jnp.exp(-(z**2 + LOG_TWO_PI) / 2 - log_normaliser)
    gradient = sign * ratio / jnp.sqrt(spread)
    return Tilted(log_normaliser, gradient[None], jnp.reshape(-ratio * (z + ratio) / spread, (1, 1)))
