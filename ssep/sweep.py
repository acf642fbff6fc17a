"""One sweep: filter, smooth, refresh every site. The only place where rules meet priors."""

import equinox as eqx

from ssep.compatibility import check_compatible, require_kind
from ssep.data import Data, Observations
from ssep.energies import Energy, FilterEnergy
from ssep.first_pass import first_pass
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.priors.base import Prior
from ssep.refresh import refresh
from ssep.rules.base import Rule
from ssep.sites import SiteState, remove
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.statespace import View
from ssep.steps import Step
from ssep.types import Scalar


def sweep(
    prior: Prior,
    lik: Likelihood,
    sites: SiteState | None,
    rule: Rule,
    data: Data,
    *,
    smoother: Smoother = Sequential(),
    step: Step = Step(),
    objective: Energy = FilterEnergy(),
) -> tuple[Marginals, SiteState, Scalar]:
    """Run the filter and the smoother under the sites, then refresh every site.

    Args:
        prior: The Gaussian process prior of the latents.
        lik: The likelihood of one observation.
        sites: The current sites, or None for the first sweep, which initialises them in a forward pass.
        rule: How a site is refreshed.
        data: The observations.
        smoother: How the filter and the smoother are run.
        step: How far the sites move, and what happens to indefinite precisions.
        objective: Which energy is returned.

    Returns:
        posterior: Marginals of the latents under the incoming (or just initialised) sites.
        sites: The refreshed sites.
        energy: The objective at the incoming (or just initialised) sites.
    """
    for name, value, kind in [("smoother", smoother, Smoother), ("step", step, Step), ("objective", objective, Energy)]:
        require_kind(name, value, kind)
    check_compatible(prior, lik, sites, rule, data)
    return _sweep(prior, lik, sites, rule, data, smoother, step, objective)


@eqx.filter_jit
def _sweep(prior, lik, sites, rule, data, smoother, step, objective):
    state_space = prior.discretise(data)
    cold = sites is None
    sites = first_pass(state_space, lik, rule, step, data) if cold else drop_missing(sites, data.observations)
    filtered = smoother.filter(state_space, sites)
    posterior = smoother.smooth(filtered)
    energy = objective(lik, rule, data, sites, filtered, posterior)
    moved = refreshed(lik, rule, data, state_space.view, step, sites, posterior)
    return state_space.view.complete(posterior), moved, energy


def refreshed(
    lik: Likelihood, rule: Rule, data: Data, view: View, step: Step, sites: SiteState, posterior: Marginals
) -> SiteState:
    """Where the sites move, given the posterior of what the nodes resolve."""
    cavity = remove(posterior, sites, rule.alpha)
    return step(sites, refresh(lik, rule, data.observations, cavity, view.unresolved, rule.alpha))


def drop_missing(sites: SiteState, observations: Observations) -> SiteState:
    """Given sites may come from data in which less was missing: what is missing now says nothing."""
    return observations.map(lambda y, aux, site: site, sites)
