"""Successes out of a number of trials."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln
from jaxtyping import PRNGKeyArray

from ssep import links
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.support import extra_number, known, require_all, require_counts, require_sigmoid
from ssep.links import Link
from ssep.types import Aux, Latents, Scalar


class Binomial(Likelihood):
    """y ~ Binomial(trials, link(f)); the trials of each observation come through `Data(aux=...)`."""

    num_latents: ClassVar[int | None] = 1
    discrete: ClassVar[bool] = True
    link: Link = eqx.field(default=links.logistic)

    def __check_init__(self) -> None:
        """Check that the link gives probabilities."""
        require_sigmoid(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log mass of y given the latents."""
        failures = self._trials(aux) - y
        ways = gammaln(y + failures + 1) - gammaln(y + 1) - gammaln(failures + 1)
        return ways + y * self.link.log(f[0]) + failures * self.link.log(-f[0])

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        mean = self._trials(aux) * self.link(f[0])
        return mean, mean * self.link(-f[0])

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return jax.random.binomial(key, self._trials(aux), self.link(f[0]), (), f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        trials, count = self._trials(aux), jnp.floor(y)
        inside = (count >= 0) & (count < trials)
        rest = jnp.where(inside, trials - count, 1)
        cdf = betainc(rest, jnp.where(inside, count, 0) + 1, self.link(-f[0]))
        return jnp.where(inside, cdf, count >= trials)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Counts are integers from 0 to the trials, which are positive integers."""
        require_counts(self, y)
        trials = np.asarray(extra_number(self, aux, "its trials", axes=y.ndim))
        self._require_trials(trials)
        remedy = "`aux` holds the number of trials, failures included."
        require_all(self, y, y <= trials, "needs counts of at most the number of trials in y", remedy)

    def check_extras(self, aux: Aux) -> None:
        """Trials are positive integers."""
        for trials in jax.tree.leaves(known(aux)):
            self._require_trials(trials)

    def _require_trials(self, trials: np.ndarray) -> None:
        remedy = "Mark observations without trials as missing (NaN in y)."
        valid = (trials > 0) & (trials == np.round(trials))
        require_all(self, trials, valid, "needs positive whole trials in `aux`", remedy)

    def _trials(self, aux: Aux) -> Scalar:
        return extra_number(self, aux, "its trials")
