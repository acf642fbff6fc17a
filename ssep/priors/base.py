"""What a prior is: it turns times into a state space."""

import abc

import equinox as eqx

from ssep.data import Data
from ssep.kernels.base import Kernel
from ssep.statespace import Belief, StateSpace
from ssep.types import State


class Part(eqx.Module):
    """One term of the sum that a latent is."""

    latent: int = eqx.field(static=True)
    kernel: Kernel
    observation: State
    """Takes the term out of the state."""


class Prior(eqx.Module):
    """A Gaussian process prior of the latents."""

    @property
    @abc.abstractmethod
    def num_latents(self) -> int:
        """The number of latents per observation."""

    @abc.abstractmethod
    def discretise(self, data: Data, start: Belief | None = None) -> StateSpace:
        """The state space model at the data's times; it never looks at the observed values.

        Begins with what is known of the state at an earlier time, or with the prior.
        """

    @abc.abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The terms of each latent, in order; their means are zero."""
