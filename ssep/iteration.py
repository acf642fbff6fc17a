"""The loop of sweeps inside `infer`, compiled once whatever the number of sweeps."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ssep.data import Data
from ssep.likelihoods.base import Likelihood, as_scalar
from ssep.marginals import Marginals
from ssep.refresh import Refresh, is_sound, refresh
from ssep.rules.base import Rule
from ssep.sites import SiteState, choose, remove
from ssep.smoothers.base import Filtered, Smoother
from ssep.statespace import StateSpace
from ssep.steps import StepControl
from ssep.steps.base import Trial
from ssep.types import Aux, Latents, Scalar, ScalarLike


class Problem(eqx.Module):
    """What stays the same from sweep to sweep."""

    state_space: StateSpace
    likelihood: Likelihood
    rule: Rule
    data: Data
    smoother: Smoother

    def solve(self, sites: SiteState) -> tuple[Filtered, Marginals]:
        """The filter and the posterior under the sites, of what the nodes resolve."""
        filtered = self.smoother.filter_reversible(self.state_space, sites)
        return filtered, self.smoother.smooth(filtered)

    def refreshed(
        self, step: StepControl, found: SiteState, usable: Bool[Array, "*obs"], sites: SiteState
    ) -> SiteState:
        """Where one full sweep takes the sites, to differentiate; what could not be refreshed is held as found."""
        return self.aimed(step, found, usable, sites, self.solve(sites)[1])

    def aimed(
        self,
        step: StepControl,
        found: SiteState,
        usable: Bool[Array, "*obs"],
        sites: SiteState,
        posterior: Marginals,
    ) -> SiteState:
        """The same, given the posterior."""
        data = self.data.restricted(usable)
        problem = Problem(self.state_space, self.likelihood, self.rule, data, self.smoother)
        return choose(usable, step.aim(problem.refresh(sites, posterior)), found)

    def fit(self, posterior: Marginals, usable: Bool[Array, "*obs"]) -> Scalar:
        """The mean log density of the usable observations at the posterior means."""

        def log_prob(y: Scalar, aux: Aux, latents: Latents) -> Scalar:
            return as_scalar(self.likelihood, self.likelihood.log_prob(y, latents, aux))

        observations = self.data.observations
        counted = observations.mask & usable
        total = jnp.sum(jnp.where(counted, observations.map(log_prob, posterior.mean), 0))
        return total / jnp.maximum(jnp.sum(counted), 1)

    def refresh(self, sites: SiteState, posterior: Marginals) -> Refresh:
        """The targets of the sites."""
        cavity = remove(posterior, sites, self.rule.alpha)
        unresolved = self.state_space.view.unresolved
        return refresh(self.likelihood, self.rule, self.data.observations, cavity, unresolved, self.rule.alpha)


class Progress(eqx.Module):
    """Sites, what they imply, and how the iteration stands."""

    sites: SiteState
    posterior: Marginals
    wanted: Refresh
    proper: Bool[Array, ""]
    """Whether the posterior is a distribution."""
    fit: Scalar
    """The mean log density of the observations at the posterior means."""
    damping: Scalar
    """Of the next step."""
    change: Scalar
    """Of the marginals in the last step that was kept, per unit of damping; infinite before there was one."""
    num_sweeps: Int[Array, ""]


def iterate(
    problem: Problem,
    sites: SiteState,
    step: StepControl,
    tol: ScalarLike,
    max_sweeps: int,
    cold: bool = False,
    damping: Scalar | None = None,
) -> Progress:
    """Sweep until the marginals change by less than `tol` standard deviations.

    A cold start compares the given sites, those of a forward pass, with no sites at all: where the forward pass
    overshoots, nothing is the better place to begin. The damping of an earlier call can be taken up.
    """
    dtype = sites.linear.dtype

    def evaluate(sites: SiteState, damping: Scalar, num_sweeps: Int[Array, ""]) -> Progress:
        return assess(problem, sites, *problem.solve(sites), damping, num_sweeps)

    def advance(old: Progress) -> Progress:
        new = evaluate(step.move(old.sites, old.wanted, old.damping), old.damping, old.num_sweeps + 1)
        return settle(problem, step, tol, old, new)[0]

    first = jnp.asarray(step.first_damping if damping is None else damping, dtype)
    none = jnp.zeros((), int)
    if cold:
        # One after the other, but compiled once: a large model need not fit into memory twice.
        both = jax.tree.map(lambda leaf: jnp.stack([leaf, jnp.zeros_like(leaf)]), sites)
        begun = jax.lax.map(lambda start: evaluate(start, first, none), both)
        length = jax.vmap(lambda progress: _length(progress, step))(begun)
        ahead = (length[0] <= length[1]) & (begun.fit[0] >= begun.fit[1])
        # Without sites there is no distribution if the prior is none.
        better = begun.proper[0] & (ahead | ~begun.proper[1])
        begin = jax.tree.map(lambda leaf: jnp.where(better, leaf[0], leaf[1]), begun)
    else:
        begin = evaluate(sites, first, none)
    if max_sweeps == 0:
        return begin
    return jax.lax.while_loop(
        lambda progress: (progress.num_sweeps < max_sweeps) & goes_on(progress, tol), advance, begin
    )


def assess(
    problem: Problem,
    sites: SiteState,
    filtered: Filtered,
    posterior: Marginals,
    damping: Scalar,
    num_sweeps: Int[Array, ""],
) -> Progress:
    """How the iteration stands with sites that were solved for."""
    proper = jnp.isfinite(filtered.log_normaliser) & is_sound(posterior, problem.state_space.view.unresolved).all()
    wanted = problem.refresh(sites, posterior)
    fit = problem.fit(posterior, wanted.usable)
    never = jnp.full((), jnp.inf, sites.linear.dtype)
    return Progress(sites, posterior, wanted, proper, fit, damping, never, num_sweeps)


def settle(
    problem: Problem, step: StepControl, tol: ScalarLike, old: Progress, new: Progress
) -> tuple[Progress, Bool[Array, ""]]:
    """Keep a step or take it back; and whether it was kept."""
    complete = problem.state_space.view.complete
    keep, damping = step.judge(old.damping, _compare(old, new, step))
    change = _largest_change(complete(old.posterior), complete(new.posterior)) / old.damping
    change = jnp.where(jnp.isnan(change), jnp.inf, change)
    # At the fixed point the residual is rounding error, and its length says nothing.
    keep = keep | (new.proper & (change <= tol))
    chosen = jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)
    settled = eqx.tree_at(
        lambda progress: (progress.damping, progress.change, progress.num_sweeps),
        chosen,
        (damping, jnp.where(keep, change, old.change), new.num_sweeps),
    )
    return settled, keep


def goes_on(progress: Progress, tol: ScalarLike) -> Bool[Array, ""]:
    """Whether there is a distribution to improve on, and something left to improve."""
    return (progress.change > tol) & progress.proper


def _residual(progress: Progress, step: StepControl) -> SiteState:
    """From the sites to where they should go; zero where the target is unusable."""
    residual = jax.tree.map(jnp.subtract, step.aim(progress.wanted), progress.sites)
    return choose(progress.wanted.usable, residual, jax.tree.map(jnp.zeros_like, residual))


def _length(progress: Progress, step: StepControl) -> Scalar:
    residual = _residual(progress, step)
    return _inner(residual, residual, progress.posterior)


def _compare(old: Progress, new: Progress, step: StepControl) -> Trial:
    before, after = _residual(old, step), _residual(new, step)
    # One metric for all three.
    return Trial(
        proper=new.proper,
        before=_inner(before, before, old.posterior),
        after=_inner(after, after, old.posterior),
        product=_inner(before, after, old.posterior),
        fit=old.fit,
        gain=new.fit - old.fit,
        lost=jnp.sum(old.wanted.usable & ~new.wanted.usable),
    )


def _inner(left: SiteState, right: SiteState, marginals: Marginals) -> Scalar:
    """The Fisher inner product of two changes of the sites, each under its observation's marginal.

    For the natural parameters of N(m, V) that is g'V g + tr(dLam V dLam V) / 2 with g = db - dLam m.
    """

    def parts(change: SiteState) -> tuple[Array, Array]:
        slope = change.linear - jnp.einsum("...ij,...j->...i", change.precision, marginals.mean)
        return slope, jnp.einsum("...ij,...jk->...ik", change.precision, marginals.cov)

    (slope, curve), (other_slope, other_curve) = parts(left), parts(right)
    first = jnp.einsum("...i,...ij,...j->...", slope, marginals.cov, other_slope)
    return jnp.sum(first + jnp.einsum("...ij,...ji->...", curve, other_curve) / 2)


def _largest_change(old: Marginals, new: Marginals) -> Scalar:
    """The largest change of a mean or a standard deviation, in standard deviations."""
    before, after = (jnp.sqrt(jnp.diagonal(marginals.cov, axis1=-2, axis2=-1)) for marginals in (old, new))
    change = jnp.maximum(jnp.abs(new.mean - old.mean), jnp.abs(after - before))
    # What is known exactly does not change.
    return jnp.max(jnp.where(after == 0, 0, change / jnp.where(after == 0, 1, after)))
