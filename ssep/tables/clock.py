"""A clock: dates to numbers, and numbers to dates."""

import dataclasses
import datetime
from typing import Any, NamedTuple

import numpy as np

from ssep.checks import require
from ssep.tables.units import Unit, as_unit
from ssep.tables.zones import as_zone, to_instants


class Stamps(NamedTuple):
    """Times as a library gave them: numbers, or dates (in UTC if they have a time zone)."""

    values: np.ndarray
    zone: datetime.tzinfo | None = None

    @property
    def are_dates(self) -> bool:
        """Whether they are dates."""
        return self.values.dtype.kind == "M"


@dataclasses.dataclass(frozen=True)
class Clock:
    """How times are counted.

    Attributes:
        unit: What one unit is; None if times are numbers already.
        origin: The date that is zero, in UTC if there is a time zone.
        zone: The time zone of the dates; their numbers count the time that passes, whatever the clock on the wall does.
    """

    unit: Unit | None
    origin: np.datetime64 | None
    zone: datetime.tzinfo | None

    def numbers(self, stamps: Stamps) -> np.ndarray:
        """Times as numbers, in double precision."""
        self._check(stamps)
        if self.unit is None:
            return stamps.values.astype(float)
        if self.unit.length is not None:
            return (stamps.values - self.origin) / self.unit.length
        whole, part = _months(stamps.values)
        origin_whole, origin_part = _months(np.array([self.origin]))
        return ((whole - origin_whole) + (part - origin_part)) / self.unit.months

    def dates(self, numbers: Any) -> np.ndarray:
        """Numbers as dates (in UTC if there is a time zone), as finely as double precision tells them apart."""
        values = np.asarray(numbers, float)
        if self.unit is None:
            return values
        assert self.origin is not None
        origin = np.array([self.origin])
        kind = "ns" if np.datetime_data(origin.dtype)[0] == "ns" else "us"
        tick = np.timedelta64(1, kind)
        if self.unit.length is not None:
            longest = self.unit.length
            start, offset = origin, values * (longest / tick)
        else:
            whole, part = _months(origin)
            months = values * self.unit.months + part
            start = (np.floor(months).astype(int) + whole).astype("datetime64[M]")
            longest = self.unit.months * np.timedelta64(31, "D")
            offset = (months - np.floor(months)) * (_length_of(start) / tick)
        ticks = start.astype(f"datetime64[{kind}]").astype("int64") + np.round(offset).astype("int64")
        # To the finest power of ten that double precision resolves, so that round dates come back as such.
        spacing = float(np.spacing(np.max(np.abs(values), initial=0)) * (longest / tick))
        coarse = 10 ** max(0, int(np.ceil(np.log10(4 * spacing))))
        return ((ticks + coarse // 2) // coarse * coarse).astype(f"datetime64[{kind}]")

    def _check(self, stamps: Stamps) -> None:
        kinds = {True: "dates", False: "numbers"}
        require(
            stamps.are_dates == (self.unit is not None),
            "Clock.numbers(times)",
            f"must be {kinds[self.unit is not None]}, as the times of the data are",
            kinds[stamps.are_dates],
            "Give times of the same kind.",
        )
        require(
            (stamps.zone is None) == (self.zone is None),
            "Clock.numbers(times)",
            "must have a time zone if the times of the data have one, and none otherwise",
            f"the zone {stamps.zone} where the data have {self.zone}",
            "Convert one of them first.",
        )


def clock_of(stamps: Stamps, unit: Any, origin: Any) -> Clock:
    """A clock for the times of some data; it begins with the earliest of them unless an origin is given."""
    if not stamps.are_dates:
        require(
            unit is None and origin is None,
            "tables.read(unit, origin)",
            "are for dates",
            f"unit {unit!r} and origin {origin!r} for times that are numbers",
            "Leave them out, or convert the times to dates.",
        )
        return Clock(None, None, None)
    named = as_unit("tables.read(unit)", unit)
    require(
        stamps.zone is None or named.length is not None,
        "tables.read(unit)",
        "must have a fixed length for dates with a time zone",
        f"{named.name!r}, whose length depends on the clock on the wall",
        "Use 'day' or shorter, or drop the time zone first.",
    )
    return Clock(named, stamps.values.min() if origin is None else _as_origin(origin, stamps), as_zone(stamps.zone))


def _as_origin(origin: Any, stamps: Stamps) -> np.datetime64:
    """The origin in UTC; without an offset of its own it is in the time zone of the dates."""
    try:
        given = origin if isinstance(origin, np.datetime64 | datetime.date) else datetime.datetime.fromisoformat(origin)
        zone = getattr(given, "tzinfo", None)
        if zone is not None:
            given = given.astimezone(datetime.UTC).replace(tzinfo=None)  # pyright: ignore[reportAttributeAccessIssue]
        date = np.datetime64(given)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`tables.read(origin)` must be a date; got {origin!r}. For example origin='2000-01-01'."
        ) from error
    require(
        zone is None or stamps.zone is not None,
        "tables.read(origin)",
        "must not have a time zone where the dates have none",
        origin,
        "Leave the zone out.",
    )
    require(not np.isnat(date), "tables.read(origin)", "must be a date", origin, "For example origin='2000-01-01'.")
    return date if zone is not None else to_instants(np.array([date]), as_zone(stamps.zone))[0]


def _months(dates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole months since 1970, and the part of a date's own month that has passed."""
    first = dates.astype("datetime64[M]")
    return first.astype("int64"), (dates - first.astype("datetime64[D]")) / _length_of(first)


def _length_of(months: np.ndarray) -> np.ndarray:
    return (months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")
