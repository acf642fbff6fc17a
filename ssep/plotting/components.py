"""The terms of a sum of kernels over time."""

from typing import Any

import numpy as np

from ssep.components import Component
from ssep.components import components as components_of
from ssep.plotting.bands import Coverage, levels_of
from ssep.plotting.columns import Columns
from ssep.plotting.curves import draw_curves, name_columns
from ssep.plotting.dates import Times
from ssep.plotting.horizon import Horizon, grid_over
from ssep.plotting.panels import drawn, panels, put_legend
from ssep.priors import Separable
from ssep.solution import Fit, Solution, as_solution
from ssep.timeline import check_times


def components(
    solution: Solution | Fit,
    t_new: Any = None,
    *,
    r_new: Any = None,
    columns: Columns = None,
    coverage: Coverage = (0.5, 0.9),
    times: Times | None = None,
    ax: Any = None,
) -> Any:
    """Draw the posterior of each term of a sum of kernels, a panel each.

    The prior's mean function belongs to no term.

    Args:
        solution: What `infer` or `fit` returned.
        t_new: Times, shape (m,); from the first observation to the last if absent.
        r_new: Places, for a prior in space and time, as in `predict`.
        columns: Which of the places to show, for a prior in space and time: a curve each; all if absent.
        coverage: The probability of the central interval that a band shows, or several; () for none.
        times: A function from times to dates, for the horizontal axis (see `since` and `decimal_years`).
        ax: Axes to draw on, one per term; those of a new figure if absent.

    Returns:
        The axes: one for one term, an array for several.
    """
    solved = as_solution("plotting.components", solution)
    horizon, levels = Horizon("components", times), levels_of("components", coverage)
    t = grid_over(np.asarray(solved.data.t)) if t_new is None else check_times("plotting.components", t_new)
    terms = components_of(solved, t, r_new=r_new).terms
    shown = name_columns("components", columns, np.shape(terms[0].mean))
    axes = panels("components", len(terms), ax)
    for panel, term in zip(axes, terms, strict=True):
        draw_curves(panel, horizon, t, np.asarray(term.mean), np.asarray(term.var), levels, shown)
        panel.set_ylabel("f" if solved.prior.num_latents == 1 else f"f[{term.latent}]")
        panel.set_title(_name(term), fontsize="medium", loc="left")
    put_legend(axes[0])
    horizon.label(axes[-1])
    return drawn(axes)


def _name(term: Component) -> str:
    """The kernel, or those in time and in space."""
    kernel = term.kernel
    if isinstance(kernel, Separable):
        return f"{type(kernel.temporal).__name__} in time, {type(kernel.spatial).__name__} in space"
    return type(kernel).__name__
