"""Observations in time: what was seen, when, and what is missing."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from ssep.checks import as_aux, as_float, first_offender, is_concrete, require
from ssep.types import Aux


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

        for _ in range(self.y.ndim):
            masked = jax.vmap(masked)
        return masked(self.y, self.mask, self.aux, *args)


class Data(eqx.Module):
    """Observations `y` at the times `t`.

    Args:
        t: Times, shape (n,), in increasing order; equal times are fine.
        y: Observations, shape (n,) or (n, J) for J observations per time that are independent given the latents.
            NaN means missing.
        mask: Optional, same shape as `y`: False marks what is missing, whatever `y` holds there.
        aux: Optional pytree of arrays that begin with the shape of `y`: extras per observation, handed to the
            likelihood (the exposure of a count, say).
    """

    t: Float[Array, " time"]
    y: Float[Array, "time *obs"]
    mask: Bool[Array, "time *obs"]
    aux: Aux
    gaps: Float[Array, " gap"]
    """The distinct gaps between successive times: each is discretised once."""
    gap_index: Int[Array, " time"]
    """Which of them leads to each time; the gap before the first time is zero."""

    def __init__(self, t: Any, y: Any, *, mask: Any = None, aux: Aux = None):
        aux = as_aux(aux)
        _check_shapes(t, y, mask, aux)
        times, values, extras = as_float(t), as_float(y), jax.tree.map(as_float, aux)
        observed = _observed(values, mask)
        _check_values(t, values, observed, extras)
        self.t = times
        self.mask = observed
        self.y = _fill(values, observed)
        self.aux = jax.tree.map(lambda extra: _fill(extra, observed), extras)
        self.gaps, self.gap_index = _distinct_gaps(t, self.t.dtype)

    @property
    def observations(self) -> Observations:
        """The observations without their times."""
        return Observations(self.y, self.mask, self.aux)

    def with_gaps(self, count: int) -> "Data":
        """The last gap repeated up to a number of gaps: shapes, and what is compiled, then depend on sizes only."""
        missing = max(0, min(self.t.shape[0], count) - self.gaps.shape[0])
        # In NumPy where possible: nothing to compile for each number of gaps.
        padded = np.pad(self.gaps, (0, missing), mode="edge") if is_concrete(self.gaps) else self.gaps
        return eqx.tree_at(lambda data: data.gaps, self, jnp.asarray(padded))

    def restricted(self, keep: Bool[Array, "time *obs"]) -> "Data":
        """The same data with further observations missing; what they held, which may be unusable, is gone."""
        mask = self.mask & keep
        fields = (mask, _fill(self.y, mask), jax.tree.map(lambda extra: _fill(extra, mask), self.aux))
        where = lambda data: (data.mask, data.y, data.aux)  # noqa: E731
        return eqx.tree_at(where, self, fields, is_leaf=lambda leaf: leaf is None)

    def last(self, count: int) -> "Data":
        """The last steps only."""
        taken = self.observations if count >= self.t.shape[0] else jax.tree.map(lambda x: x[-count:], self.observations)
        return Data(self.t[-count:], taken.y, mask=taken.mask, aux=taken.aux)

    def followed_by(self, other: "Data") -> "Data":
        """These data and later ones."""
        first, second = self.observations, other.observations
        joined = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), first, second)
        return Data(jnp.concatenate([self.t, other.t]), joined.y, mask=joined.mask, aux=joined.aux)

    @property
    def per_step(self) -> int | None:
        """The number of observations per time; None if y has no axis for them."""
        return self.y.shape[1] if self.y.ndim == 2 else None


def check_resolution(call: str, data: Data) -> None:
    """Raise where single precision cannot tell the times apart from which gaps have to be computed anew."""
    if data.t.dtype != np.float32 or not is_concrete(data.t, data.gaps):
        return
    gaps = np.asarray(data.gaps)
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


def _distinct_gaps(t: Any, dtype: Any) -> tuple[Array, Array]:
    """Gaps, computed in double precision whatever the dtype, equal ones (to the rounding of t) merged."""
    if not is_concrete(t):
        traced = jnp.asarray(t)
        return jnp.diff(traced, prepend=traced[:1]).astype(dtype), jnp.arange(traced.shape[0])
    largest = np.max(np.abs(np.asarray(t)))
    resolution = 4 * float(np.spacing(largest if np.issubdtype(largest.dtype, np.floating) else float(largest)))
    times = np.asarray(t, float)
    gaps = np.diff(times, prepend=times[0])
    _, index = np.unique(np.round(gaps / resolution), return_inverse=True)
    sums, counts = np.bincount(index, gaps), np.bincount(index)
    return jnp.asarray(sums / counts, dtype), jnp.asarray(index.ravel())
