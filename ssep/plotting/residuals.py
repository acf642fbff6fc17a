"""Residuals over time, the same for every likelihood."""

from typing import Any

import jax
import numpy as np
from jax.scipy.special import ndtri

from ssep.calibration import pit
from ssep.data import Data
from ssep.plotting.bands import BLUE, CYCLE, DATA
from ssep.plotting.columns import Columns, pick
from ssep.plotting.dates import Times
from ssep.plotting.horizon import Horizon
from ssep.plotting.marks import mark_missing
from ssep.plotting.panels import panels, put_legend
from ssep.solution import Fit, Solution, as_solution


def residuals(
    solution: Solution | Fit,
    data: Data | None = None,
    *,
    seed: int = 0,
    columns: Columns = None,
    times: Times | None = None,
    ax: Any = None,
) -> Any:
    """Draw normalised residuals over time: the normal quantiles of probability integral transforms (`ssep.pit`).

    Under the right model they are standard normal, whatever the likelihood, so that 95 % lie in the band. They are
    those of Dunn and Smyth (1996), random within the bounds that counts and labels leave.

    Args:
        solution: What `infer` or `fit` returned.
        data: Observations that it has not seen; if absent, each of its own is predicted from all others.
        seed: For the random numbers that discrete observations need.
        columns: Which columns of y to show, as many as six in their own colours; all if absent.
        times: A function from times to dates, for the horizontal axis (see `since` and `decimal_years`).
        ax: Axes to draw on; those of a new figure if absent.

    Returns:
        The axes.
    """
    solved = as_solution("plotting.residuals", solution)
    shown = solved.data if data is None else data
    horizon = Horizon("residuals", times)
    values = np.asarray(pit(jax.random.key(seed), solved, data))
    per_column = normal_quantiles(values).reshape(len(values), -1)
    chosen = pick("residuals", columns, shown.per_step, per_column.shape[1])
    (panel,) = panels("residuals", 1, ax)
    panel.axhspan(-1.96, 1.96, color=BLUE, alpha=0.15, linewidth=0, label="95 % if the model is right")
    panel.axhline(0, color=BLUE, linewidth=1)
    told_apart = 1 < len(chosen) <= len(CYCLE)
    for index, column in enumerate(chosen):
        seen = ~np.isnan(per_column[:, column])
        colour = CYCLE[index] if told_apart else DATA
        label = f"column {column}" if told_apart else None
        panel.plot(horizon(np.asarray(shown.t)[seen]), per_column[seen, column], ".", color=colour, label=label)
    mark_missing(panel, horizon(np.asarray(shown.t)[np.isnan(per_column[:, chosen]).all(1)]))
    panel.set_ylabel("normalised residual")
    put_legend(panel)
    horizon.label(panel)
    return panel


def normal_quantiles(probabilities: np.ndarray) -> np.ndarray:
    """Those of the standard normal; probabilities that rounded to 0 or 1 are taken for the nearest that did not."""
    tiny = np.finfo(probabilities.dtype).epsneg
    return np.asarray(ndtri(np.clip(probabilities, tiny, 1 - tiny)))
