"""Tables of polars."""

import zoneinfo
from typing import Any

import numpy as np

from ssep.checks import require
from ssep.tables.base import Table, as_numbers, as_stamps, beside, refuse_type, require_column, with_dtype
from ssep.tables.clock import Stamps


class PolarsTable(Table):
    """A `DataFrame` with its times in a column."""

    def __init__(self, frame: Any, time: Any):
        remedy = "polars has no index: name the column with the times."
        require(time is not None, "tables.read(time)", "must be given", "None", remedy)
        self.frame, self.time = frame, time
        require_column("tables.read(time)", time, self.names)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.columns)

    def stamps(self) -> Stamps:
        """The times of the rows."""
        return self.stamps_of(self.frame[self.time])

    def numbers(self, name: Any) -> np.ndarray:
        """A column in double precision; NaN where it has nothing."""
        import polars as pl

        require_column(f"table[{name!r}]", name, self.names)
        column = self.frame[name]
        if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            refuse_type(name, column.dtype)
        return as_numbers(name, column.cast(pl.Float64).to_numpy())

    def like(self, frame: Any) -> "PolarsTable | None":
        """Another frame, with its times in the same column."""
        import polars as pl

        return PolarsTable(frame, self.time) if isinstance(frame, pl.DataFrame) else None

    def stamps_of(self, times: Any) -> Stamps:
        """Times in any form that polars makes a series of."""
        import polars as pl

        series = times if isinstance(times, pl.Series) else pl.Series("times", times)
        zone = getattr(series.dtype, "time_zone", None)
        if zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        call = f"tables.read(time={self.time!r})"
        parse = 'dates by `pl.col("date").str.to_datetime()`'
        return as_stamps(call, series.to_numpy(), zone if zone is None else zoneinfo.ZoneInfo(zone), parse)

    def own_frame(self, columns: dict[str, np.ndarray]) -> Any:
        """The same times."""
        import polars as pl

        return pl.DataFrame(beside({self.time: self.frame[self.time]}, columns))

    def new_frame(self, stamps: Stamps, columns: dict[str, np.ndarray]) -> Any:
        """Times of the same type, in a column with the same name."""
        import polars as pl

        dtype, values = self.frame[self.time].dtype, stamps.values
        if stamps.are_dates:
            # polars has no coarser dates than of milliseconds, but for whole days.
            coarse = np.datetime_data(values.dtype)[0] in ("D", "h", "m", "s")
            days = pl.Series(with_dtype(values, np.dtype("M8[D]")))
            series = pl.Series(values.astype("M8[us]") if coarse else values)
            if dtype == pl.Date:
                series = days if days.dtype == pl.Date else series
            else:
                kept = with_dtype(series.to_numpy(), np.dtype(f"M8[{dtype.time_unit}]"))  # pyright: ignore[reportAttributeAccessIssue]
                series = pl.Series(kept)
            if stamps.zone is not None:
                series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(str(stamps.zone))
        else:
            series = pl.Series(values)
            whole = dtype.is_integer() and bool((values == np.round(values)).all())
            series = series.cast(dtype) if whole or dtype.is_float() else series
        return pl.DataFrame(beside({self.time: series}, columns))

    def declared_following(self, count: int) -> Stamps | None:
        """A frame does not know how often times come."""
        return None
