"""One sweep and the gradient of its energy, from one backward pass where that is possible."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ssep.compatibility import check_compatible, require_kind
from ssep.data import Data
from ssep.energies import Energy, FilterEnergy
from ssep.first_pass import first_pass
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.priors.base import Prior
from ssep.rules.base import Rule
from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Found, Smoother
from ssep.smoothers.sequential import Sequential
from ssep.statespace import StateSpace
from ssep.steps import Step
from ssep.sweep import drop_missing, refreshed
from ssep.types import Scalar


def sweep_and_gradient(
    prior: Prior,
    lik: Likelihood,
    sites: SiteState | None,
    rule: Rule,
    data: Data,
    *,
    smoother: Smoother = Sequential(),
    step: Step = Step(),
    objective: Energy = FilterEnergy(),
) -> tuple[Marginals, SiteState, Scalar, PyTree]:
    """`sweep`, and the gradient of its energy in the hyperparameters, with the sites held fixed.

    With an energy of the predictions (`FilterEnergy`) and a state of up to eight numbers, one backward pass gives both
    the posterior and the gradient. An energy that reads the posterior has to wait for it before its gradient can begin,
    which takes one more pass forward and one back.

    Args:
        prior: The Gaussian process prior of the latents.
        lik: The likelihood of one observation.
        sites: The current sites, or None for the first sweep; those of the first pass are held fixed as well.
        rule: How a site is refreshed.
        data: The observations.
        smoother: How the filter and the smoother are run.
        step: How far the sites move, and what happens to indefinite precisions.
        objective: Which energy is returned and differentiated.

    Returns:
        posterior: Marginals of the latents under the incoming (or just initialised) sites.
        sites: The refreshed sites.
        energy: The objective at the incoming (or just initialised) sites.
        gradient: Its derivative in every array of floats of `(prior, lik)`, and None in place of all else, as
            `equinox.filter_grad` has it. It can be differentiated again.
    """
    for name, value, kind in [("smoother", smoother, Smoother), ("step", step, Step), ("objective", objective, Energy)]:
        require_kind(name, value, kind, "sweep_and_gradient")
    check_compatible(prior, lik, sites, rule, data, "sweep_and_gradient")
    return _sweep_and_gradient(prior, lik, sites, rule, data, smoother, step, objective)


@eqx.filter_jit
def _sweep_and_gradient(prior, lik, sites, rule, data, smoother, step, objective):
    arrays, rest = eqx.partition((prior, lik), eqx.is_inexact_array)
    state_space = prior.discretise(data)
    cold = sites is None
    sites = first_pass(state_space, lik, rule, step, data) if cold else drop_missing(sites, data.observations)

    def energy(lik: Likelihood, filtered: Filtered, posterior: Marginals) -> Scalar:
        return objective(lik, rule, data, sites, filtered, posterior)

    differentiate = _through_posterior if objective.reads_posterior else _together
    posterior, value, gradient = differentiate(energy, arrays, rest, state_space, data, sites, smoother)
    view = state_space.view
    moved = refreshed(lik, rule, data, view, step, sites, posterior)
    return view.complete(posterior), moved, value, gradient


def _together(energy, arrays, rest, state_space: StateSpace, data: Data, sites: SiteState, smoother: Smoother):
    """The energy reads the filter alone: its derivative goes back together with the smoother."""

    def discretise(prior: Any) -> Any:
        return eqx.filter(eqx.combine(prior, rest[0]).discretise(data), eqx.is_inexact_array)

    model, pull_space = jax.vjp(discretise, arrays[0])
    filtered, back = smoother.filter_both_ways(state_space, sites)
    # Not known yet: an energy that reads it after all is NaN.
    unknown = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), filtered.updated)

    def value(lik: Any, model: Any, found: Found) -> Scalar:
        seen = eqx.tree_at(lambda filtered: filtered.state_space, filtered, eqx.combine(model, state_space))
        return energy(eqx.combine(lik, rest[1]), seen.finding(found), unknown)

    found, (of_lik, of_view, of_found) = jax.value_and_grad(value, (0, 1, 2))(arrays[1], model, filtered.found)
    posterior, (of_filter, _) = back(of_found)
    (of_prior,) = pull_space(jax.tree.map(lambda one, other: one + other, of_view, of_filter))
    return posterior, found, (of_prior, of_lik)


def _through_posterior(energy, arrays, rest, state_space: StateSpace, data: Data, sites: SiteState, smoother: Smoother):
    """The energy reads the posterior: its derivative goes back through the smoother, then through the filter."""

    def value(arrays: Any) -> tuple[Scalar, Marginals]:
        prior, lik = eqx.combine(arrays, rest)
        filtered = smoother.filter_reversible(prior.discretise(data), sites)
        posterior = smoother.smooth(filtered)
        return energy(lik, filtered, posterior), posterior

    (found, posterior), gradient = jax.value_and_grad(value, has_aux=True)(arrays)
    return posterior, found, gradient
