"""Whether intervals hold as many observations as they should."""

from typing import Any

import jax
import numpy as np

from ssep.calibration import pit
from ssep.checks import require
from ssep.data import Data
from ssep.plotting.bands import BLUE, DATA, levels_of
from ssep.plotting.panels import panels, put_legend
from ssep.solution import Fit, Solution, as_solution


def calibration(
    solution: Solution | Fit,
    data: Data | None = None,
    *,
    bins: int = 10,
    coverage: float = 0.95,
    seed: int = 0,
    ax: Any = None,
) -> Any:
    """Draw a histogram of probability integral transforms (`ssep.pit`), which are uniform under the right model.

    High ends say that predictions are too narrow, a hump in the middle that they are too wide, a slope that they lie
    too low or too high. The band is what the binomial distribution of a bin's count allows.

    Args:
        solution: What `infer` or `fit` returned.
        data: Observations that it has not seen; if absent, each of its own is predicted from all others.
        bins: The number of bins between 0 and 1.
        coverage: The probability with which the count of a bin lies in the band, under the right model.
        seed: For the random numbers that discrete observations need.
        ax: Axes to draw on; those of a new figure if absent.

    Returns:
        The axes.
    """
    solved = as_solution("plotting.calibration", solution)
    whole = isinstance(bins, int) and bins > 1
    require(whole, "plotting.calibration(bins)", "must be an integer above 1", bins, "10 is the default.")
    values = np.asarray(pit(jax.random.key(seed), solved, data))
    values = values[~np.isnan(values)]
    ((low, high),) = binomial_quantiles(levels_of("calibration", float(coverage)), len(values), 1 / bins)
    (panel,) = panels("calibration", 1, ax)
    panel.hist(values, np.linspace(0, 1, bins + 1), color=BLUE, alpha=0.6, edgecolor="white", label="observations")
    panel.axhspan(low, high, color=DATA, alpha=0.15, linewidth=0, label=f"{100 * coverage:g} % if the model is right")
    panel.axhline(len(values) / bins, color=DATA, linewidth=1, linestyle="--")
    panel.set_xlim(0, 1)
    panel.yaxis.get_major_locator().set_params(integer=True)
    panel.set_xlabel("probability integral transform")
    panel.set_ylabel("observations per bin")
    put_legend(panel)
    return panel


def binomial_quantiles(levels: np.ndarray, count: int, probability: float) -> np.ndarray:
    """The smallest numbers of successes in so many trials up to which the levels lie."""
    successes = np.arange(1, count + 1)
    ratios = np.log((count + 1 - successes) / successes) + np.log(probability) - np.log1p(-probability)
    log_mass = count * np.log1p(-probability) + np.concatenate([[0.0], np.cumsum(ratios)])
    return np.searchsorted(np.cumsum(np.exp(log_mass)), levels)
