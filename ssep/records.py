"""Long-format records, one observation each, as rows of equal times."""

from typing import Any, NamedTuple

import jax
import numpy as np

from ssep.checks import require
from ssep.types import Aux


class Rows(NamedTuple):
    """Records in the layout of `Data`."""

    t: np.ndarray
    y: np.ndarray
    mask: np.ndarray
    aux: Aux
    r: np.ndarray


def group_records(t: Any, r: Any, y: Any, aux: Aux, fixed_places: bool, per_step: int | None) -> Rows:
    """Sort records by time and put those of one time next to each other."""
    times, places, values = np.asarray(t), np.asarray(r), np.asarray(y)
    places = places[:, None] if places.ndim == 1 else places
    count = len(times) if times.ndim == 1 else -1
    require(
        count > 0 and values.shape == times.shape and places.ndim == 2 and len(places) == count,
        "Data.from_records(t, r, y)",
        "must have shapes (N,), (N, R) and (N,)",
        f"{np.shape(t)}, {np.shape(r)} and {np.shape(y)}",
        "Give one entry per record.",
    )
    for name, array in [("t", times), ("r", places)]:
        require(
            np.isfinite(np.asarray(array, float)).all(),
            f"Data.from_records({name})",
            "must be finite",
            "a NaN or an infinity",
            "Drop records without a time or a place.",
        )
    for extra in jax.tree.leaves(aux):
        require(
            np.shape(extra)[:1] == (count,),
            "Data.from_records(aux)",
            f"must have one entry per record, {count}",
            f"shape {np.shape(extra)}",
            "Broadcast it first.",
        )
    require(
        per_step is None or (isinstance(per_step, int) and per_step > 0 and not fixed_places),
        "Data.from_records(per_step)",
        "must be a positive integer, and goes with places that are not fixed",
        per_step,
        "Leave it out.",
    )
    distinct, step = np.unique(times, return_inverse=True)
    if fixed_places:
        stations, column = np.unique(places, axis=0, return_inverse=True)
        column = column.ravel()
        # A second record of one station at one time opens a further row of that time.
        turn = _count_earlier(step * len(stations) + column)
        width = len(stations)
    else:
        earlier = _count_earlier(step)
        width = int(earlier.max()) + 1 if per_step is None else min(per_step, int(earlier.max()) + 1)
        turn, column = earlier // width, earlier % width
        stations = None
    # Rows in order of time, then of turn.
    keys, row = np.unique(step * (int(turn.max()) + 1) + turn, return_inverse=True)
    row_times = distinct[keys // (int(turn.max()) + 1)]

    def scatter(entries: Any, fill: float = np.nan) -> np.ndarray:
        entries = np.asarray(entries)
        kind = entries.dtype if np.issubdtype(entries.dtype, np.floating) else float
        table = np.full((len(keys), width, *entries.shape[1:]), fill, kind)
        table[row, column] = entries
        return table

    table = scatter(values)
    located = scatter(places) if stations is None else stations
    return Rows(row_times, table, ~np.isnan(table), jax.tree.map(scatter, aux), located)


def _count_earlier(keys: np.ndarray) -> np.ndarray:
    """How many earlier entries have the same key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    starts = np.repeat(first, np.diff(np.append(first, len(keys))))
    counts = np.empty(len(keys), int)
    counts[order] = np.arange(len(keys)) - starts
    return counts
