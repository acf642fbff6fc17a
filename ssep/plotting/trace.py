"""How learning went: the energy and the hyperparameters at each step."""

from typing import Any

import jax
import numpy as np

from ssep.checks import require
from ssep.plotting.bands import BLUE, CYCLE
from ssep.plotting.panels import drawn, panels
from ssep.solution import Fit


def trace(fit: Fit, *, ax: Any = None) -> Any:
    """Draw the energy and every learned hyperparameter against the steps of the optimiser, a panel each.

    Hyperparameters are named as one reads them from the fit: `prior.kernels[0].lengthscale`. One that is an array has a
    line for each of its numbers.

    Args:
        fit: What `fit` returned.
        ax: Axes to draw on, one for the energy and one per hyperparameter; those of a new figure if absent.

    Returns:
        An array of the axes, the energy's first.
    """
    remedy = "A solution of `ssep.infer` has no trace; see `plotting.convergence`."
    require(
        isinstance(fit, Fit), "plotting.trace(fit)", "takes what `fit` returned", f"a `{type(fit).__name__}`", remedy
    )
    learned = learned_hyperparameters(fit)
    steps = np.arange(len(fit.energies))
    axes = panels("trace", 1 + len(learned), ax, side_by_side=3)
    axes[0].plot(steps, np.asarray(fit.energies), color=BLUE)
    axes[0].set_title("energy", fontsize="medium")
    for panel, (name, values) in zip(axes[1:], learned.items(), strict=True):
        for index, column in enumerate(values.reshape(len(steps), -1).T):
            panel.plot(steps, column, color=CYCLE[index % len(CYCLE)], linewidth=1.0)
        panel.set_title(name, fontsize="medium")
    for panel in axes:
        panel.set_xlabel("step")
        panel.xaxis.get_major_locator().set_params(integer=True)
    return drawn(axes)


def learned_hyperparameters(fit: Fit) -> dict[str, np.ndarray]:
    """Values at each step, by the names with which they are read from the fit."""
    paths, _ = jax.tree_util.tree_flatten_with_path(fit.hyperparameters)
    final = jax.tree.leaves((fit.prior, fit.likelihood))
    # What was learned has an axis for the steps in front.
    return {
        _name(path): np.asarray(values)
        for (path, values), value in zip(paths, final, strict=True)
        if np.ndim(values) == np.ndim(value) + 1
    }


def _name(path: tuple[Any, ...]) -> str:
    root = ("prior", "likelihood")[path[0].idx]
    return root + jax.tree_util.keystr(path[1:])
