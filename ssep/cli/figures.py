"""The figures of `ssep fit`."""

import pathlib
from typing import Any

import numpy as np

from ssep import plotting
from ssep.kernels import Sum
from ssep.plotting.horizon import grid_over
from ssep.plotting.panels import import_pyplot
from ssep.solution import Solution
from ssep.tables.clock import Clock
from ssep.tables.series import Series
from ssep.tables.zones import located

FIGURE, COMPONENTS = "figure.png", "components.png"


def draw(folder: pathlib.Path, solution: Solution, series: Series, ahead: Any, time: str, target: str) -> list[Any]:
    """Draw what the model says of observations, and of the terms of a sum of kernels.

    Args:
        folder: Where to write.
        solution: The fitted model.
        series: The data.
        ahead: The table with the forecast and its extras, or None.
        time: What the times are called.
        target: What the observations are called.
    """
    pyplot = import_pyplot("predictive")
    clock = series.clock
    dates = None if clock.unit is None else lambda t: _as_drawn(clock, t)
    label = time if clock.zone is None else f"{time} ({clock.zone})"
    future = None if ahead is None else series.layout.rows_of(ahead)
    numbers = np.empty(0) if future is None else clock.numbers(future.stamps)
    own = np.asarray(solution.data.t)
    written = []
    if solution.data.aux is None:
        t, aux = grid_over(np.union1d(own, numbers)), None
    else:
        rows, name = series.layout.own_rows(), series.layout.aux
        known = np.isfinite(rows.column(name))
        t = np.append(clock.numbers(rows.stamps)[known], numbers)
        aux = np.append(rows.column(name)[known], [] if future is None else future.column(name))
    ax = plotting.predictive(solution, t, aux=aux, times=dates)
    ax.set(xlabel=label, ylabel=target)
    if len(numbers):
        border = own[-1] if dates is None else dates(own[-1:])[0]
        ax.axvline(border, color="0.5", linewidth=0.8, linestyle=":")
        style = {"transform": ax.get_xaxis_transform(), "va": "top", "color": "0.4", "fontsize": "small"}
        # On the side of the line where there is room.
        early = own[-1] - own[0] < numbers[-1] - own[-1]
        ax.text(
            border,
            0.98,
            " forecast" if early else "forecast \N{RIGHTWARDS ARROW} ",
            ha="left" if early else "right",
            **style,
        )
    ax.figure.savefig(folder / FIGURE, dpi=150)
    pyplot.close(ax.figure)
    written.append(folder / FIGURE)
    if any(isinstance(kernel, Sum) for kernel in solution.prior.kernels):
        panels = plotting.components(solution, grid_over(np.union1d(own, numbers)), times=dates)
        panels[-1].set_xlabel(label)
        panels[0].figure.savefig(folder / COMPONENTS, dpi=150)
        pyplot.close(panels[0].figure)
        written.append(folder / COMPONENTS)
    return written


def _as_drawn(clock: Clock, t: np.ndarray) -> Any:
    """Dates; those of a time zone know it, so that an hour that clocks repeat is drawn twice as wide."""
    instants = clock.dates(t)
    return instants if clock.zone is None else located(instants, clock.zone)
