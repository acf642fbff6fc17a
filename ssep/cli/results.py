"""The folder with results: what `ssep fit` writes and `ssep predict` reads."""

import datetime
import json
import pathlib
from typing import Any, NamedTuple

import numpy as np

from ssep.checks import require
from ssep.expressions import format_kernel, format_likelihood, format_rule
from ssep.likelihoods.base import Likelihood
from ssep.priors import SDEPrior
from ssep.results import RESULTS
from ssep.solution import Fit, Solution, as_solution
from ssep.storage import load, save
from ssep.tables.clock import Clock
from ssep.tables.reading import read
from ssep.tables.series import Series
from ssep.tables.units import as_unit
from ssep.tables.zones import as_zone

MODEL, TABLE, HYPERPARAMETERS = "model.ssep", "table.json", "hyperparameters.json"
_VERSION = 1


class Columns(NamedTuple):
    """The columns of a table, and how its dates are written."""

    time: str
    target: str
    exposure: str | None
    date_format: str | None


def write_model(folder: pathlib.Path, solved: Solution | Fit, series: Series, columns: Columns) -> list[pathlib.Path]:
    """Write a model, and what it takes to read further tables as the one that it was fitted to."""
    clock = series.clock
    table = {
        "version": _VERSION,
        **columns._asdict(),
        "unit": None if clock.unit is None else clock.unit.name,
        "origin": None if clock.origin is None else str(clock.origin),
        "zone": None if clock.zone is None else str(clock.zone),
    }
    save(folder / MODEL, solved)
    (folder / TABLE).write_text(json.dumps(table, indent=2) + "\n")
    return [folder / MODEL, folder / TABLE]


def read_model(path: str) -> tuple[Solution, Series, Columns]:
    """What `write_model` wrote, with the series that the model was fitted to."""
    folder = pathlib.Path(path)
    folder = folder.parent if folder.name == MODEL else folder
    remedy = "Name the folder that `ssep fit --out` wrote."
    require((folder / MODEL).is_file(), "ssep predict", f"needs a folder with {MODEL}", repr(path), remedy)
    try:
        table = json.loads((folder / TABLE).read_text())
        version = table.pop("version")
    except (FileNotFoundError, KeyError, TypeError, ValueError) as error:
        got = f"a file {TABLE} that is missing or damaged ({type(error).__name__}: {error})"
        raise ValueError(f"`ssep predict` needs a folder that `ssep fit` wrote; got {got}. Fit again.") from error
    require(version == _VERSION, "ssep predict", f"reads folders of version {_VERSION}", version, "Fit again.")
    unit, origin, zone = (table.pop(name) for name in ("unit", "origin", "zone"))
    columns, solution = Columns(**table), as_solution("ssep predict", load(folder / MODEL))
    return solution, _series(solution, columns, unit, origin, as_zone(zone)), columns


def _series(
    solution: Solution, columns: Columns, unit: str | None, origin: str | None, zone: datetime.tzinfo | None
) -> Series:
    """The table that a model was fitted to, from the model itself."""
    import pandas as pd

    data, start = solution.data, None if origin is None else np.datetime64(origin)
    clock = Clock(None if unit is None else as_unit("ssep predict", unit), start, zone)
    times = pd.Series(clock.dates(data.t))
    if zone is not None and start is not None:
        times = times.dt.tz_localize("UTC").dt.tz_convert(zone)
        start = start.astype("datetime64[us]").item().replace(tzinfo=datetime.UTC)
    frame = pd.DataFrame({columns.time: times, columns.target: np.where(data.mask, data.y, np.nan)})
    if columns.exposure is not None:
        frame[columns.exposure] = np.asarray(data.aux)
    return read(frame, columns.target, time=columns.time, unit=unit, origin=start, aux=columns.exposure)


def summary(solved: Solution | Fit, prior: SDEPrior, likelihood: Likelihood) -> dict[str, Any]:
    """A model in words and numbers: what was found, and where learning started."""
    solution = as_solution("ssep fit", solved)
    return {
        **_expressions(solution.prior, solution.likelihood),
        "rule": format_rule(solution.rule),
        "energy": float(solution.energy),
        "converged": bool(solution.result == RESULTS.converged),
        "optimiser_steps": len(solved.energies) if isinstance(solved, Fit) else 0,
        "start": _expressions(prior, likelihood),
    }


def _expressions(prior: Any, likelihood: Likelihood) -> dict[str, Any]:
    return {
        "kernel": [format_kernel(kernel) for kernel in prior.kernels],
        "mean": [float(mean) for mean in prior.means],
        "likelihood": format_likelihood(likelihood),
    }
