"""The times of the data and the times of a prediction on one line."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ssep.checks import as_float, first_offender, is_concrete, require
from ssep.data import Data, check_resolution
from ssep.sites import SiteState
from ssep.solution import Solution


class Timeline(eqx.Module):
    """Sites at the times of the data, nothing at new times between, before and after them."""

    data: Data
    """All times in order; nothing in it is observed: what the data said is in the sites."""
    sites: SiteState
    places: Int[Array, " new"]
    """Where the new times are, in the order in which they were given."""


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


def merge(call: str, solution: Solution, t_new: Any) -> Timeline:
    """Put new times among those of the data."""
    check_resolution(call, solution.data)
    times = check_times(call, t_new).astype(solution.data.t.dtype)
    start = solution.start
    if start is not None and is_concrete(times, start.t):
        require(
            np.min(times) >= start.t,
            f"{call}(t_new)",
            f"must not lie before {start.t}, where what this solution knows begins",
            np.min(times),
            "Ask an earlier solution.",
        )
    sites = solution.sites
    if solution.data.per_step is not None:
        sites = SiteState(sites.linear.sum(1), sites.precision.sum(1))
    count, old = times.shape[0], solution.data.t.shape[0]
    numpy = np if is_concrete(times, solution.data.t) else jnp
    together = numpy.concatenate([numpy.asarray(solution.data.t), numpy.asarray(times)])
    order = numpy.argsort(together, stable=True)
    # Where each of the data's steps, and each new time, comes to lie.
    places = numpy.argsort(order, stable=True)
    line = Data(together[order], jnp.full(count + old, jnp.nan, times.dtype))
    # Each new time splits one gap in two.
    line = line.with_gaps(solution.data.gaps.shape[0] + 2 * count + 1)

    def scatter(values: Array) -> Array:
        return jnp.zeros((count + old, *values.shape[1:]), values.dtype).at[places[:old]].set(values)

    merged = SiteState(scatter(sites.linear), scatter(sites.precision))
    return Timeline(line, merged, jnp.asarray(places[old:]))
