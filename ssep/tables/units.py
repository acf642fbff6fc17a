"""Units of time: of a fixed length, or of months in the calendar."""

import dataclasses
import datetime
import difflib
from typing import Any

import numpy as np

from ssep.checks import require

_LENGTHS = {
    "nanosecond": np.timedelta64(1, "ns"),
    "microsecond": np.timedelta64(1, "us"),
    "millisecond": np.timedelta64(1, "ms"),
    "second": np.timedelta64(1, "s"),
    "minute": np.timedelta64(1, "m"),
    "hour": np.timedelta64(1, "h"),
    "day": np.timedelta64(1, "D"),
    "week": np.timedelta64(7, "D"),
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*_LENGTHS, *_MONTHS)


@dataclasses.dataclass(frozen=True)
class Unit:
    """How long one unit of time is.

    Months, quarters and years are those of the calendar: a date counts the months before its own, and the part of its
    own month that has passed. Monthly data are then evenly spaced.

    Attributes:
        name: What it is called.
        length: Its length, if that is fixed.
        months: Its length in months of the calendar, if it is not.
    """

    name: str
    length: np.timedelta64 | None
    months: int = 0


def as_unit(call: str, unit: Any) -> Unit:
    """A unit from its name, or from a length of time."""
    if isinstance(unit, datetime.timedelta | np.timedelta64):
        length = np.timedelta64(unit)
        require(length > np.timedelta64(0, "ns"), call, "must be a positive length of time", unit, "See its sign.")
        return Unit(str(unit), length)
    close = difflib.get_close_matches(str(unit).lower().removesuffix("s"), UNITS, n=1, cutoff=0.5)
    require(
        unit in UNITS,
        call,
        "must say what one unit of time is, because the times are dates",
        repr(unit),
        (f"Do you mean {close[0]!r}? " if close else "") + f"Give one of {', '.join(UNITS)}, or a timedelta.",
    )
    return Unit(unit, _LENGTHS.get(unit), _MONTHS.get(unit, 0))
