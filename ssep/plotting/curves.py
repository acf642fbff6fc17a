"""Gaussian curves over time: one, or one per place."""

from typing import Any

import numpy as np

from ssep.plotting.bands import CYCLE, draw_bands, gaussian_quantiles
from ssep.plotting.columns import Columns, pick
from ssep.plotting.horizon import Horizon


def name_columns(call: str, columns: Columns, shape: tuple[int, ...]) -> dict[int, str]:
    """The columns to show, of all in an array of shape (times,) or (times, columns), and what the legend calls them."""
    if len(shape) == 1:
        return dict.fromkeys(pick(call, columns, None, 1), "mean")
    return {column: f"place {column}" for column in pick(call, columns, shape[1], len(CYCLE))}


def draw_curves(
    ax: Any,
    horizon: Horizon,
    t: Any,
    mean: np.ndarray,
    variance: np.ndarray,
    levels: np.ndarray,
    shown: dict[int, str],
) -> None:
    """The mean with bands, of shape (times,) or (times, columns), for the columns to show by their names."""
    # Bands and lines follow the times, in whatever order these were given.
    order = np.argsort(np.asarray(t), kind="stable")
    x = horizon(np.asarray(t)[order])
    means, variances = (values.reshape(len(order), -1)[order] for values in (mean, variance))
    for index, (column, name) in enumerate(shown.items()):
        quantiles = gaussian_quantiles(levels, means[:, column], variances[:, column])
        draw_bands(ax, x, quantiles, levels, CYCLE[index], named=index == 0)
        ax.plot(x, means[:, column], color=CYCLE[index], label=name)
