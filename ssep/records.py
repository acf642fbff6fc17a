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


def group_records(t: Any, r: Any, y: Any, aux: Aux, fixed_places: Any, per_step: int | None) -> Rows:
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
    fixed = not isinstance(fixed_places, bool) or fixed_places
    require(
        per_step is None or (isinstance(per_step, int | np.integer) and per_step > 0 and not fixed),
        "Data.from_records(per_step)",
        "must be a positive integer, and goes with places that are not fixed",
        per_step,
        "Leave it out.",
    )
    distinct, step = np.unique(times, return_inverse=True)
    if fixed:
        stations, column = _stations(places, fixed_places)
        # A second record of one station at one time opens a further row of that time.
        turn = _count_earlier(step * len(stations) + column)
        width = len(stations)
    else:
        earlier = _count_earlier(step)
        width = int(earlier.max()) + 1 if per_step is None else int(per_step)
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


def _stations(places: np.ndarray, fixed_places: Any) -> tuple[np.ndarray, np.ndarray]:
    """The stations, and which of them each record comes from."""
    found, column = np.unique(places, axis=0, return_inverse=True)
    column = column.ravel()
    if isinstance(fixed_places, bool):
        return found, column
    named = np.asarray(fixed_places, float)
    named = named[:, None] if named.ndim == 1 else named
    same = (found[:, None] == named).all(-1) if named.shape[1:] == found.shape[1:] else np.zeros((len(found), 1), bool)
    require(
        same.any(1).all(),
        "Data.from_records(fixed_places)",
        "must name the places of all records",
        f"a record at {found[np.argmin(same.any(1))]}",
        "Add that place, or drop its records.",
    )
    return named, same.argmax(1)[column]


def _count_earlier(keys: np.ndarray) -> np.ndarray:
    """How many earlier entries have the same key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    starts = np.repeat(first, np.diff(np.append(first, len(keys))))
    counts = np.empty(len(keys), int)
    counts[order] = np.arange(len(keys)) - starts
    return counts
