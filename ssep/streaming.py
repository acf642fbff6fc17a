"""New observations, without going back over the old ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ssep.checks import is_concrete, require
from ssep.compatibility import check_compatible, require_kind
from ssep.data import Data, check_resolution
from ssep.energies import Energy, FilterEnergy
from ssep.first_pass import first_pass
from ssep.inference import infer
from ssep.sites import SiteState
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.statespace import Belief
from ssep.steps import AdaptiveStep, StepControl
from ssep.types import ScalarLike


def update(
    solution: Solution | Fit,
    data: Data,
    *,
    refresh: int = 0,
    smoother: Smoother = Sequential(),
    step: StepControl = AdaptiveStep(),
    objective: Energy = FilterEnergy(),
    tol: ScalarLike = 1e-4,
    max_sweeps: int = 500,
    throw: bool = True,
) -> Solution:
    """Go on from a solution with data that follow its own.

    The filter continues from where it ended, so that the work depends on the new data only; updates of one size
    compile once. The solution returned covers a window, the new data and the refreshed ones before them, and knows
    what came earlier through its `start`: predict from it as from any other, at times from its start on.

    Args:
        solution: What `infer`, `fit` or an earlier `update` returned.
        data: Observations that are not earlier than those of the solution.
        refresh: How many of the solution's last steps to take into the window. Their sites and the new ones are then
            swept until they converge; with 0 the new sites are those of a forward pass, and nothing is swept.
        smoother: How the filter and the smoother are run.
        step: How far the sites move in each sweep.
        objective: Which energy is returned: that of the window, given what came before.
        tol: As for `infer`.
        max_sweeps: The largest number of sweeps of the window.
        throw: Whether to raise an error if the window does not converge, or an observation cannot be used.
    """
    old = as_solution("update", solution)
    require_kind("data", data, Data, "update")
    check_compatible(old.prior, old.likelihood, None, old.rule, data, "update")
    _check_follows(old, data)
    whole = isinstance(refresh, int) and refresh >= 0
    require(whole, "update(refresh)", "must be a number of steps", refresh, "0 refreshes nothing.")
    length = min(refresh, old.data.t.shape[0])
    start = old.end if length == 0 else _belief_before(old, length, smoother)
    # The number of distinct gaps depends on the times; what is compiled must not.
    fresh = data.with_gaps(data.t.shape[0])
    sites = _forward(old.prior, old.likelihood, old.rule, fresh, old.end, step)
    if length > 0:
        joined = old.data.last(length).followed_by(data)
        fresh = joined.with_gaps(joined.t.shape[0])
        sites = jax.tree.map(lambda a, b: jnp.concatenate([a[-length:], b]), old.sites, sites)
    return infer(
        old.prior,
        old.likelihood,
        old.rule,
        fresh,
        sites=sites,
        start=start,
        smoother=smoother,
        step=step,
        objective=objective,
        tol=tol,
        max_sweeps=max_sweeps if length > 0 else 0,
        throw=throw,
    )


def _check_follows(old: Solution, data: Data) -> None:
    require(
        old.data.per_step == data.per_step and _structure(old.data) == _structure(data),
        "update(data)",
        "must have as many observations per step, and the same `aux`, as the data before",
        f"{data.per_step} per step where there were {old.data.per_step}",
        "Build it as the first `Data` was built.",
    )
    require(
        old.data.locations.moving == data.locations.moving,
        "update(data)",
        "must have places that are fixed, or that differ from time to time, as those before",
        f"places of shape {None if data.r is None else data.r.shape}",
        "Give `r` of shape (n, J, R) in both if places move.",
    )
    if data.r is not None and not data.locations.moving and is_concrete(data.r, old.data.r):
        require(
            np.array_equal(data.r, np.asarray(old.data.r)),
            "update(data)",
            "must be at the same fixed places as the data before",
            "others",
            "Mark places without a reading as missing.",
        )
    check_resolution("update", data)
    if is_concrete(old.end.t, data.t):
        require(
            float(data.t[0]) >= float(old.end.t),
            "update(data)",
            f"must not begin before {old.end.t}, the last time seen",
            data.t[0],
            "Infer anew from all data if late observations came in.",
        )


def _structure(data: Data):
    return jax.tree.structure(data.aux), [np.shape(leaf)[data.y.ndim :] for leaf in jax.tree.leaves(data.aux)]


@eqx.filter_jit
def _forward(prior, lik, rule, data, start, step) -> SiteState:
    return first_pass(prior.discretise(data, start), lik, rule, step, data)


def _belief_before(old: Solution, length: int, smoother: Smoother) -> Belief | None:
    """What the filter knew before the last steps."""
    before = old.data.t.shape[0] - length
    return old.start if before == 0 else _filter_until(old, before, smoother)


@eqx.filter_jit
def _filter_until(old: Solution, before: int, smoother: Smoother) -> Belief:
    early = old.prior.discretise(old.data.first(before), old.start)
    filtered = smoother.filter(early, jax.tree.map(lambda leaf: leaf[:before], old.sites))
    return Belief(old.data.t[before - 1], *filtered.last)
