"""Kernels that are sums and products of others, under a name and hyperparameters of their own."""

import abc
from typing import Any

import numpy as np

from ssep.kernels.base import Kernel, Weighted
from ssep.types import Scalar, State, StateMatrix


class Composite(Kernel):
    """A kernel with the state space of another, which it builds from its hyperparameters."""

    @abc.abstractmethod
    def expansion(self) -> Kernel:
        """The other kernel."""

    @property
    def state_dim(self) -> int:
        """That of the expansion."""
        return self.expansion().state_dim

    @property
    def settled(self) -> bool:
        """As the expansion."""
        return self.expansion().settled

    @property
    def noiseless(self) -> bool:
        """As the expansion."""
        return self.expansion().noiseless

    @property
    def proper(self) -> bool:
        """As the expansion."""
        return self.expansion().proper

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return self.expansion()(x1, x2)

    def transition(self, gap: Scalar) -> StateMatrix:
        """That of the expansion."""
        return self.expansion().transition(gap)

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """That of the expansion."""
        return self.expansion().process_noise(gap)

    def state_cov(self, t: Scalar) -> StateMatrix:
        """That of the expansion."""
        return self.expansion().state_cov(t)

    def observation(self, t: Scalar) -> State:
        """That of the expansion."""
        return self.expansion().observation(t)

    def blocks(self) -> tuple[Kernel, ...]:
        """Those of the expansion."""
        return self.expansion().blocks()

    def weighted(self) -> tuple[Weighted, ...]:
        """Those of the expansion."""
        return self.expansion().weighted()

    def check_times(self, t: np.ndarray) -> None:
        """As the expansion."""
        self.expansion().check_times(t)
