"""What `ssep fit` says about data and models."""

import re
from typing import Any

import numpy as np

from ssep.expressions import format_kernel, format_likelihood
from ssep.likelihoods.base import Likelihood
from ssep.tables.series import Series
from ssep.tables.zones import to_wall


def describe_data(path: str, series: Series) -> str:
    """One line: how many rows there are, from when to when, and how time is counted."""
    data, clock = series.data, series.clock
    seen, count = int(data.mask.sum()), len(data.t)
    first, last = float(data.t[0]), float(data.t[-1])
    if clock.unit is None:
        times = f"from {first:.10g} to {last:.10g}"
    else:
        zone = "" if clock.zone is None else f" ({clock.zone})"
        begin, end, zero = (_short(date) for date in to_wall(clock.dates([first, last, 0.0]), clock.zone))
        times = f"from {begin} to {end}{zone}; time in {clock.unit.name}s since {zero}"
    return f"{path}: {count} rows, {seen} observed, {count - seen} missing, {times}"


def describe_model(prior: Any, likelihood: Likelihood) -> str:
    """A few lines, with numbers to five digits."""
    lines = [f"  likelihood  {format_likelihood(likelihood)}"]
    for kernel, mean in zip(prior.kernels, prior.means, strict=True):
        lines += [f"  kernel      {format_kernel(kernel)}", f"  mean        {float(mean)}"]
    return re.sub(r"\d+\.\d{4,}(?:e[+-]?\d+)?", lambda number: f"{float(number[0]):.5g}", "\n".join(lines))


def _short(date: np.datetime64) -> str:
    """A date, without a time of day if that is midnight."""
    return str(date.astype("datetime64[us]")).removesuffix(".000000").removesuffix("T00:00:00")
