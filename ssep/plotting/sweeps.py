"""The sweeps of `infer`, one by one."""

from typing import NamedTuple

import equinox as eqx
import numpy as np

from ssep.energies import Energy
from ssep.first_pass import first_pass
from ssep.iteration import Problem, iterate
from ssep.smoothers.base import Smoother
from ssep.solution import Solution
from ssep.steps import StepControl


class Sweeps(NamedTuple):
    """What each sweep did."""

    change: np.ndarray
    """How far it moved the marginals, as `Solution.change`; infinite if it was taken back."""
    energy: np.ndarray
    """The objective before the first sweep, and after each."""


def sweeps_of(
    solved: Solution, smoother: Smoother, step: StepControl, objective: Energy, tol: float, max_sweeps: int
) -> Sweeps:
    """Run the loop of `infer` from a cold start, a sweep at a time."""
    progress, energy = _begin(solved, smoother, step, objective)
    changes, energies = [], [float(energy)]
    while len(changes) < max_sweeps and (not changes or changes[-1] > tol) and bool(progress.proper):
        progress, energy = _advance(solved, smoother, step, objective, tol, progress)
        changes.append(float(progress.change))
        energies.append(float(energy))
    return Sweeps(np.asarray(changes), np.asarray(energies))


def _problem(solved: Solution, smoother: Smoother) -> Problem:
    space = solved.prior.discretise(solved.data, solved.start)
    return Problem(space, solved.likelihood, solved.rule, solved.data, smoother)


@eqx.filter_jit
def _begin(solved, smoother, step, objective):
    problem = _problem(solved, smoother)
    sites = first_pass(problem.state_space, solved.likelihood, solved.rule, step, solved.data)
    progress = iterate(problem, sites, step, 0.0, 0, cold=True)
    return progress, _energy(problem, objective, progress.sites)


@eqx.filter_jit
def _advance(solved, smoother, step, objective, tol, old):
    problem = _problem(solved, smoother)
    progress = iterate(problem, old.sites, step, tol, 1, damping=old.damping)
    return progress, _energy(problem, objective, progress.sites)


def _energy(problem, objective, sites):
    filtered, posterior = problem.solve(sites)
    return objective(problem.likelihood, problem.rule, problem.data, sites, filtered, posterior)
