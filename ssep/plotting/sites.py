"""Sites: what each observation says about the latents."""

from typing import Any

import numpy as np

from ssep.checks import require
from ssep.plotting.bands import BLUE, DATA, VERMILION, draw_bands, gaussian_quantiles, levels_of
from ssep.plotting.dates import Times
from ssep.plotting.horizon import Horizon
from ssep.plotting.marks import mark_beyond, mark_missing
from ssep.plotting.panels import drawn, panels, put_legend
from ssep.plotting.readings import Readings, readings_of
from ssep.solution import Fit, Solution, as_solution

_ROOM = 0.75  # above and below the posterior, in its height, for readings that differ from it


def sites(solution: Solution | Fit, *, column: int | None = None, times: Times | None = None, ax: Any = None) -> Any:
    """Draw the sites as noisy readings of the latents, with the posterior, and their precisions, which are weights.

    Of several latents it is drawn what an observation says of one, while the rest of the data speak for the others. A
    site whose precision is zero, or negative so that it makes the posterior wider, is a weight but no reading.
    Readings far from the posterior are marked at the edge, and missing observations, which have no site, at the foot.

    Args:
        solution: What `infer` or `fit` returned.
        column: Which column of y to show; all if absent. Places that are fixed have a posterior each: choose one.
        times: A function from times to dates, for the horizontal axis (see `since` and `decimal_years`).
        ax: Axes to draw on, two per latent; those of a new figure if absent.

    Returns:
        An array of axes: for each latent those of the readings, then those of the weights.
    """
    solved = as_solution("plotting.sites", solution)
    _check_column(solved, column)
    horizon = Horizon("sites", times)
    axes = panels("sites", 2 * solved.prior.num_latents, ax)
    for latent in range(solved.prior.num_latents):
        above, below = axes[2 * latent : 2 * latent + 2]
        name = "f" if solved.prior.num_latents == 1 else f"f[{latent}]"
        readings = readings_of(solved, latent, column)
        _draw_readings(above, horizon, readings, by_time=not solved.data.locations.moving)
        above.set_ylabel(name)
        _draw_weights(below, horizon, readings)
        below.set_ylabel(f"precision of {name}")
    put_legend(axes[0])
    horizon.label(axes[-1])
    return drawn(axes)


def _check_column(solved: Solution, column: int | None) -> None:
    data = solved.data
    count = data.per_step or 1
    fixed = data.r is not None and not data.locations.moving
    call, remedy = "plotting.sites(column)", "Count from 0."
    require(column is not None or not fixed, call, f"must name one of {count} places", column, remedy)
    require(column is None or 0 <= column < count, call, f"must name one of {count} columns", column, remedy)


def _draw_readings(ax: Any, horizon: Horizon, readings: Readings, by_time: bool) -> None:
    x, levels = horizon(readings.t), levels_of("sites", 0.9)
    mean, variance = readings.posterior_mean, readings.posterior_variance
    if by_time:
        draw_bands(ax, x, gaussian_quantiles(levels, mean, variance), levels, BLUE)
        ax.plot(x, mean, color=BLUE, label="posterior")
    else:
        seen = ~readings.missing
        ax.plot(x[seen], mean[seen], ".", color=BLUE, label="posterior")
    heard = readings.precision > 0
    at, deviation = readings.mean[heard], 1 / np.sqrt(readings.precision[heard])
    style = {"color": DATA, "markersize": 3, "elinewidth": 0.6, "ecolor": "0.6", "zorder": 3}
    ax.errorbar(x[heard], at, deviation, fmt=".", label="site and its deviation", **style)
    low, high = np.min(mean - 3 * np.sqrt(variance)), np.max(mean + 3 * np.sqrt(variance))
    room = _ROOM * (high - low)
    ends = np.concatenate([at - deviation, at + deviation, [low, high]])
    # A reading of little weight can be anywhere: it must not set the scale.
    ax.set_ylim(max(ends.min(), low - room), min(ends.max(), high + room))
    mark_beyond(ax, x[heard], at)
    mark_missing(ax, horizon(readings.gaps))


def _draw_weights(ax: Any, horizon: Horizon, readings: Readings) -> None:
    x = horizon(readings.t)
    for chosen, colour in [(readings.precision > 0, DATA), (readings.precision < 0, VERMILION)]:
        ax.vlines(x[chosen], 0, readings.precision[chosen], color=colour, linewidth=0.8)
    ax.axhline(0, color=DATA, linewidth=0.8)
    mark_missing(ax, horizon(readings.gaps))
