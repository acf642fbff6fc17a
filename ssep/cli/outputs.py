"""Tables of predictions, and the files that they are written to."""

import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ssep.checks import require
from ssep.cli.results import Columns
from ssep.sampling import sample
from ssep.solution import Solution
from ssep.tables.series import Series


class Questions(NamedTuple):
    """What is to be predicted."""

    horizon: int
    every: float | None
    quantiles: Sequence[float]
    exposure: dict[str, float] | None
    """Exposures of the forecast, by the name of the column."""


def predict_rows(solution: Solution, series: Series, frame: Any, columns: Columns, questions: Questions) -> Any:
    """The columns of a frame, with predictions beside them."""
    found = series.predict(solution, frame, quantiles=questions.quantiles, moments=_has_moments(solution))
    return frame.join(found.drop(columns=columns.time))


def predict_ahead(solution: Solution, series: Series, questions: Questions) -> Any:
    """A frame with predictions of what follows."""
    found = series.predict(
        solution,
        horizon=questions.horizon,
        step=questions.every,
        aux=questions.exposure,
        quantiles=questions.quantiles,
        moments=_has_moments(solution),
    )
    for name, value in (questions.exposure or {}).items():
        found.insert(1, name, value)
    return found


def together(table: Any, ahead: Any) -> Any:
    """One frame from the rows of the data and those of a forecast, if there is one."""
    import pandas as pd

    return table if ahead is None else pd.concat([table, ahead], ignore_index=True)


def _has_moments(solution: Solution) -> bool:
    """Whether observations have a mean; labels have none."""
    try:
        solution.likelihood.check_predictive_moments("ssep fit")
    except ValueError:
        return False
    return True


def draw_paths(solution: Solution, series: Series, frame: Any, columns: Columns, count: int, seed: int) -> Any:
    """A frame with joint paths of observations, at the times of another."""
    import pandas as pd

    rows = series.layout.rows_of(frame)
    assert rows is not None
    aux = None if columns.exposure is None else rows.column(columns.exposure)
    drawn = sample(jax.random.key(seed), solution, series.clock.numbers(rows.stamps), count, aux=aux).y
    remedy = "Leave --paths out."
    require(drawn is not None, "--paths", "needs a likelihood that draws", type(solution.likelihood).__name__, remedy)
    named = {f"path_{index + 1}": path for index, path in enumerate(np.asarray(drawn))}
    return pd.DataFrame({columns.time: frame[columns.time].array, **named})


def write_csv(frame: Any, path: str | os.PathLike[str] | None, columns: Columns) -> None:
    """Write a frame with all digits of its numbers, and dates as they were read; to standard output without a path."""
    frame.to_csv(sys.stdout if path is None else path, index=False, date_format=columns.date_format)
