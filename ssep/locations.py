"""Where observations are, in time and space."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import as_float, first_offender, is_concrete, require


class Locations(eqx.Module):
    """Where observations are: all that a prior may know of them."""

    t: Float[Array, " time"]
    r: Float[Array, "*places space"] | None
    per_step: int | None = eqx.field(static=True)
    """Observations per time; None for one, without an axis of its own."""
    own: bool = eqx.field(static=True)
    """Whether the places are those of the data that a prior without inducing places is anchored to."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the observations."""
        return self.t.shape if self.per_step is None else (*self.t.shape, self.per_step)

    @property
    def places(self) -> Float[Array, "*places space"]:
        """The places, which must be there."""
        require(self.r is not None, "Data(r)", "must be given for a prior in space", "None", "See `ssep.Data`.")
        return self.r  # pyright: ignore[reportReturnType]

    @property
    def moving(self) -> bool:
        """Whether places differ from time to time."""
        return self.r is not None and self.r.ndim == len(self.shape) + 1


def places_of(r: Any, shape: tuple[int, ...]) -> Array:
    """Places with their own axis, (J, R) or y's shape and R."""
    places = on_a_line(as_float(r))
    fixed, moving = shape[1:], shape
    require(
        (len(shape) == 2 and places.shape[:-1] == fixed) or places.shape[:-1] == moving,
        "Data(r)",
        f"must have shape {'(J, R) or (n, J, R)' if fixed else '(n, R)'} for y of shape {shape}",
        f"shape {np.shape(r)}",
        "Give one place per observation, or one per column of y; from records use `Data.from_records(t, r, y)`.",
    )
    return places


def as_places(call: str, places: Any) -> Float[Array, "node space"]:
    """Places as an array (m, R); numbers are places on a line."""
    array = on_a_line(as_float(places))
    require(
        array.ndim == 2 and array.size > 0,
        call,
        "must have shape (m, R), one row per place",
        f"shape {np.shape(places)}",
        "On a line, (m,) will do.",
    )
    check_finite(call, array)
    return array


def on_a_line(places: Array) -> Array:
    """Numbers are places in one dimension."""
    return places[:, None] if places.ndim == 1 else places


def check_finite(call: str, places: Array) -> None:
    """Raise if known places are not finite."""
    if is_concrete(places):
        finite = np.isfinite(np.asarray(places))
        offender = "" if finite.all() else first_offender(np.asarray(places), finite)
        require(finite.all(), call, "must be finite", offender, "Drop those places.")
