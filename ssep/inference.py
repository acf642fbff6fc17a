"""Sweeps until nothing changes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ssep.checks import is_concrete, require
from ssep.compatibility import check_compatible, require_kind
from ssep.data import Data
from ssep.energies import Energy, FilterEnergy
from ssep.first_pass import first_pass
from ssep.fixed_point import attach_gradient
from ssep.iteration import Problem, iterate
from ssep.priors.base import Prior
from ssep.refresh import is_sound
from ssep.results import RESULTS
from ssep.rules.base import Rule
from ssep.sites import SiteState
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import LikelihoodT, PriorT, Solution
from ssep.statespace import Belief
from ssep.steps import AdaptiveStep, StepControl
from ssep.sweep import drop_missing
from ssep.types import ScalarLike


def infer(
    prior: PriorT,
    lik: LikelihoodT,
    rule: Rule,
    data: Data,
    *,
    sites: SiteState | None = None,
    start: Belief | None = None,
    smoother: Smoother = Sequential(),
    step: StepControl = AdaptiveStep(),
    objective: Energy = FilterEnergy(),
    tol: ScalarLike = 1e-4,
    max_sweeps: int = 500,
    throw: bool = True,
) -> Solution[PriorT, LikelihoodT]:
    """Sweep until the posterior no longer changes.

    The gradient of the result with respect to everything in `prior` and `lik` is that of the fixed point itself, by
    implicit differentiation: no sweep is unrolled, and it is exact as far as the sweeps have converged.

    Args:
        prior: The Gaussian process prior of the latents.
        lik: The likelihood of one observation.
        rule: How a site is refreshed.
        data: The observations.
        sites: Where to start, for example the sites of a similar model; None starts with a forward pass.
        start: What is known of the state from earlier data (the `end` of another solution); None for the prior.
        smoother: How the filter and the smoother are run.
        step: How far the sites move in each sweep.
        objective: Which energy is returned.
        tol: The largest change of any posterior mean or standard deviation in a full sweep, in units of that
            posterior standard deviation, at which the posterior counts as converged.
        max_sweeps: The largest number of sweeps after the first pass; with 0 the first pass is all.
        throw: Whether to raise an error if the sweeps do not converge. If False, look at `result`.

    Returns:
        The solution: its posterior and its energy belong to its sites, and nothing in it is NaN unless its result is
        `RESULTS.non_finite`.
    """
    for name, value, kind in [
        ("smoother", smoother, Smoother),
        ("step", step, StepControl),
        ("objective", objective, Energy),
    ]:
        require_kind(name, value, kind, "infer")
    check_compatible(prior, lik, sites, rule, data, "infer")
    _check_start(start, prior, data)
    positive = not is_concrete(tol) or np.all(np.asarray(tol) > 0)
    require(positive, "infer(tol)", "must be positive", tol, "1e-4 is a ten-thousandth of a standard deviation.")
    whole = isinstance(max_sweeps, int) and max_sweeps >= 0
    require(whole, "infer(max_sweeps)", "must be a whole number", max_sweeps, "The default is 500.")
    solution = _infer(prior, lik, rule, data, sites, start, smoother, step, objective, tol, max_sweeps)
    return _raise_failure(solution, max_sweeps) if throw else solution


def _raise_failure(solution: Solution, max_sweeps: int) -> Solution:
    """Raise an error if the solution did not converge, also from compiled code."""
    failed = solution.result != RESULTS.converged
    if max_sweeps == 0:  # a forward pass was all that was asked for
        failed = failed & (solution.result != RESULTS.max_sweeps_reached)
    if not is_concrete(failed):
        return solution.result.error_if(solution, failed)
    if np.any(failed):
        raise RuntimeError(f"`infer` did not converge: {RESULTS[solution.result]}")
    return solution


def _check_start(start: Belief | None, prior: Prior, data: Data) -> None:
    if start is not None:
        states, _ = prior.sizes(data.locations)
        require(
            start.mean.shape == (states,),
            "infer(start)",
            f"must be of a state of {states} numbers, as this prior has",
            f"shape {start.mean.shape}",
            "Take it from a solution of the same prior.",
        )
    if start is not None and is_concrete(start.t, data.t):
        require(
            data.t[0] >= start.t,
            "infer(start)",
            "must not be later than the data",
            f"a start at {start.t} and data from {data.t[0]}",
            "Give data that follow those of the earlier solution.",
        )


@eqx.filter_jit
def _infer(prior, lik, rule, data, sites, start, smoother, step, objective, tol, max_sweeps):
    problem = Problem(prior.discretise(data, start), lik, rule, data, smoother)
    frozen, fixed_step = stop_gradient(problem), stop_gradient(step)
    cold = sites is None
    if cold:
        sites = first_pass(frozen.state_space, frozen.likelihood, frozen.rule, fixed_step, data)
    else:
        sites = drop_missing(stop_gradient(sites), data.observations)
    # Without sweeps the forward pass is the answer, whatever it is.
    done = iterate(frozen, sites, fixed_step, stop_gradient(tol), max_sweeps, cold and max_sweeps > 0)

    complete = problem.state_space.view.complete
    held = (done.sites, done.wanted.usable)
    sites = attach_gradient(_refreshed, (problem, step, held), done.sites, complete(done.posterior))
    filtered, posterior = problem.solve(sites)
    energy = objective(lik, rule, data, sites, filtered, posterior)
    num_skipped = jnp.sum(~done.wanted.usable)
    finite = done.proper & is_sound(posterior, problem.state_space.view.unresolved).all() & jnp.isfinite(energy)
    result = RESULTS.where(done.change <= tol, RESULTS.converged, RESULTS.max_sweeps_reached)
    result = RESULTS.where(num_skipped > 0, RESULTS.improper_cavity, result)
    return Solution(
        prior=prior,
        likelihood=lik,
        rule=rule,
        data=data,
        posterior=complete(posterior),
        sites=sites,
        energy=energy,
        num_sweeps=done.num_sweeps,
        num_skipped=num_skipped,
        change=done.change,
        result=RESULTS.where(finite, result, RESULTS.non_finite),
        start=start,
        end=Belief(data.t[-1], *filtered.last),
    )


def _refreshed(model, sites: SiteState) -> SiteState:
    problem, step, (found, usable) = model
    return problem.refreshed(step, found, usable, sites)


def stop_gradient(tree):
    """The same pytree, with arrays that are constants to differentiation."""
    return jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if eqx.is_array(leaf) else leaf, tree)
