"""Covariance functions of places, without a state space form."""

from typing import NoReturn

from ssep.kernels.base import Kernel
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

    def state_cov(self, t: Scalar) -> StateMatrix:
        """There is none."""
        self._refuse()

    def observation(self, t: Scalar) -> State:
        """There is none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"`{type(self).__name__}` must be a kernel in space; got it as a kernel in time, where it has no state "
            "space form. Use `Matern52` or `Matern72` in time."
        )
