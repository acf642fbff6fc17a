"""One sweep: filter, smooth, refresh every site. The only place where rules meet priors."""

import equinox as eqx
import jax

from ssep.compatibility import check_compatible, require_kind
from ssep.conditioning import condition
from ssep.data import Data, Observations
from ssep.energies import Energy, FilterEnergy
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.priors.base import Prior
from ssep.rules.base import Rule
from ssep.sites import SiteState, remove
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.statespace import StateSpace
from ssep.step import Step
from ssep.types import Scalar, ScalarLike


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
    if sites is None:
        sites = _first_pass(state_space, lik, rule, step, data)
    else:
        sites = _drop_missing(sites, data.observations)
    filtered = smoother.filter(state_space, sites)
    posterior = state_space.spread(smoother.smooth(filtered))
    energy = objective(lik, rule, data, sites, filtered, posterior)
    cavity = remove(posterior, sites, rule.alpha)
    target = _targets(lik, rule, data.observations, cavity, rule.alpha)
    return posterior, step(sites, target, cavity.mean), energy


def _targets(
    lik: Likelihood, rule: Rule, observations: Observations, cavity: Marginals, alpha: ScalarLike
) -> SiteState:
    """The rule's site for every observation; a zero site where one is missing."""
    return observations.map(lambda y, aux, marginal: rule.update(lik, y, aux, marginal, alpha), cavity)


def _drop_missing(sites: SiteState, observations: Observations) -> SiteState:
    """Given sites may come from data in which less was missing: what is missing now says nothing."""
    return observations.map(lambda y, aux, site: site, sites)


def _first_pass(state_space: StateSpace, lik: Likelihood, rule: Rule, step: Step, data: Data) -> SiteState:
    """Initialise the sites by a filter whose predictions are the cavities, with alpha = 1: [W20] algorithm 1.

    The only refresh of sites inside a scan: here each step's sites depend on those before.
    """

    def forward(belief, inputs):
        gap, offset, observations = inputs
        belief = state_space.predict(gap, *belief)
        mean, cov, cross = state_space.project(*belief)
        predicted = Marginals(mean + offset, cov)
        cavity = state_space.spread(predicted)
        target = _targets(lik, rule, observations, cavity, 1.0)
        sites = step.begin(target, cavity.mean)
        collected = state_space.collect(sites)
        conditioned = condition(predicted.mean, cov, collected.linear, collected.precision)
        return state_space.update(*belief, cross, conditioned), sites

    inputs = (state_space.gap_index, state_space.offset, data.observations)
    return jax.lax.scan(forward, state_space.start(), inputs)[1]
