"""From the arguments of a command to data, likelihoods and rules."""

import argparse
import dataclasses
import re
from typing import Any

import jax
import jax.numpy as jnp

from ssep.checks import require
from ssep.cli.csv_file import numbers, read_csv, require_known
from ssep.cli.results import Columns
from ssep.expressions import parse_rule
from ssep.expressions.vocabulary import arguments_of
from ssep.likelihoods.base import Likelihood
from ssep.rules.base import Rule
from ssep.tables.reading import read
from ssep.tables.series import Series


def read_frame(path: str, columns: Columns, zone: str | None, exposure: float | None, has_target: bool = True) -> Any:
    """The columns of a file that a model needs: its times, observations and exposures.

    Args:
        path: The file.
        columns: The names of the columns.
        zone: The time zone of the dates.
        exposure: What the exposure is where the file has none, and nothing was observed.
        has_target: Whether there are observations.
    """
    names = [name for name in columns[:3] if name is not None]
    apart = len(set(names)) == len(names)
    require(apart, "--time, --target, --exposure", "must name different columns", names, "Name each column once.")
    for name in names:
        taken = re.fullmatch(r"mean|sd|q[\d.e-]+|f\d*_(mean|sd)", name) is not None
        remedy = "Rename it in the file."
        require(not taken, f"column {name}", "must not be called as one of the predictions", name, remedy)
    frame = read_csv(path, columns.time, columns.date_format, zone)
    kept = frame[[columns.time]].copy()
    if has_target:
        kept[columns.target] = numbers("--target", frame, columns.target)
    if columns.exposure is not None:
        if has_target or exposure is None or columns.exposure in frame:
            kept[columns.exposure] = numbers("--exposure", frame, columns.exposure)
        else:
            kept[columns.exposure] = float("nan")
        if has_target:
            lacking = kept[columns.exposure].isna() & kept[columns.target].notna()
            require_known("--exposure", kept[columns.exposure], lacking, "the exposure of what was observed")
        if exposure is not None:
            kept[columns.exposure] = kept[columns.exposure].fillna(exposure)
        lacking = kept[columns.exposure].isna()
        require_known("--exposure", kept[columns.exposure], lacking, "an exposure (or give --future-exposure)")
    return kept


def read_series(frame: Any, columns: Columns, unit: str | None, likelihood: Likelihood) -> Series:
    """The data of a frame, all of them possible under a likelihood; dates count days unless another unit is given."""
    dates = not hasattr(frame[columns.time].dtype, "itemsize") or frame[columns.time].dtype.kind == "M"
    remedy = "Leave it out, or give --date-format if the numbers are dates."
    require(dates or unit is None, "--unit", "is for dates", f"numbers in column {columns.time!r}", remedy)
    chosen = (unit or "day") if dates else None
    series = read(frame, columns.target, time=columns.time, unit=chosen, aux=columns.exposure)
    remedy = "Leave it out, or choose a likelihood with an exposure or trials."
    fine = columns.exposure is None or _takes_extras(likelihood)
    require(fine, "--exposure", "is for likelihoods that use it", type(likelihood).__name__, remedy)
    try:
        series.check_support(likelihood)
    except ValueError as error:
        line = re.sub(r" in row (\d+)", lambda row: f" in line {frame.index[int(row[1])]}", str(error))
        raise ValueError(line) from error
    return series


def _takes_extras(likelihood: Likelihood) -> bool:
    """Whether what a likelihood says depends on the extras of an observation."""
    latents = jnp.zeros(likelihood.num_latents or 2)
    program = jax.make_jaxpr(lambda extra: likelihood.log_prob(jnp.ones(()), latents, extra))(1.0)
    (extra,) = program.jaxpr.invars
    return any(used is extra for step in program.jaxpr.eqns for used in step.invars)


def read_rule(text: str, alpha: float | None) -> Rule:
    """A rule from its expression and its power."""
    rule: Any = parse_rule(text)
    if alpha is None:
        return rule
    remedy = "Leave --alpha out, or use another rule."
    has_power = "alpha" in arguments_of(type(rule))
    require(has_power, "--alpha", "is for rules with a power", f"the rule {text}", remedy)
    once = "alpha" not in text
    require(once, "--alpha", "must be given once", f"{alpha} and {text}", "Write it in one place.")
    return dataclasses.replace(rule, alpha=alpha)


def future_exposure(columns: Columns, arguments: argparse.Namespace) -> dict[str, float] | None:
    """The exposures of a forecast, which need not be those of the data."""
    if columns.exposure is None:
        got, remedy = arguments.future_exposure, "Name its column with --exposure."
        require(got is None, "--future-exposure", "is for data with an exposure", got, remedy)
        return None
    if arguments.future_exposure is None:
        remedy = "Give --future-exposure, for example 1."
        require(not arguments.horizon, "--horizon", "needs the exposure of the forecast", "none", remedy)
        return None
    return {columns.exposure: arguments.future_exposure}
