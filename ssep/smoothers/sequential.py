"""Filter and smoother going through time once forward and once back."""

from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Smoother
from ssep.smoothers.stepwise import filter_steps
from ssep.smoothers.strides import stride_length
from ssep.smoothers.stridewise import filter_strides
from ssep.statespace import StateSpace


class Sequential(Smoother):
    """A scan forward and a scan back, in strides of several steps where that is faster.

    The backward pass is the adjoint (modified Bryson-Frazier) recursion: it inverts no predicted covariance, so times
    may coincide and the process noise may vanish, and it needs only what the filter kept of the targets.
    """

    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass."""
        length = stride_length(state_space.num_states, state_space.num_targets)
        centred, constant = state_space.view.centre(sites)
        done = filter_steps(state_space, centred) if length == 1 else filter_strides(state_space, centred, length)
        return Filtered.of(state_space, done, constant, done.record)
