"""Time zones: what the clock on the wall shows, and the instants that it means."""

import datetime
import zoneinfo
from typing import Any

import numpy as np


def as_zone(zone: Any) -> datetime.tzinfo | None:
    """A time zone of the standard library, from its name or from another library's object."""
    if zone is None or isinstance(zone, zoneinfo.ZoneInfo | datetime.timezone):
        return zone
    try:
        return zoneinfo.ZoneInfo(str(zone))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        if isinstance(zone, datetime.tzinfo):  # a fixed offset, which has no name
            return zone
        raise ValueError(
            f"`tables.read` must know the time zone; got {zone!r}. Give a name such as 'Europe/Berlin'."
        ) from error


def to_wall(instants: np.ndarray, zone: datetime.tzinfo | None) -> np.ndarray:
    """What a clock on the wall shows, to the microsecond, at instants in UTC."""
    if zone is None:
        return instants
    return np.array([time.replace(tzinfo=None) for time in located(instants, zone)], "datetime64[us]")


def located(instants: np.ndarray, zone: datetime.tzinfo) -> list[datetime.datetime]:
    """Instants in UTC as dates that know their time zone, to the microsecond."""
    utc = [instant.replace(tzinfo=datetime.UTC) for instant in instants.astype("datetime64[us]").tolist()]
    return [instant.astimezone(zone) for instant in utc]


def to_instants(wall: np.ndarray, zone: datetime.tzinfo | None) -> np.ndarray:
    """The instants in UTC at which a clock on the wall shows these times, the first if there are two.

    A time that the clock skips is taken with the offset from before the jump.
    """
    if zone is None:
        return wall
    local = [time.replace(tzinfo=zone) for time in wall.astype("datetime64[us]").tolist()]
    return np.array([time.astimezone(datetime.UTC).replace(tzinfo=None) for time in local], "datetime64[us]")
