"""The first sites, made by a filter that goes forward once."""

import jax

from ssep.conditioning import condition
from ssep.data import Data
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.refresh import refresh
from ssep.rules.base import Rule
from ssep.sites import SiteState
from ssep.statespace import StateSpace
from ssep.steps.base import StepControl


def first_pass(state_space: StateSpace, lik: Likelihood, rule: Rule, step: StepControl, data: Data) -> SiteState:
    """Initialise the sites by a filter whose predictions are the cavities, with alpha = 1: [W20] algorithm 1.

    The only refresh of sites inside a scan: here each step's sites depend on those before.
    """

    def forward(belief, inputs):
        gap, offset, observations = inputs
        belief = state_space.predict(gap, *belief)
        mean, cov, cross = state_space.project(*belief)
        predicted = Marginals(mean + offset, cov)
        sites = step.begin(refresh(lik, rule, observations, state_space.spread(predicted), 1.0))
        collected = state_space.collect(sites)
        conditioned = condition(predicted.mean, cov, collected.linear, collected.precision)
        return state_space.update(*belief, cross, conditioned), sites

    inputs = (state_space.gap_index, state_space.offset, data.observations)
    return jax.lax.scan(forward, state_space.start(), inputs)[1]
