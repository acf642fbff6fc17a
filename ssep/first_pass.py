"""The first sites, made by a filter that goes forward once."""

import jax.numpy as jnp

from ssep.conditioning import condition
from ssep.data import Data
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.refresh import refresh
from ssep.rules.base import Rule
from ssep.scanning import scan
from ssep.sites import SiteState
from ssep.statespace import StateSpace, pack
from ssep.steps.base import StepControl


def first_pass(state_space: StateSpace, lik: Likelihood, rule: Rule, step: StepControl, data: Data) -> SiteState:
    """Initialise the sites by a filter whose predictions are the cavities, with alpha = 1: [W20] algorithm 1.

    The only refresh of sites inside a scan: here each step's sites depend on those before.
    """
    view = state_space.view

    def forward(moments, inputs):
        here, offset, unresolved, observations = inputs
        moments = state_space.predict(here, moments)
        seen, targets = state_space.project(here, moments)
        cavity = state_space.spread(here, targets)
        cavity = cavity if offset is None else Marginals(cavity.mean + offset, cavity.cov)
        sites = step.begin(refresh(lik, rule, observations, cavity, unresolved, rule.first_alpha))
        pull = 0 if offset is None else jnp.einsum("...ij,...j->...i", sites.precision, offset)
        collected = state_space.collect(here, SiteState(sites.linear - pull, sites.precision))
        conditioned = condition(targets.mean, targets.cov, collected.linear, collected.precision)
        return state_space.update(moments, seen, conditioned), sites

    inputs = (state_space.steps, view.offset, view.unresolved, data.observations)
    return scan(forward, pack(*state_space.start()), inputs)[1]
