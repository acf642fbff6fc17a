"""Stretches of time in which events could be seen."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ssep.checks import first_offender, is_concrete, require

CLOSE = 1e-9
"""Lengths that differ by this share, or less, are meant to be equal."""


def as_windows(call: str, windows: Any) -> Float[np.ndarray, "window 2"]:
    """Windows as rows of start and end, in order and apart; one may begin where another ends."""
    try:
        array = np.asarray(windows, float)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    require(
        array.ndim == 2 and array.shape[1] == 2 and len(array) > 0,
        call,
        "must be a sequence of (start, end)",
        repr(windows),
        "One window is `[(start, end)]`.",
    )
    for valid, requirement, remedy in [
        (np.isfinite(array).all(1), "must be finite", "Give the times between which events could be seen."),
        (array[:, 0] < array[:, 1], "must have positive length", "Leave it out, or check the order: (start, end)."),
        (
            np.append(True, array[1:, 0] >= array[:-1, 1]),
            "must follow one another without overlap",
            "Sort them; merge those that overlap.",
        ),
    ]:
        offender = "" if valid.all() else f"{tuple(array[~valid][0].tolist())} at position {np.argmin(valid)}"
        require(valid.all(), call, requirement, offender, remedy)
    return array


def as_length(call: str, value: Any, most: float = np.inf) -> float:
    """A length of time that a user gave."""
    known = np.ndim(value) == 0 and is_concrete(value)
    length = float(value) if known else np.nan
    within = "" if np.isinf(most) else f" and at most the extent of the windows, {most}"
    remedy = "A tenth of the lengthscale is fine."
    require(0 < length <= most and np.isfinite(length), call, f"must be positive{within}", repr(value), remedy)
    return length


def window_of(t: Float[np.ndarray, " point"], windows: Float[np.ndarray, "window 2"]) -> Int[np.ndarray, " point"]:
    """The last window that has begun; -1 before all."""
    return np.searchsorted(windows[:, 0], t, "right") - 1


def require_inside(call: str, t: Float[np.ndarray, " event"], windows: Float[np.ndarray, "window 2"]) -> None:
    """Raise unless every time lies in a window; both ends belong to it."""
    window = window_of(t, windows)
    inside = (window >= 0) & (t <= windows[window, 1])
    offender = "" if inside.all() else first_offender(t, inside)
    require(inside.all(), call, "must lie in a window", offender, "Widen the windows, or drop events outside.")


def grid(
    windows: Float[np.ndarray, "window 2"], resolution: float
) -> tuple[Float[np.ndarray, " point"], Int[np.ndarray, " segment"]]:
    """Equidistant times in each window, ends included, at most `resolution` apart; which of them begin a segment."""
    counts = np.ceil(np.diff(windows)[:, 0] / resolution - CLOSE).astype(int).clip(1)
    times = [np.linspace(start, end, count + 1) for (start, end), count in zip(windows, counts, strict=True)]
    last = np.cumsum(counts + 1) - 1
    return np.concatenate(times), np.delete(np.arange(last[-1] + 1), last)
