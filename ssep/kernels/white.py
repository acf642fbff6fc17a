"""Noise that forgets at once."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, distance
from ssep.types import Scalar, ScalarLike, State, StateMatrix


class White(Kernel):
    """k(x1, x2) = variance where the points coincide, and zero elsewhere: an independent number at every time.

    Unlike noise of the likelihood it is part of the latent function: observations of one time share it.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0):
        self.variance = as_float(variance)

    @property
    def state_dim(self) -> int:
        """One."""
        return 1

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return jnp.where(distance(x1, x2, jnp.ones(())) == 0, self.variance, 0)

    def transition(self, gap: Scalar) -> StateMatrix:
        """Nothing is left of the past."""
        return (gap == 0).astype(self.variance.dtype)[None, None]

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """A new number."""
        return jnp.where(gap == 0, 0, self.variance)[None, None]

    def state_cov(self, t: Scalar) -> StateMatrix:
        """The variance."""
        return self.variance[None, None]

    def observation(self, t: Scalar) -> State:
        """The state itself."""
        return jnp.ones(1, self.variance.dtype)
