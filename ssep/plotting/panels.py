"""Axes to draw on: those of the caller, or new ones."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ssep.checks import require


def panels(
    call: str, count: int, ax: Any, *, side_by_side: int = 1, size: tuple[float, float] = (7.0, 3.5)
) -> list[Any]:
    """As many axes as there are panels: given ones, or those of a new figure.

    Args:
        call: The function that the user called, for errors.
        count: The number of panels.
        ax: What the caller gave: None, one axes, or an array, sequence or dictionary of them.
        side_by_side: The largest number of panels in a row of a new figure; one above the other they share times.
        size: That of a new figure with one panel, in inches.
    """
    pyplot = import_pyplot(call)
    if ax is not None:
        every = list(ax.values()) if isinstance(ax, dict) else ax
        given = list(np.atleast_1d(np.asarray(every, dtype=object)).ravel())
        _check_axes(call, count, given)
        return given
    across = min(side_by_side, count)
    down = math.ceil(count / across)
    width, height = size[0] if across == 1 else 3.6 * across, size[1] if down == 1 else 1.0 + 2.1 * down
    _, grid = pyplot.subplots(
        down, across, figsize=(width, height), sharex=across == 1, squeeze=False, layout="constrained"
    )
    for spare in grid.ravel()[count:]:
        spare.remove()
    return list(grid.ravel()[:count])


def drawn(axes: Sequence[Any]) -> Any:
    """What a plotting function returns: one axes as it is, several as an array."""
    if len(axes) == 1:
        return axes[0]
    array = np.empty(len(axes), dtype=object)
    array[:] = axes
    return array


def put_legend(ax: Any) -> None:
    """A legend above the axes, where it hides no data; it leaves the left to a title."""
    count = len(ax.get_legend_handles_labels()[1])
    style = {"frameon": False, "fontsize": "small", "borderaxespad": 0.2, "columnspacing": 1.2, "handlelength": 1.5}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(count, 6), **style)


def import_pyplot(call: str) -> Any:
    """Matplotlib, which only plots need."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(f'`plotting.{call}` needs matplotlib: pip install "ssep[plot]".') from error
    return pyplot


def _check_axes(call: str, count: int, given: list[Any]) -> None:
    from matplotlib.axes import Axes

    strangers = [each for each in given if not isinstance(each, Axes)]
    require(
        not strangers,
        f"plotting.{call}(ax)",
        "takes axes of matplotlib",
        f"a `{type(strangers[0]).__name__}`" if strangers else "",
        "Make some with `plt.subplots`.",
    )
    require(
        len(given) == count,
        f"plotting.{call}(ax)",
        f"must have one axes for each of {count} panels",
        len(given),
        f"`plt.subplots({count})` makes as many; without `ax` they come by themselves.",
    )
