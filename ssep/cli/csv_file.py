"""Read a CSV file; what is wrong in it is named with its line."""

import datetime
import sys
from typing import Any

import numpy as np

from ssep.checks import require
from ssep.tables.base import require_column
from ssep.tables.zones import as_zone


def read_csv(path: str, time: str, date_format: str | None, zone: str | None) -> Any:
    """A `DataFrame` whose index counts the lines of the file, with dates (or numbers) as its times.

    Args:
        path: The file; `-` for standard input.
        time: The column with the times.
        date_format: How dates are written, if not as ISO 8601.
        zone: The time zone of dates without an offset, and of the result.
    """
    pd = _pandas()
    # Blank lines are kept at first, so that lines can be counted.
    text = {time: str} if date_format is not None else None
    frame = pd.read_csv(sys.stdin if path == "-" else path, skip_blank_lines=False, dtype=text)
    frame.index = frame.index + 2  # the first line has the names
    frame = frame.dropna(how="all")
    require_column("--time", time, list(frame.columns))
    require(len(frame) > 0, path, "must have rows below the names of its columns", "none", "Check the file.")
    require_known("--time", frame[time], frame[time].isna(), "a time")
    if not pd.api.types.is_numeric_dtype(frame[time]):
        frame[time] = _dates(frame[time], date_format, zone)
    else:
        remedy = "For dates that are written as numbers, give --date-format."
        require(zone is None, "--time-zone", "is for dates", f"numbers in column {time!r}", remedy)
    return frame


def numbers(call: str, frame: Any, name: str) -> Any:
    """A column of numbers, in which some may be missing."""
    pd = _pandas()
    require_column(call, name, list(frame.columns))
    found = pd.to_numeric(frame[name], errors="coerce")
    require_known(call, frame[name], found.isna() & frame[name].notna(), "a number, or nothing,")
    require_known(call, frame[name], np.isinf(found), "a finite number")
    return found.astype(float)


def require_known(call: str, column: Any, wrong: Any, what: str) -> None:
    """Raise, with the line of the file, if something is wrong in a column."""
    line = wrong.idxmax()
    got = "nothing" if _pandas().isna(column[line]) else repr(column[line])
    requirement, remedy = f"must have {what} in every line", "Correct that line, or remove it."
    require(not wrong.any(), f"{call} {column.name}", requirement, f"{got} in line {line}", remedy)


def _dates(column: Any, date_format: str | None, zone: str | None) -> Any:
    pd = _pandas()
    written = column.astype(str).str.strip()
    # A time of day, and behind it a difference from UTC.
    offset = written.str.contains(r"\d[T ]\d.*(?:Z|[+-]\d{2}(?::?\d{2})?)$", regex=True)
    if date_format is not None:
        offset[:] = "%z" in date_format
    with_offset = bool(offset.iloc[0])
    same = "a difference from UTC" if with_offset else "no difference from UTC"
    require_known("--time", column, offset != with_offset, f"{same}, as in the first line,")
    dates = pd.to_datetime(written, format=date_format or "ISO8601", errors="coerce", utc=with_offset)
    known = "a date such as 2024-01-31 or 2024-01-31T12:00" if date_format is None else f"a date as {date_format!r}"
    require_known("--time", column, dates.isna(), f"{known} (see --date-format)")
    if zone is None:
        return dates
    wanted = as_zone(zone)
    return dates.dt.tz_convert(wanted) if with_offset else _localised(column, dates, wanted)


def _localised(column: Any, dates: Any, zone: datetime.tzinfo | None) -> Any:
    """Dates in a time zone; raise where its clocks skip or repeat that time."""
    located = dates.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")
    require_known("--time", column, located.isna(), "a time that the clocks of the time zone show exactly once")
    return located


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError('the command line needs pandas: pip install "ssep[cli]"') from error
    return pandas
