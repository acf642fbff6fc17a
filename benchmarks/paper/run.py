"""Fill in what is missing of the table: learn, infer, score what each fold held out."""

import subprocess
import time
import warnings
from typing import Any

import ssep
from paper import results
from paper.experiments import NUM_FOLDS, Experiment, experiment
from paper.methods import METHODS, Method, methods
from paper.protocols import learn_as_in_the_paper, learn_ours, settings
from paper.variants import VARIANTS

PROTOCOLS = {"ours": learn_ours, "paper": learn_as_in_the_paper, **VARIANTS}
# Of folds after the first of a long task, which begin near the end.
TOLERANCE = 1e-3


def run(task: str, names: list[str], protocol: str, folds: list[int], minutes: float) -> None:
    """All missing results of some methods on one task; each method has so many minutes."""
    setup = experiment(task)
    every = methods(setup.degree)
    for name in names:
        done, begun, sites = results.load(), time.perf_counter(), None
        for fold in folds:
            if (task, name, protocol, fold) in done or time.perf_counter() - begun > 60 * minutes:
                continue
            key = {"task": task, "method": name, "protocol": protocol, "fold": fold}
            first = done.get((task, name, protocol, 0))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if setup.is_long and first is not None:
                        found, sites = _infer(setup, every[name], fold, first["hyperparameters"], sites)
                    else:
                        found, sites = _learn(setup, every[name], _start(setup, done, *key.values()), protocol, fold)
            except ValueError as error:
                found = {"nlpd": None, "error": str(error)}
            entry = key | found | {"commit": commit()}
            results.add(entry)
            done[tuple(key.values())] = entry
            print(key | {"nlpd": found["nlpd"], "seconds": found.get("seconds")}, flush=True)


def _start(setup: Experiment, done: results.Results, task: str, name: str, protocol: str, fold: int) -> tuple[Any, Any]:
    """The paper's starting values, or what the nearest row above learned."""
    above = [done.get((task, other, protocol, fold), {}) for other in METHODS[: METHODS.index(name)]]
    learned = [entry["hyperparameters"] for entry in above if "hyperparameters" in entry]
    if setup.is_chained and learned:
        return setup.learned(learned[-1])
    return setup.task.prior, setup.task.likelihood


def _learn(
    setup: Experiment, method: Method, model: tuple[Any, Any], protocol: str, fold: int
) -> tuple[dict[str, Any], Any]:
    begun = time.perf_counter()
    fit = PROTOCOLS[protocol](method, setup, model, setup.lesson(fold))
    learned = time.perf_counter() - begun
    solution = fit.solution
    if setup.strips is not None:
        solution = _solve(setup, method, fold, (fit.prior, fit.likelihood), None)
    found = _report(setup, fold, solution, begun) | {
        "seconds_learning": learned,
        "settings": settings(protocol, method, setup),
        "steps": len(fit.energies),
    }
    return found, solution.sites


def _infer(
    setup: Experiment, method: Method, fold: int, values: list[Any], sites: ssep.SiteState | None
) -> tuple[dict[str, Any], ssep.SiteState]:
    begun = time.perf_counter()
    solution = _solve(setup, method, fold, setup.learned(values), sites)
    found = _report(setup, fold, solution, begun) | {"settings": {"hyperparameters": "those of fold 0"}}
    return found, solution.sites


def _solve(
    setup: Experiment, method: Method, fold: int, model: tuple[Any, Any], sites: ssep.SiteState | None
) -> ssep.Solution:
    data = setup.without(fold)
    return ssep.infer(
        *model, method.rule, data, sites=sites, objective=method.energy, tol=TOLERANCE, max_sweeps=100, throw=False
    )


def _report(setup: Experiment, fold: int, solution: ssep.Solution, begun: float) -> dict[str, Any]:
    return {
        "nlpd": setup.score(solution, fold),
        "expected": setup.expected_score(solution, fold),
        "energy": float(solution.energy),
        "sweeps": int(solution.num_sweeps),
        "converged": bool(solution.result == ssep.RESULTS.converged),
        "hyperparameters": setup.trained(solution.prior, solution.likelihood),
        "seconds": time.perf_counter() - begun,
    }


def commit() -> str:
    """The version of the code that a result is of."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


ALL_FOLDS = list(range(NUM_FOLDS))
