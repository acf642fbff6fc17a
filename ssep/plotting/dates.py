"""From a model's times, which are numbers, to dates."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ssep.checks import require

Times = Callable[[np.ndarray], Any]
"""From the model's times to dates."""


def since(origin: Any, unit: np.timedelta64) -> Times:
    """Times that count units since a date, as dates: to the microsecond.

    Args:
        origin: The date at which the times are zero: a `np.datetime64`, a `datetime`, or text such as "1969-01-31".
        unit: What one unit of time is, for example `np.timedelta64(1, "D")`.
    """
    definite = isinstance(unit, np.timedelta64) and np.datetime_data(unit)[0] not in ("generic", "Y", "M")
    remedy = 'For example `np.timedelta64(1, "D")`; for years that have fractions, `plotting.decimal_years`.'
    require(definite, "plotting.since(unit)", "must be a time of fixed length", repr(unit), remedy)
    start = np.datetime64(origin, "us")
    microseconds = unit / np.timedelta64(1, "us")
    return lambda t: start + np.round(np.asarray(t, float) * microseconds).astype("timedelta64[us]")


def decimal_years(t: np.ndarray) -> np.ndarray:
    """Years with fractions as dates: 1969.5 is the middle of 1969, whether that has 365 days or 366."""
    year = np.floor(np.asarray(t, float)).astype(int)
    start = (year - 1970).astype("datetime64[Y]")
    length = ((start + 1).astype("datetime64[us]") - start.astype("datetime64[us]")).astype(float)
    return start.astype("datetime64[us]") + np.round((t - year) * length).astype("timedelta64[us]")
