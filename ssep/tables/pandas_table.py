"""Tables of pandas."""

from typing import Any

import numpy as np

from ssep.checks import require
from ssep.tables.base import Table, as_numbers, as_stamps, beside, refuse_type, require_column, with_dtype
from ssep.tables.clock import Stamps


class PandasTable(Table):
    """A `DataFrame`, with its times in a column or in its index (time None)."""

    def __init__(self, frame: Any, time: Any):
        self.frame, self.time = frame, time
        if time is not None:
            require_column("tables.read(time)", time, self.names)

    @property
    def names(self) -> list[Any]:
        """The names of the columns."""
        return list(self.frame.columns)

    def stamps(self) -> Stamps:
        """The times of the rows."""
        return self.stamps_of(self._times)

    def numbers(self, name: Any) -> np.ndarray:
        """A column in double precision; NaN where it has nothing."""
        from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

        require_column(f"table[{name!r}]", name, self.names)
        column = self.frame[name]
        remedy = "Rename one of them."
        require(column.ndim == 1, "tables.read(frame)", "must have distinct columns", f"two {name!r}", remedy)
        if is_complex_dtype(column) or not (is_numeric_dtype(column) or is_bool_dtype(column)):
            refuse_type(name, column.dtype)
        return as_numbers(name, column.to_numpy(dtype=float, na_value=np.nan))

    def like(self, frame: Any) -> "PandasTable | None":
        """Another frame, with its times in the same place."""
        import pandas as pd

        return PandasTable(frame, self.time) if isinstance(frame, pd.DataFrame) else None

    def stamps_of(self, times: Any) -> Stamps:
        """Times in any form that pandas makes an index of; a period counts from its start."""
        import pandas as pd

        index = pd.Index(times)
        if isinstance(index, pd.PeriodIndex):
            index = index.to_timestamp(how="start")
        zone = getattr(index, "tz", None)
        if zone is not None:
            index = index.tz_convert("UTC").tz_localize(None)  # pyright: ignore[reportAttributeAccessIssue]
        nullable = pd.api.types.is_numeric_dtype(index.dtype)
        values = index.to_numpy(dtype=float, na_value=np.nan) if nullable else index.to_numpy()
        call = "tables.read(time)" if self.time is None else f"tables.read(time={self.time!r})"
        return as_stamps(call, values, zone, "dates by `pd.to_datetime(...)`")

    def own_frame(self, columns: dict[str, np.ndarray]) -> Any:
        """The same index; and the same times, if they were a column."""
        import pandas as pd

        times = {} if self.time is None else {self.time: self.frame[self.time]}
        return pd.DataFrame(beside(times, columns), index=self.frame.index)

    def new_frame(self, stamps: Stamps, columns: dict[str, np.ndarray]) -> Any:
        """Times of the same type, with the same name, as an index or as the first column."""
        import pandas as pd

        index = self._index(stamps)
        if self.time is None:
            return pd.DataFrame(columns, index=index)
        return pd.DataFrame(beside({self.time: index}, columns))

    def declared_following(self, count: int) -> Stamps | None:
        """The times after the last, if the index has a frequency."""
        import pandas as pd

        times = pd.Index(self._times)
        if isinstance(times, pd.PeriodIndex):
            return self.stamps_of(pd.period_range(times.max(), periods=count + 1, freq=times.freq)[1:])
        frequency = getattr(times, "freq", None)
        if frequency is None or self.time is not None or frequency.n < 0:
            return None
        return self.stamps_of(pd.date_range(times.max(), periods=count + 1, freq=frequency)[1:])

    @property
    def _times(self) -> Any:
        return self.frame.index if self.time is None else self.frame[self.time]

    def _index(self, stamps: Stamps) -> Any:
        import pandas as pd

        old = pd.Index(self._times)
        if isinstance(old, pd.PeriodIndex):
            return pd.DatetimeIndex(stamps.values).to_period(old.freq).rename(old.name)
        if not isinstance(old, pd.DatetimeIndex):
            return pd.Index(with_dtype(stamps.values, old.dtype), name=old.name)
        index = pd.DatetimeIndex(with_dtype(stamps.values, np.dtype(f"M8[{old.unit}]")), name=old.name)
        return index if old.tz is None else index.tz_localize("UTC").tz_convert(old.tz)
