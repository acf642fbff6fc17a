"""The times of the data and the times of a prediction on one line."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ssep.checks import as_float, first_offender, is_concrete, require
from ssep.data import Data, check_resolution
from ssep.locations import Locations, check_finite, on_a_line
from ssep.memory import check_memory_of_nodes
from ssep.priors.base import Prior
from ssep.sites import SiteState
from ssep.solution import Solution
from ssep.statespace import Belief, Shared, StateSpace


class Timeline(eqx.Module):
    """The steps of the data, and new times between, before and after them."""

    data: Data
    """All times in order; nothing in it is observed: what the data said is in the sites."""
    old: Int[Array, " time"]
    """Where the steps of the data are."""
    new: Int[Array, " new"]
    """Where the new times are, in the order in which they were given."""

    def scatter(self, values: Float[Array, "time *rest"]) -> Float[Array, "line *rest"]:
        """Values of the data's steps at their places among zeros."""
        shape = (self.data.t.shape[0], *values.shape[1:])
        return jnp.zeros(shape, values.dtype).at[self.old].set(values)

    def nodes(
        self, prior: Prior, locations: Locations, sites: SiteState, start: Belief | None
    ) -> tuple[StateSpace, SiteState]:
        """The state space of the (anchored) prior's nodes at all times, and what the sites say about them."""
        view = prior.view(locations)
        centred, _ = view.centre(sites)
        collected = jax.vmap(view.collect)(view.steps, centred)
        dynamics = prior.dynamics(self.data, start)
        space = StateSpace(dynamics, Shared(dynamics.num_nodes), self.data.gaps)
        return space, jax.tree.map(self.scatter, collected)


def check_times(call: str, t_new: Any) -> Float[Array, " new"]:
    """New times as an array of floats."""
    shape = np.shape(t_new)
    require(
        len(shape) == 1 and shape[0] > 0,
        f"{call}(t_new)",
        "must have shape (m,) with m > 0",
        f"shape {shape}",
        "For one time give a list of one.",
    )
    times = as_float(t_new)
    if is_concrete(times):
        finite = np.isfinite(np.asarray(times))
        remedy = "Drop what is not a number."
        require(
            finite.all(),
            f"{call}(t_new)",
            "must be finite",
            "" if finite.all() else first_offender(np.asarray(times), finite),
            remedy,
        )
    return times


def merge(call: str, solution: Solution, where: Locations) -> Timeline:
    """Put new times among those of the data."""
    check_resolution(call, solution.data)
    check_memory_of_nodes(f"{call}(t_new)", solution.prior, solution.data.locations, where)
    times = where.t.astype(solution.data.t.dtype)
    start = solution.start
    if start is not None and is_concrete(times, start.t):
        require(
            np.min(times) >= start.t,
            f"{call}(t_new)",
            f"must not lie before {start.t}, where what this solution knows begins",
            np.min(times),
            "Ask an earlier solution.",
        )
    old = solution.data.t
    known = is_concrete(times, old)
    numpy = np if known else jnp
    if known and np.isin(times, old).all():
        # Nothing to add: the posterior at the data's own times is asked for.
        line = Data(old, jnp.full(old.shape, jnp.nan, old.dtype)).with_gaps(solution.data.gaps.lengths.shape[0])
        return Timeline(line, jnp.arange(old.shape[0]), jnp.asarray(np.searchsorted(np.asarray(old), times)))
    together = numpy.concatenate([numpy.asarray(old), numpy.asarray(times)])
    order = numpy.argsort(together, stable=True)
    # Where each of the data's steps, and each new time, comes to lie.
    places = jnp.asarray(numpy.argsort(order, stable=True))
    line = Data(together[order], jnp.full(together.shape, jnp.nan, times.dtype))
    # Each new time splits one gap in two.
    line = line.with_gaps(solution.data.gaps.lengths.shape[0] + 2 * times.shape[0] + 1)
    return Timeline(line, places[: old.shape[0]], places[old.shape[0] :])


def look_at(call: str, prior: Prior, seen: Locations | None, t_new: Any, r_new: Any) -> Locations:
    """Where to predict: at new places, or at those of the data."""
    times = check_times(call, t_new)
    if seen is not None:
        prior, times = prior.anchored(seen), times.astype(seen.t.dtype)
    if r_new is None:
        if seen is None or seen.r is None:
            found = Locations(times, None, None, own=True)
            prior.check_places(f"{call}(r_new)", found)
            return found
        require(
            not seen.moving,
            f"{call}(r_new)",
            "must be given, because the places of the data differ from time to time",
            "None",
            "Give places of shape (J, R), or (m, J, R) where they differ.",
        )
        return Locations(times, seen.r, seen.per_step, own=True)
    places = on_a_line(as_float(r_new))
    require(
        places.ndim == 2 or (places.ndim == 3 and places.shape[0] == times.shape[0]),
        f"{call}(r_new)",
        f"must have shape (J, R), or ({times.shape[0]}, J, R) for as many times",
        f"shape {np.shape(r_new)}",
        "For one place per time, add an axis: `r_new[:, None]`.",
    )
    check_finite(f"{call}(r_new)", places)
    found = Locations(times, places.astype(times.dtype), places.shape[-2], own=seen is None)
    prior.check_places(f"{call}(r_new)", found)
    return found if seen is None else recognised(found, seen)


def recognised(where: Locations, seen: Locations) -> Locations:
    """The same locations, told whether their places are those of the data: nothing to interpolate then."""
    if where.r is None or seen.r is None or where.r is seen.r:
        return where
    known = is_concrete(where.r, seen.r) and not (where.moving or seen.moving)
    return dataclasses.replace(where, own=bool(known and np.array_equal(where.r, seen.r)))
