"""What a prior is: it turns times, and places, into a state space."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.data import Data
from ssep.locations import Locations
from ssep.statespace import Belief, Dynamics, StateSpace, View, pack, unpack


class Part(eqx.Module):
    """One term of the sum that a latent is."""

    latent: int = eqx.field(static=True)
    kernel: Any
    """A kernel, or a separable term."""


class Prior(eqx.Module):
    """A Gaussian process prior of the latents."""

    @property
    @abc.abstractmethod
    def num_latents(self) -> int:
        """The number of latents per observation."""

    @abc.abstractmethod
    def check_places(self, call: str, locations: Locations) -> None:
        """Raise if the places lack what the prior needs."""

    @abc.abstractmethod
    def sizes(self, locations: Locations) -> tuple[int, int]:
        """The numbers of state components and of nodes."""

    @abc.abstractmethod
    def anchored(self, locations: Locations) -> "Prior":
        """The same prior, knowing where its nodes are if that depends on the observations."""

    @abc.abstractmethod
    def dynamics(self, data: Data, start: Belief | None = None) -> Dynamics:
        """How the state moves between the data's times, given what is known of it earlier (or the prior alone)."""

    @abc.abstractmethod
    def view(self, locations: Locations) -> View:
        """How observations at these times and places see the nodes."""

    @abc.abstractmethod
    def covariance(self, locations: Locations) -> Float[Array, "..."]:
        """The prior covariances of all pairs of latents, shape (*observations, latent, *observations, latent)."""

    @abc.abstractmethod
    def residual(self) -> "Prior | None":
        """The prior, anchored, of what the nodes do not resolve; None if they resolve everything."""

    @abc.abstractmethod
    def split(self) -> "tuple[Prior, tuple[Part, ...]]":
        """The prior, without means, whose latents are the terms that these latents are sums of, and the terms.

        It has the same state.
        """

    def discretise(self, data: Data, start: Belief | None = None) -> StateSpace:
        """The state space model of the data; begins with the prior, or with what is known of the state earlier."""
        locations = data.locations
        anchored = self.anchored(locations)
        return StateSpace(anchored.dynamics(data, start), anchored.view(locations), data.gaps)


def begin(over: Callable[[Float[Array, " gap"]], Dynamics], data: Data, start: Belief | None) -> Dynamics:
    """The dynamics over the data's gaps, given those over any: from the prior on, or from an earlier belief."""
    dynamics = over(data.gaps.lengths)
    if start is None:
        return dynamics
    first = over((data.t[0] - start.t)[None])
    return dynamics.begun_at(unpack(first.predict(jnp.zeros((), int), pack(start.mean, start.cov))))


def spread_latents(grams: list[Array], locations: Locations) -> Float[Array, "..."]:
    """The covariance of independent latents, given that of each."""
    count = len(grams)
    joint = jnp.stack(grams)[:, :, :, None] * jnp.eye(count, dtype=grams[0].dtype)[:, None, None]
    shape = (*locations.shape, count)
    return jnp.moveaxis(joint, 0, 1).reshape(*shape, *shape)
