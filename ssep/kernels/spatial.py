"""Covariance functions of places, without a state space form."""

from typing import Any, NoReturn

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, distance
from ssep.types import Scalar, State, StateMatrix


class SpatialKernel(Kernel):
    """A covariance function that no finite state space gives: for space, not for time."""

    @property
    def state_dim(self) -> int:
        """There is none."""
        self._refuse()

    def transition(self, gap: Scalar) -> StateMatrix:
        """There is none."""
        self._refuse()

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """There is none."""
        self._refuse()

    def stationary_cov(self) -> StateMatrix:
        """There is none."""
        self._refuse()

    def observation(self) -> State:
        """There is none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"`{type(self).__name__}` must be a kernel in space; got it as a kernel in time, where it has no state "
            "space form. Use `Matern52` or `Matern72` in time."
        )


class SquaredExponential(SpatialKernel):
    """k(r) = variance exp(-r^2 / (2 lengthscale^2)); a lengthscale per dimension if it has shape (R,)."""

    variance: Scalar = eqx.field(default=1.0, converter=as_float, metadata=POSITIVE)
    lengthscale: Float[Array, "*space"] = eqx.field(default=1.0, converter=as_float, metadata=POSITIVE)

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return self.variance * jnp.exp(-0.5 * distance(x1, x2, self.lengthscale) ** 2)
