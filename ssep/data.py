"""Observations in time: what was seen, when, and what is missing."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from ssep.checks import as_aux, as_float, first_offender, is_concrete, require
from ssep.gaps import Gaps, gaps_between
from ssep.locations import Locations, places_of
from ssep.records import group_records
from ssep.types import Aux

# How many observations are worked on at the same time.
_AT_ONCE = 2**16


class Observations(eqx.Module):
    """What was observed, without the times: of all steps, or of one."""

    y: Float[Array, "*obs"]
    mask: Bool[Array, "*obs"]
    aux: Aux

    def map(self, function: Callable[..., PyTree[Array]], *args: PyTree[Array]) -> PyTree[Array]:
        """`function(y, aux, *args)` for every observation at once; zero for those that are missing.

        The arrays in `args` begin with the shape of `y`.
        """

        def masked(y, mask, aux, *rest):
            return jax.tree.map(lambda leaf: jnp.where(mask, leaf, 0), function(y, aux, *rest))

        every = (self.y, self.mask, self.aux, *args)
        shape = self.y.shape
        if self.y.size <= _AT_ONCE:
            for _ in shape:
                masked = jax.vmap(masked)
            return masked(*every)
        # Cubature takes many numbers per observation: so many at a time, and again for derivatives.
        flat = jax.tree.map(lambda leaf: leaf.reshape(self.y.size, *leaf.shape[len(shape) :]), every)
        found = jax.lax.map(jax.checkpoint(lambda each: masked(*each)), flat, batch_size=_AT_ONCE)
        return jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), found)


class Data(eqx.Module):
    """Observations `y` at the times `t`.

    Args:
        t: Times, shape (n,), in increasing order; equal times are fine.
        y: Observations, shape (n,) or (n, J) for J observations per time that are independent given the latents.
            NaN means missing.
        mask: Optional, same shape as `y`: False marks what is missing, whatever `y` holds there.
        aux: Optional pytree of arrays that begin with the shape of `y`: extras per observation, handed to the
            likelihood (the exposure of a count, say).
        r: Optional places in R dimensions, for a `SpatioTemporalPrior`: shape (J, R) for y of shape (n, J) at a fixed
            set of places; (n, J, R), or (n, R) for y of shape (n,), where places differ from time to time. On a line
            (R = 1), (J,) and (n,) will do.
    """

    t: Float[Array, " time"]
    y: Float[Array, "time *obs"]
    mask: Bool[Array, "time *obs"]
    aux: Aux
    r: Float[Array, "*places space"] | None
    gaps: Gaps

    def __init__(self, t: Any, y: Any, *, mask: Any = None, aux: Aux = None, r: Any = None):
        aux = as_aux(aux)
        _check_shapes(t, y, mask, aux)
        times, values, extras = as_float(t), as_float(y), jax.tree.map(as_float, aux)
        places = None if r is None else places_of(r, values.shape).astype(times.dtype)
        observed = _observed(values, mask)
        _check_values(t, values, observed, extras)
        self.r = None if places is None else _known_places(places, observed)
        self.t = times
        self.mask = observed
        self.y = _fill(values, observed)
        self.aux = jax.tree.map(lambda extra: _fill(extra, observed), extras)
        self.gaps = gaps_between(t, self.t.dtype)

    @classmethod
    def from_records(
        cls, t: Any, r: Any, y: Any, *, aux: Aux = None, fixed_places: Any = False, per_step: int | None = None
    ) -> "Data":
        """Sort and group records, one observation each, in any order.

        Args:
            t: Their times, shape (N,).
            r: Their places, shape (N, R), or (N,) on a line.
            y: Their values, shape (N,); NaN means missing.
            aux: Optional extras per record.
            fixed_places: Whether records come from a set of stations: then y has a column for each. True takes all
                places that occur; an array of shape (J, R) names them, in the order of the columns. Otherwise each time
                has as many columns as records, filled up with missing ones.
            per_step: The number of columns; further records of one time go to rows of their own. Without it a row is as
                long as the largest number of records of one time.
        """
        rows = group_records(t, r, y, as_aux(aux), fixed_places, per_step)
        return cls(rows.t, rows.y, mask=rows.mask, aux=rows.aux, r=rows.r)

    @property
    def locations(self) -> Locations:
        """The times and places without the observations."""
        return Locations(self.t, self.r, self.per_step, own=True)

    @property
    def observations(self) -> Observations:
        """The observations without their times."""
        return Observations(self.y, self.mask, self.aux)

    def with_gaps(self, count: int) -> "Data":
        """The last gap repeated up to a number of gaps: shapes, and what is compiled, then depend on sizes only."""
        return eqx.tree_at(lambda data: data.gaps, self, self.gaps.padded(count))

    def restricted(self, keep: Bool[Array, "time *obs"]) -> "Data":
        """The same data with further observations missing; what they held, which may be unusable, is gone."""
        mask = self.mask & keep
        fields = (mask, _fill(self.y, mask), jax.tree.map(lambda extra: _fill(extra, mask), self.aux))
        where = lambda data: (data.mask, data.y, data.aux)  # noqa: E731
        return eqx.tree_at(where, self, fields, is_leaf=lambda leaf: leaf is None)

    def last(self, count: int) -> "Data":
        """The last steps only."""
        taken = jax.tree.map(lambda x: x[-count:], self.observations)
        places = self.r[-count:] if self.locations.moving else self.r  # pyright: ignore[reportOptionalSubscript]
        return Data(self.t[-count:], taken.y, mask=taken.mask, aux=taken.aux, r=places)

    def first(self, count: int) -> "Data":
        """The first steps only, with the distinct gaps of all."""
        names = ["t", "y", "mask", "aux", *(["r"] if self.locations.moving else [])]
        cut = jax.tree.map(lambda x: x[:count], [getattr(self, name) for name in names])
        where = lambda data: [data.gaps, *(getattr(data, name) for name in names)]  # noqa: E731
        return eqx.tree_at(where, self, [self.gaps.first(count), *cut], is_leaf=lambda leaf: leaf is None)

    def followed_by(self, other: "Data") -> "Data":
        """These data and later ones, at the same places if places are fixed."""
        first, second = self.observations, other.observations
        joined = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), first, second)
        places = jnp.concatenate([self.r, other.r]) if self.locations.moving else self.r  # pyright: ignore[reportArgumentType, reportCallIssue]
        return Data(jnp.concatenate([self.t, other.t]), joined.y, mask=joined.mask, aux=joined.aux, r=places)

    @property
    def per_step(self) -> int | None:
        """The number of observations per time; None if y has no axis for them."""
        return self.y.shape[1] if self.y.ndim == 2 else None


def check_resolution(call: str, data: Data) -> None:
    """Raise where single precision cannot tell the times apart from which gaps have to be computed anew."""
    if data.t.dtype != np.float32 or not is_concrete(data.t, data.gaps.lengths):
        return
    gaps = np.asarray(data.gaps.lengths)
    smallest = np.min(gaps[gaps > 0], initial=np.inf)
    spacing = float(np.spacing(np.max(np.abs(np.asarray(data.t)))))
    require(
        spacing <= 0.01 * smallest,
        call,
        "needs times that single precision resolves to a hundredth of their smallest gap",
        f"a resolution of {spacing:.3g} and a gap of {smallest:.3g}",
        'Subtract an origin from the times, or call `jax.config.update("jax_enable_x64", True)`.',
    )


def _check_shapes(t: Any, y: Any, mask: Any, aux: Aux) -> None:
    times, shape = np.shape(t), np.shape(y)
    require(len(times) == 1, "Data(t)", "must have shape (n,)", f"shape {times}", "Give one time per step.")
    require(
        len(shape) in (1, 2),
        "Data(y)",
        "must have shape (n,) or (n, J)",
        f"shape {shape}",
        "Put several observations of one time into a second axis.",
    )
    require(
        shape[0] == times[0],
        "Data(t, y)",
        "must have equal lengths",
        f"{times[0]} times and {shape[0]} observations",
        "Give one row of y per time; mark missing ones as NaN.",
    )
    require(0 not in shape, "Data(t, y)", "must hold at least one time", f"y of shape {shape}", "Check the selection.")
    if mask is not None:
        require(
            np.shape(mask) == shape,
            "Data(mask)",
            f"must have the shape of y, {shape}",
            f"shape {np.shape(mask)}",
            "Give one flag per observation, True where it was seen.",
        )
        boolean = np.asarray(mask).dtype == bool if is_concrete(mask) else mask.dtype == bool
        require(boolean, "Data(mask)", "must be boolean", type(mask).__name__, "Compare first: `mask=weights > 0`.")
    for extra in jax.tree.leaves(aux):
        require(
            np.shape(extra)[: len(shape)] == shape,
            "Data(aux)",
            f"must begin with the shape of y, {shape}",
            f"shape {np.shape(extra)}",
            "Give one entry per observation (`np.broadcast_to` helps).",
        )


def _known_places(places: Array, observed: Array) -> Array:
    """Places must be known, except those of missing observations, which get any."""
    known = jnp.isfinite(places).all(-1)
    needed = observed if known.ndim == observed.ndim else jnp.ones_like(known)
    if is_concrete(places, observed):
        valid = np.asarray(known | ~needed)
        offender = "" if valid.all() else first_offender(np.asarray(places), valid)
        remedy = "Mark those as missing." if known.ndim == observed.ndim else "Drop those columns."
        require(valid.all(), "Data(r)", "must be finite where y is observed", offender, remedy)
    return _fill(places, known)


def _check_values(t: Any, y: Any, observed: Array, aux: Aux) -> None:
    if is_concrete(t):
        times = np.asarray(t, float)
        finite = np.isfinite(times)
        require(
            finite.all(),
            "Data(t)",
            "must be finite",
            "" if finite.all() else first_offender(times, finite),
            "Drop those rows.",
        )
        sorted_ = np.diff(times, prepend=times[0]) >= 0
        require(
            sorted_.all(),
            "Data(t)",
            "must not decrease",
            "" if sorted_.all() else first_offender(times, sorted_) + " after a later time",
            "Sort first: `order = np.argsort(t); Data(t[order], y[order])`.",
        )
    if is_concrete(y, observed, aux):
        seen = np.asarray(observed)
        for name, array in [("y", y), *(("aux", extra) for extra in jax.tree.leaves(aux))]:
            values = np.asarray(array, float)
            valid = np.isfinite(values) | ~seen.reshape(seen.shape + (1,) * (values.ndim - seen.ndim))
            require(
                valid.all(),
                f"Data({name})",
                "must be finite where y is observed",
                "" if valid.all() else first_offender(values, valid),
                "Mark missing observations with NaN in y or with `mask=`.",
            )


def _observed(y: Array, mask: Any) -> Array:
    not_nan = ~jnp.isnan(y)
    return not_nan if mask is None else not_nan & jnp.asarray(mask, bool)


def _fill(values: Array, observed: Array) -> Array:
    """Put the first observed value wherever one is missing, so that no NaN, nor a value outside the support, enters."""
    flat = observed.ravel()
    example = values.reshape(flat.shape + values.shape[observed.ndim :])[jnp.argmax(flat)]
    seen = observed.reshape(observed.shape + (1,) * (values.ndim - observed.ndim))
    return jnp.where(seen, values, jnp.where(jnp.any(flat), example, jnp.ones_like(example)))
