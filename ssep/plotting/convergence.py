"""How the sweeps of `infer` converge."""

from typing import Any

import numpy as np

from ssep.energies import Energy, FilterEnergy
from ssep.plotting.bands import BLUE, VERMILION
from ssep.plotting.marks import mark_taken_back
from ssep.plotting.panels import drawn, panels, put_legend
from ssep.plotting.sweeps import sweeps_of
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.steps import AdaptiveStep, StepControl


def convergence(
    solution: Solution | Fit,
    *,
    smoother: Smoother = Sequential(),
    step: StepControl = AdaptiveStep(),
    objective: Energy = FilterEnergy(),
    tol: float = 1e-4,
    max_sweeps: int = 500,
    ax: Any = None,
) -> Any:
    """Sweep again from the beginning, and draw the change and the energy of each sweep.

    A solution keeps only its last sweep, so this runs all of them once more, one by one: those that `infer` makes for
    the same model with the same settings.

    Args:
        solution: What `infer` or `fit` returned.
        smoother: How the filter and the smoother are run, as for `infer`.
        step: How far the sites move in each sweep, as for `infer`.
        objective: Which energy is drawn, as for `infer`.
        tol: The change at which the posterior counts as converged, as for `infer`.
        max_sweeps: The largest number of sweeps, as for `infer`.
        ax: Two axes to draw on; those of a new figure if absent.

    Returns:
        An array of the axes of the changes and of the energies.
    """
    solved = as_solution("plotting.convergence", solution)
    history = sweeps_of(solved, smoother, step, objective, tol, max_sweeps)
    above, below = axes = panels("convergence", 2, ax)
    count = np.arange(1, 1 + len(history.change))
    kept = np.isfinite(history.change)
    above.semilogy(count[kept], history.change[kept], ".-", color=BLUE, label="kept")
    above.axhline(tol, color=VERMILION, linestyle="--", linewidth=1, label="tolerance")
    if not kept.all():
        mark_taken_back(above, count[~kept])
    above.set_ylabel("change in deviations")
    below.plot(np.arange(len(history.energy)), history.energy, ".-", color=BLUE)
    below.set_ylabel("energy")
    below.set_xlabel("sweep")
    below.xaxis.get_major_locator().set_params(integer=True)
    put_legend(above)
    return drawn(axes)
