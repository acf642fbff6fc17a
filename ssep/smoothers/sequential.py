"""Filter and smoother going through time once forward and once back."""

from jaxtyping import Array, Float

from ssep.marginals import Marginals
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
        view, length = state_space.view, stride_length(state_space)
        centred, constant = view.centre(sites)
        done = filter_steps(state_space, centred) if length == 1 else filter_strides(state_space, centred, length)
        return Filtered(
            state_space=state_space,
            predicted=Marginals(view.with_means(done.predicted.mean), done.predicted.cov),
            updated=Marginals(view.with_means(done.updated.mean), done.updated.cov),
            log_normaliser=done.log_normaliser if constant is None else done.log_normaliser + constant.sum(),
            record=done.record,
            last_mean=done.last[0],
            last_cov=done.last[1],
        )

    def smooth(self, filtered: Filtered) -> Marginals:
        """The backward pass."""
        state_space = filtered.state_space
        found = filtered.record.smooth(state_space)
        return Marginals(state_space.view.with_means(found.mean), found.cov)

    def mean(self, filtered: Filtered, sites: SiteState) -> Float[Array, "time *obs latent"]:
        """Posterior means under other linear parts."""
        return filtered.record.means(filtered.state_space, sites)
