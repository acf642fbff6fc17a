"""What a smoother is: it turns a state space and sites into marginals and a normaliser."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.statespace import Closing, StateSpace
from ssep.types import Scalar, State, StateMatrix


class Record(eqx.Module):
    """What a forward pass keeps for the way back: memory n s d with d targets per step, never n s s."""

    @abc.abstractmethod
    def smooth(self, state_space: StateSpace, closing: Closing) -> Marginals:
        """Marginals of the latents of each observation given all sites, without the prior's means."""

    @abc.abstractmethod
    def means(self, state_space: StateSpace, sites: SiteState, closing: Closing) -> Float[Array, "time *obs latent"]:
        """Posterior means under sites that differ in linear parts only, without the prior's means."""


class Forward(eqx.Module):
    """What a forward pass finds, without the prior's means."""

    predicted: Marginals
    updated: Marginals
    log_normaliser: Scalar
    record: Record
    last: tuple[State, StateMatrix]


class Found(eqx.Module):
    """What an objective may read of a forward pass, or the derivative in it."""

    predicted: Marginals
    updated: Marginals
    log_normaliser: Scalar
    correction: Scalar


Cotangents = tuple[Any, SiteState]
"""Derivatives in the arrays of floats of a state space, None in place of all else, and in sites."""
Back = Callable[[Found], tuple[Marginals, Cotangents]]


class Filtered(eqx.Module):
    """What a forward pass knows."""

    state_space: StateSpace
    predicted: Marginals
    """Latents of each observation, given the sites before its step."""
    updated: Marginals
    """The same, given also the sites of its step."""
    log_normaliser: Scalar
    """The logarithm of the expected product of all sites under the prior."""
    correction: Scalar
    """The part of it that is found at the end, after all predictions."""
    record: Record
    closing: Closing

    @property
    def last(self) -> tuple[State, StateMatrix]:
        """The state after the last step, given all sites."""
        return self.closing.mean, self.closing.cov

    @property
    def found(self) -> Found:
        """The part that objectives read."""
        return Found(self.predicted, self.updated, self.log_normaliser, self.correction)

    def finding(self, found: Found) -> "Filtered":
        """The same with another such part."""

        def where(tree: Any) -> Any:
            return tree.predicted, tree.updated, tree.log_normaliser, tree.correction

        return eqx.tree_at(where, self, where(found))

    @staticmethod
    def of(
        state_space: StateSpace, done: Forward, constant: Float[Array, " time"] | None, record: Record
    ) -> "Filtered":
        """What a forward pass found under sites without means, and what taking the means out took."""
        with_means = state_space.view.with_means
        closing = state_space.close(done.last)
        total = done.log_normaliser + closing.log_normaliser
        return Filtered(
            state_space=state_space,
            predicted=Marginals(with_means(done.predicted.mean), done.predicted.cov),
            updated=Marginals(with_means(done.updated.mean), done.updated.cov),
            log_normaliser=total if constant is None else total + constant.sum(),
            correction=closing.log_normaliser,
            record=record,
            closing=closing,
        )


class Smoother(eqx.Module):
    """A way to run the filter and the smoother over time."""

    @abc.abstractmethod
    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass; sites are per observation."""

    def filter_reversible(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The same with a derivative that may be faster, but need exist in reverse mode only."""
        return self.filter(state_space, sites)

    def filter_both_ways(self, state_space: StateSpace, sites: SiteState) -> tuple[Filtered, Back]:
        """The forward pass, and a backward pass that gives the posterior and a derivative together.

        That is a function of the derivative in what was found. Unless overridden it is two passes.
        """
        arrays, rest = eqx.partition(state_space, eqx.is_inexact_array)

        def run(arrays: Any, sites: SiteState) -> tuple[Found, Filtered]:
            filtered = self.filter(eqx.combine(arrays, rest), sites)
            return filtered.found, filtered

        _, pull_back, filtered = jax.vjp(run, arrays, sites, has_aux=True)
        return filtered, lambda cotangent: (self.smooth(filtered), pull_back(cotangent))

    def smooth(self, filtered: Filtered) -> Marginals:
        """The backward pass: marginals of the latents of each observation given all sites."""
        found = filtered.record.smooth(filtered.state_space, filtered.closing)
        return Marginals(filtered.state_space.view.with_means(found.mean), found.cov)

    def mean(self, filtered: Filtered, sites: SiteState) -> Float[Array, "time *obs latent"]:
        """Posterior means, less the prior's, under sites that differ from the filtered ones in linear parts only.

        These sites have had their means taken out. Covariances do not depend on linear parts: only vectors travel.
        """
        return filtered.record.means(filtered.state_space, sites, filtered.closing)
