"""Colours, and central intervals as bands."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.scipy.special import ndtri

from ssep.checks import require

# The colours of Okabe and Ito (2008), which colour-blind readers tell apart; black is for data.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
DATA = "black"

Coverage = float | Sequence[float]


def levels_of(call: str, coverage: Coverage) -> np.ndarray:
    """Lower and upper levels of central intervals, the widest first, shape (intervals, 2)."""
    inside = np.sort(np.atleast_1d(np.asarray(coverage, float)))[::-1]
    valid = inside.ndim == 1 and bool(np.all((inside > 0) & (inside < 1)))
    remedy = "(0.5, 0.9) draws the central half and nine tenths."
    require(valid, f"plotting.{call}(coverage)", "must hold probabilities between 0 and 1", coverage, remedy)
    return np.stack([(1 - inside) / 2, (1 + inside) / 2], -1)


def gaussian_quantiles(levels: np.ndarray, mean: Any, variance: Any) -> np.ndarray:
    """Quantiles of normal distributions, the axes of the levels first."""
    mean, spread = np.asarray(mean), np.sqrt(np.asarray(variance))
    return mean + spread * np.asarray(ndtri(levels)).reshape(*levels.shape, *(1,) * mean.ndim)


def draw_bands(
    ax: Any,
    x: Any,
    quantiles: np.ndarray,
    levels: np.ndarray,
    colour: str,
    *,
    stepped: bool = False,
    named: bool = True,
) -> None:
    """Bands between lower and upper quantiles, shape (intervals, 2, times), the narrower the darker."""
    for index, ((low, high), (bottom, top)) in enumerate(zip(quantiles, levels, strict=True)):
        label = f"{round(100 * (top - bottom), 1):g} % interval" if named else None
        # Of different strength, so that the legend tells them apart.
        style = {"color": colour, "alpha": min(0.2 + 0.15 * index, 1.0), "linewidth": 0, "label": label}
        ax.fill_between(x, low, high, step="mid" if stepped else None, **style)
