"""The horizontal axis: times to draw at, as numbers or as dates."""

from typing import Any

import numpy as np

from ssep.checks import require
from ssep.plotting.dates import Times

# Enough for a smooth curve on a page; the data's own times, if not too many, show kinks where they are.
_EVEN = 400
_OWN = 2000


def grid_over(own: np.ndarray) -> np.ndarray:
    """Even times from the first of the data to the last, and the data's own unless they are thousands."""
    even = np.linspace(own[0], own[-1], _EVEN, dtype=own.dtype)
    return np.union1d(even, own) if len(own) <= _OWN else even


class Horizon:
    """Where times go on the horizontal axis."""

    def __init__(self, call: str, times: Times | None):
        known = times is None or callable(times)
        remedy = 'For days since a date, `times=plotting.since("1969-01-31", np.timedelta64(1, "D"))`.'
        require(
            known, f"plotting.{call}(times)", "takes a function from numbers to dates", type(times).__name__, remedy
        )
        self.call, self.times = call, times

    def __call__(self, t: Any) -> np.ndarray:
        """Times as they are drawn."""
        numbers = np.asarray(t)
        if self.times is None:
            return numbers
        dates = np.asarray(self.times(numbers))
        require(
            dates.shape == numbers.shape,
            f"plotting.{self.call}(times)",
            f"must return a date for each of {numbers.size} times",
            f"shape {dates.shape}",
            "Let it work on arrays.",
        )
        return dates

    def label(self, ax: Any) -> None:
        """Name the axis; dates speak for themselves, and briefly, so that they do not run into each other."""
        from matplotlib.dates import AutoDateFormatter, ConciseDateFormatter

        axis = ax.xaxis
        if self.times is None:
            ax.set_xlabel("t")
        elif isinstance(axis.get_major_formatter(), AutoDateFormatter):  # not the caller's own
            locator = axis.get_major_locator()
            axis.set_major_formatter(ConciseDateFormatter(locator, tz=locator.tz))
