"""Gaussian readings of which only bounds are known."""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import PRNGKeyArray

from ssep import links
from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood, Tilted, closed_at_one, tilted_by_derivatives
from ssep.likelihoods.gaussian import Gaussian, log_normal
from ssep.likelihoods.support import extra_number, require_all
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class BoundedReading(Likelihood):
    """A reading from N(f, variance) that is known in part; predictions are of the whole reading.

    What is observed is not a reading, so it has no mean and variance for the linearised rules.
    """

    num_latents: ClassVar[int | None] = 1
    # A converter, not a constructor: type checkers would not see that the subclasses inherit one.
    variance: Scalar = eqx.field(default=1.0, converter=as_float, metadata=POSITIVE)

    @abc.abstractmethod
    def log_known(self, y: Scalar, mean: Scalar, variance: Scalar, aux: Aux) -> Scalar:
        """The log probability (or density) of what is known of a reading from N(mean, variance)."""

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log probability (or density) of what is known, given the latents."""
        return self.log_known(y, f[0], self.variance, aux)

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """Closed form for alpha = 1, where the variances add; cubature otherwise."""
        total = self.variance + marginal.cov[0, 0]
        closed = tilted_by_derivatives(lambda mean: self.log_known(y, mean, total, aux), marginal)
        return closed_at_one(closed, self, y, marginal, alpha, aux, cubature)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one whole reading given the latents."""
        return self._reading.sample(key, f, aux)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of a reading up to y given the latents."""
        return self._reading.cdf(y, f, aux)

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form."""
        return self.log_known(y, marginal.mean[0], self.variance + marginal.cov[0, 0], aux)

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """Those of a whole reading."""
        return self._reading.predictive_moments(marginal, aux, cubature)

    def predictive_cdf(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """That of a whole reading."""
        return self._reading.predictive_cdf(y, marginal, aux, cubature)

    @abc.abstractmethod
    def bounds(self, y: Scalar, aux: Aux) -> tuple[Scalar, Scalar]:
        """Between which numbers the reading is known to lie; the same number twice for the reading itself."""

    def predictive_cdf_ends(
        self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature
    ) -> tuple[Scalar, Scalar]:
        """The probabilities of readings up to the bounds."""
        below, above = (self.predictive_cdf(end, marginal, aux, cubature) for end in self.bounds(y, aux))
        return below, above

    @property
    def _reading(self) -> Gaussian:
        return Gaussian(self.variance)


class CensoredGaussian(BoundedReading):
    """y ~ N(f, variance), some of it beyond a limit that y then holds.

    `Data(aux=...)` says of each y: 0 for the reading itself, 1 if the reading is above y (a saturated instrument, a
    subject still alive), -1 if it is below (a limit of detection).
    """

    def log_known(self, y: Scalar, mean: Scalar, variance: Scalar, aux: Aux) -> Scalar:
        """A density, or the probability of one side."""
        side = self._side(aux)
        return jnp.where(side == 0, log_normal(y, mean, variance), log_ndtr(side * (mean - y) / jnp.sqrt(variance)))

    def bounds(self, y: Scalar, aux: Aux) -> tuple[Scalar, Scalar]:
        """Nothing bounds the other side."""
        side = self._side(aux)
        return jnp.where(side < 0, -jnp.inf, y), jnp.where(side > 0, jnp.inf, y)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Sides are -1, 0 or 1."""
        for side in jax.tree.leaves(aux):
            remedy = "0 is a reading, 1 one above y, -1 one below y."
            require_all(self, side, np.isin(side, (-1, 0, 1)), "needs -1, 0 or 1 in `Data(aux=...)`", remedy)

    def _side(self, aux: Aux) -> Scalar:
        return extra_number(self, aux, "its side of y: -1, 0 or 1")


class IntervalGaussian(BoundedReading):
    """Readings from N(f, variance) known to lie between y and the upper end in `Data(aux=...)`: rounded or binned."""

    def log_known(self, y: Scalar, mean: Scalar, variance: Scalar, aux: Aux) -> Scalar:
        """The probability of the interval."""
        lower, upper = self.bounds(y, aux)
        deviation = jnp.sqrt(variance)
        return links.probit.log_between((lower - mean) / deviation, (upper - mean) / deviation)

    def bounds(self, y: Scalar, aux: Aux) -> tuple[Scalar, Scalar]:
        """The ends of the interval."""
        return y, extra_number(self, aux, "the upper end of its interval")

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Intervals have a length."""
        for upper in jax.tree.leaves(aux):
            remedy = "Give the lower ends in y and the upper ends in `aux`."
            require_all(self, y, y < upper, "needs lower ends in y that are below their upper ends in `aux`", remedy)

    def stand_in(self, aux: Aux) -> tuple[float, Aux]:
        """The interval from 0 to 1."""
        return 0.0, jax.tree.map(lambda upper: 1.0, aux)
