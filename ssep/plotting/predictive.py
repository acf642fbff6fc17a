"""Predicted observations over the data."""

from typing import Any

import numpy as np

from ssep.checks import require
from ssep.data import Data
from ssep.plotting.bands import BLUE, DATA, VERMILION, Coverage, draw_bands, levels_of
from ssep.plotting.columns import Columns
from ssep.plotting.dates import Times
from ssep.plotting.extras import question
from ssep.plotting.forecasts import Forecast, forecasts
from ssep.plotting.horizon import Horizon
from ssep.plotting.marks import mark_missing
from ssep.plotting.panels import drawn, panels, put_legend
from ssep.solution import Fit, Solution, as_solution
from ssep.types import Aux


def predictive(
    solution: Solution | Fit,
    t_new: Any = None,
    *,
    r_new: Any = None,
    aux: Aux = None,
    held_out: Data | None = None,
    columns: Columns = None,
    coverage: Coverage = (0.5, 0.9),
    times: Times | None = None,
    ax: Any = None,
) -> Any:
    """Draw what observations to expect, as bands between quantiles, with the data.

    The line is the median, or the mean of observations that are integers and have one. Missing observations are marked
    at the foot. Each place has a panel, and each column of y whose predictions differ from the others' through their
    `aux`.

    Args:
        solution: What `infer` or `fit` returned.
        t_new: Times, shape (m,). If absent, from the first observation to the last; or the times of the data, if these
            came with `aux` that changes over time.
        r_new: Places, for a prior in space and time, as in `predict`; those of the data, if they are fixed, if absent.
        aux: Extras at the new times, shape (m,), or (m, J) for J columns; those of the data if they never change.
        held_out: Observations that the solution has not seen, to be drawn as well, with the columns of the panels.
        columns: Which columns of y, or places, to show; all if absent.
        coverage: The probability of the central interval that a band shows, or several; () for none.
        times: A function from times to dates, for the horizontal axis (see `since` and `decimal_years`).
        ax: Axes to draw on, one per panel; those of a new figure if absent.

    Returns:
        The axes: one for one panel, an array for several.
    """
    solved = as_solution("plotting.predictive", solution)
    horizon, levels = Horizon("predictive", times), levels_of("predictive", coverage)
    asked = question("predictive", solved.data, t_new, aux)
    found = forecasts("predictive", solved, asked, r_new, columns)
    axes = panels("predictive", len(found), ax)
    for panel, forecast in zip(axes, found, strict=True):
        _draw_forecast(panel, horizon, asked.t, forecast, levels)
        if r_new is None:
            _draw_data(panel, horizon, solved.data, forecast.columns)
        if held_out is not None:
            _draw_held_out(panel, horizon, held_out, forecast.columns)
        panel.set_ylabel("y")
        panel.set_title(forecast.name or "", fontsize="medium", loc="left")
    put_legend(axes[0])
    horizon.label(axes[-1])
    return drawn(axes)


def _draw_forecast(ax: Any, horizon: Horizon, t: np.ndarray, forecast: Forecast, levels: np.ndarray) -> None:
    order = np.argsort(t, kind="stable")
    known = forecast.known[order]
    x, discrete = horizon(t[order]), forecast.discrete
    if levels.size:
        quantiles = np.where(known, np.asarray(forecast.prediction.quantile(levels))[..., order], np.nan)
        draw_bands(ax, x, quantiles, levels, BLUE, stepped=discrete)
    if discrete:
        ax.yaxis.get_major_locator().set_params(integer=True)
    name, centre = _centre(forecast, discrete)
    ax.plot(x, np.where(known, centre[order], np.nan), color=BLUE, label=name)


def _centre(forecast: Forecast, discrete: bool) -> tuple[str, np.ndarray]:
    """Medians; but those of integers jump, and the mean says more."""
    if discrete:
        try:
            return "mean", np.asarray(forecast.prediction.y_mean)
        except ValueError:  # labels have no mean
            pass
    return "median", np.asarray(forecast.prediction.quantile(0.5))


def _draw_data(ax: Any, horizon: Horizon, data: Data, columns: list[int]) -> None:
    mask = np.asarray(data.mask)
    _draw_dots(ax, horizon, data, columns, DATA, "data")
    gone = ~mask.reshape(len(mask), -1)[:, columns].any(1)
    mark_missing(ax, horizon(np.asarray(data.t)[gone]))


def _draw_held_out(ax: Any, horizon: Horizon, data: Data, columns: list[int]) -> None:
    fits = max(columns) < (data.per_step or 1)
    requirement, remedy = "must have a column for every panel", "Give data with the columns of those before."
    require(fits, "plotting.predictive(held_out)", requirement, f"y of shape {data.y.shape}", remedy)
    _draw_dots(ax, horizon, data, columns, VERMILION, "held out")


def _draw_dots(ax: Any, horizon: Horizon, data: Data, columns: list[int], colour: str, label: str) -> None:
    t, (y, mask) = np.asarray(data.t), (np.asarray(part).reshape(len(data.t), -1) for part in (data.y, data.mask))
    step, column = np.nonzero(mask[:, columns])
    ax.plot(horizon(t[step]), y[:, columns][step, column], ".", color=colour, markersize=4, label=label)
