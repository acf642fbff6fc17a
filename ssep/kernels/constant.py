"""The constant kernel."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel
from ssep.types import Scalar, ScalarLike, State, StateMatrix


class Constant(Kernel):
    """k(x1, x2) = variance: a function that is one unknown number."""

    variance: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0):
        self.variance = as_float(variance)

    @property
    def state_dim(self) -> int:
        """One."""
        return 1

    @property
    def noiseless(self) -> bool:
        """It moves without noise."""
        return True

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return self.variance

    def transition(self, gap: Scalar) -> StateMatrix:
        """The identity."""
        return jnp.ones((1, 1), self.variance.dtype)

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """Zero."""
        return jnp.zeros((1, 1), self.variance.dtype)

    def state_cov(self, t: Scalar) -> StateMatrix:
        """The variance."""
        return self.variance[None, None]

    def observation(self, t: Scalar) -> State:
        """The state itself."""
        return jnp.ones(1, self.variance.dtype)
