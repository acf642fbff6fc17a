"""What a prior is: it turns times into a state space."""

import abc

import equinox as eqx

from ssep.data import Data
from ssep.statespace import Belief, StateSpace


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
