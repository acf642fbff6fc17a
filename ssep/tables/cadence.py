"""Which times come next: the step of a regular series, also with gaps, and the times that follow."""

import datetime
import numbers
from typing import Any, NamedTuple

import numpy as np

from ssep.checks import require
from ssep.tables.clock import Clock
from ssep.tables.zones import to_instants, to_wall

_DAY = np.timedelta64(1, "D")
_CALL = "Series.predict(step)"


class _Pace(NamedTuple):
    """A step: so many months of the calendar, or a length of time; on the wall's clock, or in time that passes."""

    months: int = 0
    length: np.timedelta64 = np.timedelta64(0, "us")
    on_wall: bool = True


def following(clock: Clock, values: np.ndarray, count: int, step: Any = None) -> np.ndarray:
    """The times after the last: so many steps of the given length, or of the one that the times have themselves.

    Args:
        clock: How the times are counted.
        values: The times, numbers or dates.
        count: The number of steps.
        step: In units of the clock, or as a timedelta; None to find it.
    """
    distinct = np.unique(values)
    if clock.unit is None:
        known = step is None or isinstance(step, numbers.Real)
        require(known, _CALL, "must be a number, as the times are", repr(step), "Leave it out to find it.")
        length = _even_gap(distinct) if step is None else float(step)
        require(length > 0, _CALL, "must be positive", step, "Steps lead to later times.")
        return distinct[-1] + length * np.arange(1, count + 1)
    wall = to_wall(distinct, clock.zone)
    pace = _own_pace(distinct, wall) if step is None else _given_pace(clock, step)
    steps = np.arange(1, count + 1)
    if pace.months:
        return to_instants(_months_after(wall, pace.months * steps), clock.zone)
    if pace.on_wall:
        return to_instants(wall[-1] + pace.length * steps, clock.zone)
    return distinct[-1] + pace.length * steps


def _given_pace(clock: Clock, step: Any) -> _Pace:
    unit = clock.unit
    assert unit is not None
    known = isinstance(step, numbers.Real | datetime.timedelta | np.timedelta64)
    require(known, _CALL, "must be a number of units, or a timedelta", repr(step), "Leave it out to find it.")
    if isinstance(step, datetime.timedelta | np.timedelta64):
        length = np.timedelta64(step)
    elif unit.length is None:
        months = float(step) * unit.months
        remedy = "Give a timedelta, or the times themselves."
        require(months > 0 and months == round(months), _CALL, "must be whole months", f"{step} {unit.name}s", remedy)
        return _Pace(months=int(months))
    else:
        length = np.timedelta64(round(float(step) * (unit.length / np.timedelta64(1, "ns"))), "ns")
    require(length > np.timedelta64(0, "ns"), _CALL, "must be positive", step, "Steps lead to later times.")
    return _Pace(length=length, on_wall=length % _DAY == np.timedelta64(0, "ns"))


def _own_pace(instants: np.ndarray, wall: np.ndarray) -> _Pace:
    """Months of the calendar if they fit, then whole days on the wall, then any length of time."""
    _require_two(instants)
    if _is_monthly(wall):
        return _Pace(months=_common(np.diff(wall.astype("datetime64[M]").astype("int64"))))
    days = _common(np.diff(wall).astype("timedelta64[us]").astype("int64"))
    if days and days % (_DAY // np.timedelta64(1, "us")) == 0:
        return _Pace(length=np.timedelta64(days, "us"))
    gaps = np.diff(instants)
    common = _common(gaps.astype("int64"))
    require(common, _CALL, "must be given", *_UNEVEN)
    return _Pace(length=np.timedelta64(common, np.datetime_data(gaps.dtype)[0]), on_wall=False)  # pyright: ignore[reportArgumentType, reportCallIssue]


_UNEVEN = ("times that are not evenly spaced", "Give `step=`, or the times themselves with `at=`.")


def _require_two(distinct: np.ndarray) -> None:
    require(len(distinct) > 1, _CALL, "must be given", "a single time", "Give `step=`, or the times with `at=`.")


def _common(gaps: np.ndarray) -> int:
    """The smallest of the gaps if all are multiples of it, zero otherwise."""
    smallest = int(gaps.min())
    return smallest if smallest > 0 and not (gaps % smallest).any() else 0


def _even_gap(distinct: np.ndarray) -> float:
    _require_two(distinct)
    gaps = np.diff(distinct)
    multiples = np.round(gaps / gaps.min())
    even = np.allclose(gaps, multiples * gaps.min(), rtol=1e-3 / max(1.0, float(multiples.max())))
    require(even, _CALL, "must be given", *_UNEVEN)
    return float(gaps.sum() / multiples.sum())


def _is_monthly(wall: np.ndarray) -> bool:
    """Whether all dates are as far into their months, or all on the last days of them."""
    months = wall.astype("datetime64[M]")
    passed, left = wall - months.astype("datetime64[D]"), (months + 1).astype("datetime64[D]") - wall
    early = passed[0] < 28 * _DAY
    alike = (passed == passed[0]).all() if early else ((left == left[0]).all() and left[0] <= _DAY)
    return bool(alike and _common(np.diff(months.astype("int64"))))


def _months_after(wall: np.ndarray, months: np.ndarray) -> np.ndarray:
    """The last date, moved by months: as far into the month, or as near to its end."""
    last = wall[-1].astype("datetime64[M]")
    passed, left = wall[-1] - last.astype("datetime64[D]"), (last + 1).astype("datetime64[D]") - wall[-1]
    if passed < 28 * _DAY:
        return (last + months).astype("datetime64[D]") + passed
    remedy = "Give the times themselves with `at=`."
    require(left <= _DAY, _CALL, "must lead to days that every month has", f"months from {wall[-1]} on", remedy)
    return (last + months + 1).astype("datetime64[D]") - left
