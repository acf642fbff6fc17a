"""Read a CSV file; what is wrong in it is named with its line."""

import datetime
import io
import pathlib
import re
import sys
import warnings
from typing import Any

import numpy as np

from ssep.checks import require
from ssep.tables.base import require_column
from ssep.tables.zones import as_zone

_SEPARATORS = ",;\t"


def read_csv(path: str, time: str, date_format: str | None, zone: str | None) -> Any:
    """A `DataFrame` whose index counts the lines of the file, with dates (or numbers) as its times.

    Args:
        path: The file; `-` for standard input.
        time: The column with the times.
        date_format: How dates are written, if not as ISO 8601.
        zone: The time zone of dates without an offset, and of the result.
    """
    pd = _pandas()
    frame = _fields(path, {time: str} if date_format is not None else None)
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
        require_known("--time", frame[time], np.isinf(frame[time]), "a finite time")
        _warn_of_dates(frame[time])
    return frame


def numbers(call: str, frame: Any, name: str) -> Any:
    """A column of numbers, in which some may be missing."""
    pd = _pandas()
    require_column(call, name, list(frame.columns))
    found = pd.to_numeric(frame[name], errors="coerce")
    remedy = "Write numbers as 1234.5, and nothing beside them."
    require_known(call, frame[name], found.isna() & frame[name].notna(), "a number, or nothing,", remedy)
    require_known(call, frame[name], np.isinf(found), "a finite number")
    return found.astype(float)


def require_known(
    call: str, column: Any, wrong: Any, what: str, remedy: str = "Correct that line, or remove it."
) -> None:
    """Raise, with the line of the file, if something is wrong in a column."""
    line = wrong.idxmax()
    value = column[line]
    got = "nothing" if _pandas().isna(value) else repr(value) if isinstance(value, str) else value
    require(
        not wrong.any(), f"{call} {column.name}", f"must have {what} in every line", f"{got} in line {line}", remedy
    )


def _fields(path: str, dtype: dict[str, type] | None) -> Any:
    """What the lines of a file hold, separated by commas, semicolons or tabs as its first line is."""
    pd = _pandas()
    try:
        text = sys.stdin.read() if path == "-" else pathlib.Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"`{path}` must be text in UTF-8; got {error}. Save it as CSV in that encoding.") from error
    require(text.strip(), path, "must have a line with the names of its columns", "an empty file", "Check the file.")
    unquoted = re.sub('"[^"]*"', "", text.splitlines()[0])
    separator = max(_SEPARATORS, key=unquoted.count)
    # Blank lines are kept at first, so that lines can be counted.
    layout = {"sep": separator, "skipinitialspace": True, "skip_blank_lines": False, "index_col": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(io.StringIO(text), dtype=dtype, **layout)
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            requirement, remedy = "must have as many fields in every line as it has columns", "Correct it."
            raise ValueError(f"`{path}` {requirement}; got another number: {str(error).strip()}. {remedy}") from error


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


def _warn_of_dates(column: Any) -> None:
    """Warn of numbers such as 20240131, whose differences are no lengths of time."""
    written = column[column.between(1900_01_01, 2100_12_31)].map("{:.0f}".format)
    dates = _pandas().to_datetime(written, format="%Y%m%d", errors="coerce")
    if len(dates) == len(column) and dates.notna().all():
        what = f"`--time {column.name}` has numbers such as {written.iloc[0]}, and takes them as numbers"
        warnings.warn(f"{what}. If they are dates, give --date-format %Y%m%d.", stacklevel=2)


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
