"""The last sweep before a gradient: one solution serves its judgement, the energy, and all derivatives."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ssep.energies import Energy
from ssep.iteration import Problem, Progress, assess, goes_on, settle
from ssep.sites import SiteState
from ssep.steps import StepControl
from ssep.types import Scalar


@eqx.filter_custom_vjp
def last_sweep(
    problem: Problem, begun: Progress, step: StepControl, objective: Energy, frozen: bool
) -> tuple[Scalar, Progress]:
    """Move the sites once more, and the energy where they end.

    The derivative of the energy in the problem, in reverse mode, is that of the energy with the sites held fixed and,
    unless they are frozen, that through one more refresh of them.
    """
    moved = _move(begun, step)
    solved = problem.solve(moved)
    done, kept = _judge(problem, begun, step, moved, solved)

    def energy(sites: SiteState, solved: Any) -> Scalar:
        return objective(problem.likelihood, problem.rule, problem.data, sites, *solved)

    return jax.lax.cond(
        kept, lambda: energy(moved, solved), lambda: energy(begun.sites, problem.solve(begun.sites))
    ), done


@last_sweep.def_fwd
def _forth(perturbed: Any, problem: Problem, begun: Progress, step: StepControl, objective: Energy, frozen: bool):
    moved = _move(begun, step)
    here = _Linearised.at(problem, moved)
    done, kept = _judge(problem, begun, step, moved, here.solved)

    def differentiate(linearised: "_Linearised") -> tuple[Scalar, Problem]:
        return linearised.differentiate(problem, objective, None if frozen else step, done.wanted.usable)

    energy, gradient = jax.lax.cond(
        kept, lambda: differentiate(here), lambda: differentiate(_Linearised.at(problem, begun.sites))
    )
    return (energy, done), gradient


@last_sweep.def_bwd
def _back(gradient: Problem, cotangent: Any, perturbed: Any, problem: Problem, *rest: Any) -> Problem:
    return jax.tree.map(lambda leaf: cotangent[0] * leaf, gradient)


class _Linearised(eqx.Module):
    """The filter and the posterior at some sites, and how to go back through each, as often as is needed."""

    sites: SiteState
    solved: Any
    pull_filter: Any
    pull_smooth: Any

    @classmethod
    def at(cls, problem: Problem, sites: SiteState) -> "_Linearised":
        """Solve at some sites."""
        arrays, rest = eqx.partition(problem, eqx.is_inexact_array)

        def run(arrays: Any, sites: SiteState) -> Any:
            own = eqx.combine(arrays, rest)
            return eqx.partition(own.smoother.filter_reversible(own.state_space, sites), eqx.is_inexact_array)

        filtered, pull_filter, others = jax.vjp(run, arrays, sites, has_aux=True)
        smooth = problem.smoother.smooth
        posterior, pull_smooth = jax.vjp(lambda filtered: smooth(eqx.combine(filtered, others)), filtered)
        return cls(sites, (eqx.combine(filtered, others), posterior), pull_filter, pull_smooth)

    def differentiate(
        self, problem: Problem, objective: Energy, step: StepControl | None, usable: Bool[Array, "*obs"]
    ) -> tuple[Scalar, Problem]:
        """The energy and its derivative in the problem, through a refresh of the sites if there is a step for it."""
        arrays, rest = eqx.partition(problem, eqx.is_inexact_array)
        filtered, others = eqx.partition(self.solved[0], eqx.is_inexact_array)

        def energy(arrays: Any, sites: SiteState, filtered: Any, posterior: Any) -> Scalar:
            own = eqx.combine(arrays, rest)
            return objective(own.likelihood, own.rule, own.data, sites, eqx.combine(filtered, others), posterior)

        def aimed(arrays: Any, posterior: Any) -> SiteState:
            return eqx.combine(arrays, rest).aimed(step, self.sites, usable, self.sites, posterior)

        given = (arrays, self.sites, filtered, self.solved[1])
        value, (direct, of_sites, of_filtered, of_posterior) = jax.value_and_grad(energy, (0, 1, 2, 3))(*given)
        if objective.reads_posterior:
            of_filtered = _sum(of_filtered, *self.pull_smooth(of_posterior))
        through, more = self.pull_filter(of_filtered)
        if step is None:
            return value, _sum(direct, through)
        refreshing, of_posterior = jax.vjp(aimed, arrays, self.solved[1])[1](_sum(of_sites, more))
        moving, _ = self.pull_filter(*self.pull_smooth(of_posterior))
        return value, _sum(direct, through, refreshing, moving)


def _move(begun: Progress, step: StepControl) -> SiteState:
    return step.move(begun.sites, begun.wanted, begun.damping)


def _judge(problem: Problem, begun: Progress, step: StepControl, moved: SiteState, solved: Any) -> Any:
    filtered, posterior = solved
    new = assess(problem, moved, filtered, posterior, begun.damping, begun.num_sweeps + 1)
    settled, kept = settle(problem, step, 0.0, begun, new)
    # Where there is no distribution to begin with, nothing was tried.
    tried = goes_on(begun, 0.0)
    return jax.tree.map(lambda a, b: jnp.where(tried, a, b), settled, begun), tried & kept


def _sum(*trees: Any) -> Any:
    return jax.tree.map(lambda *leaves: sum(leaves), *trees)
