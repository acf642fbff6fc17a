"""The latents over time."""

from typing import Any

import numpy as np

from ssep.plotting.bands import Coverage, levels_of
from ssep.plotting.columns import Columns
from ssep.plotting.curves import draw_curves, name_columns
from ssep.plotting.dates import Times
from ssep.plotting.horizon import Horizon, grid_over
from ssep.plotting.panels import drawn, panels, put_legend
from ssep.prediction import predict
from ssep.solution import Fit, Solution, as_solution


def latents(
    solution: Solution | Fit,
    t_new: Any = None,
    *,
    r_new: Any = None,
    columns: Columns = None,
    coverage: Coverage = (0.5, 0.9),
    times: Times | None = None,
    ax: Any = None,
) -> Any:
    """Draw the posterior mean of each latent with bands, a panel each.

    Args:
        solution: What `infer` or `fit` returned.
        t_new: Times, shape (m,); from the first observation to the last if absent.
        r_new: Places, for a prior in space and time, as in `predict`.
        columns: Which of the places to show, for a prior in space and time: a curve each; all if absent.
        coverage: The probability of the central interval that a band shows, or several; () for none.
        times: A function from times to dates, for the horizontal axis (see `since` and `decimal_years`).
        ax: Axes to draw on, one per latent; those of a new figure if absent.

    Returns:
        The axes: one for one latent, an array for several.
    """
    solved = as_solution("plotting.latents", solution)
    horizon, levels = Horizon("latents", times), levels_of("latents", coverage)
    found = predict(solved, grid_over(np.asarray(solved.data.t)) if t_new is None else t_new, r_new=r_new)
    mean, variance = np.asarray(found.f_mean), np.asarray(found.f_var)
    shown = name_columns("latents", columns, mean.shape[:-1])
    count = mean.shape[-1]
    axes = panels("latents", count, ax)
    for latent, panel in enumerate(axes):
        draw_curves(panel, horizon, found.t, mean[..., latent], variance[..., latent], levels, shown)
        panel.set_ylabel("f" if count == 1 else f"f[{latent}]")
    put_legend(axes[0])
    horizon.label(axes[-1])
    return drawn(axes)
