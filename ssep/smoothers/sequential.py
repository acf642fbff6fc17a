"""Filter and smoother going through time once forward and once back."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from ssep.linalg import UNROLL_LIMIT
from ssep.marginals import Marginals
from ssep.scanning import can_keep
from ssep.sites import SiteState
from ssep.smoothers.adjoint import Passed, filter_reversible
from ssep.smoothers.base import Back, Cotangents, Filtered, Forward, Found, Smoother
from ssep.smoothers.stepwise import filter_steps
from ssep.smoothers.strides import stride_length
from ssep.smoothers.stridewise import filter_strides
from ssep.statespace import StateSpace, pack


class Sequential(Smoother):
    """A scan forward and a scan back, in strides of several steps where that is faster.

    The backward pass is the adjoint (modified Bryson-Frazier) recursion: it inverts no predicted covariance, so times
    may coincide and the process noise may vanish, and it needs only what the filter kept of the targets.
    """

    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass."""
        return _filter(state_space, sites, filter_steps)

    def filter_reversible(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The same; small states have a derivative written by hand."""
        by_hand = _is_small(state_space)
        return _filter(state_space, sites, (lambda *model: filter_reversible(model)) if by_hand else filter_steps)

    def filter_both_ways(self, state_space: StateSpace, sites: SiteState) -> tuple[Filtered, Back]:
        """The forward pass and what goes back through it, once where the state is small."""
        if not _is_small(state_space):
            return super().filter_both_ways(state_space, sites)
        arrays, rest = eqx.partition(state_space, eqx.is_inexact_array)
        view = state_space.view

        def centre(arrays: Any, sites: SiteState) -> Any:
            return eqx.combine(arrays, rest).view.centre(sites)

        def complete(arrays: Any, done: Forward, constant: Any) -> tuple[Found, Filtered]:
            filtered = Filtered.of(eqx.combine(arrays, rest), done, constant, done.record)
            return filtered.found, filtered

        (centred, constant), pull_centre = jax.vjp(centre, arrays, sites)
        passed = Passed(state_space, centred)
        _, pull_complete, filtered = jax.vjp(complete, arrays, passed.forward, constant, has_aux=True)

        def back(cotangent: Found) -> tuple[Marginals, Cotangents]:
            of_means, of_done, of_constant = pull_complete(cotangent)
            posterior, (of_passed, of_centred) = passed.smooth_and_pull_back(of_done, filtered.closing)
            of_offset, of_sites = pull_centre((of_centred, of_constant))
            total = jax.tree.map(lambda *parts: sum(parts), of_means, of_passed, of_offset)
            return Marginals(view.with_means(posterior.mean), posterior.cov), (total, of_sites)

        return filtered, back


def _filter(
    state_space: StateSpace, sites: SiteState, by_steps: Callable[[StateSpace, SiteState], Forward]
) -> Filtered:
    length = _stride_length(state_space)
    centred, constant = state_space.view.centre(sites)
    done = by_steps(state_space, centred) if length == 1 else filter_strides(state_space, centred, length)
    return Filtered.of(state_space, done, constant, done.record)


def _stride_length(state_space: StateSpace) -> int:
    return stride_length(state_space.num_states, state_space.num_targets)


def _is_small(state_space: StateSpace) -> bool:
    """Whether going back by hand pays: with larger states the loop spends its time in products, not in their number."""
    count = state_space.gaps.index.shape[0]
    return state_space.num_states <= UNROLL_LIMIT and can_keep(count, pack(*state_space.start()))
