"""Counts with more zeros than their distribution has."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ssep.checks import as_float, require
from ssep.constraints import PROBABILITY
from ssep.likelihoods.base import Likelihood, require_moments
from ssep.types import Aux, Latents, Scalar, ScalarLike


class ZeroInflated(Likelihood):
    """y = 0 with some probability, and otherwise what another likelihood of counts says.

    `ZeroInflated(Poisson(), 0.3)`, `ZeroInflated(NegativeBinomial(2.0), 0.1)`.

    Attributes:
        counts: The likelihood of a count that is not a zero by itself.
        probability: That of a zero by itself.
    """

    discrete: ClassVar[bool] = True
    counts: Likelihood
    probability: Scalar = eqx.field(metadata=PROBABILITY)

    def __init__(self, counts: Likelihood, probability: ScalarLike = 0.5):
        fine = isinstance(counts, Likelihood) and counts.discrete
        require(
            fine, "ZeroInflated(counts)", "must be a likelihood of counts", repr(counts), "For example `Poisson()`."
        )
        self.counts = counts
        self.probability = as_float(probability)

    @property
    def num_latents(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those of the counts."""
        return self.counts.num_latents

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log mass of y given the latents."""
        counted = jnp.log1p(-self.probability) + jnp.reshape(self.counts.log_prob(y, f, aux), ())
        return jnp.where(y == 0, jnp.logaddexp(jnp.log(self.probability), counted), counted)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        mean, variance = self.counts.conditional_moments(f, aux)
        counted = 1 - self.probability
        return counted * mean, counted * (variance + self.probability * mean**2)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        first, second = jax.random.split(key)
        return jnp.where(jax.random.bernoulli(first, self.probability), 0, self.counts.sample(second, f, aux))

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        cdf = self.probability + (1 - self.probability) * self.counts.cdf(y, f, aux)
        return jnp.where(y < 0, 0, cdf)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Those of the counts."""
        self.counts.check_observations(y, aux)

    def check_extras(self, aux: Aux) -> None:
        """Those of the counts."""
        self.counts.check_extras(aux)

    def check_moments(self) -> None:
        """They exist if those of the counts do."""
        require_moments(self.counts, "ZeroInflated")

    def stand_in(self, aux: Aux) -> tuple[float, Aux]:
        """That of the counts."""
        return self.counts.stand_in(aux)
