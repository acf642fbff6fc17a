"""The way it is usually done, to compare with: a covariance filter and a Rauch-Tung-Striebel smoother.

Every step has dense matrices, a Cholesky factorisation of the innovation going forward and one of the predicted
covariance going back; the sites are pseudo-observations with noise, and all covariances of the state are stored.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve

import ssep
from ssep.marginals import Marginals
from ssep.smoothers.base import Filtered, Record
from ssep.statespace import Closing, DenseDynamics, StateSpace, pack


class Kept(Record):
    """All filtered states."""

    mean: jax.Array
    cov: jax.Array

    def smooth(self, state_space: StateSpace, closing: Closing) -> Marginals:
        """The smoother."""
        dynamics = dense(state_space)

        def backward(later, inputs):
            mean, cov, gap, step = inputs
            # The gap that leads to the later state.
            transition, noise = dynamics.transitions[gap], dynamics.noises[gap]
            predicted_mean = transition @ mean
            predicted = transition @ cov @ transition.T + noise
            gain = cho_solve(cho_factor(predicted, lower=True), transition @ cov).T
            mean = mean + gain @ (later[0] - predicted_mean)
            cov = cov + gain @ (later[1] - predicted) @ gain.T
            return (mean, cov), observe(state_space, step, mean, cov)

        last = (self.mean[-1], self.cov[-1])
        steps = jax.tree.map(lambda each: each[:-1], state_space.steps)
        inputs = (self.mean[:-1], self.cov[:-1], state_space.gaps.index[1:], steps)
        _, found = jax.lax.scan(backward, last, inputs, reverse=True)
        end = observe(state_space, jax.tree.map(lambda each: each[-1], state_space.steps), *last)
        return jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), found, end)

    def means(self, state_space: StateSpace, sites: ssep.SiteState, closing: Closing) -> jax.Array:
        """Both passes again."""
        return Textbook().filter(state_space, sites).record.smooth(state_space, closing).mean


def dense(state_space: StateSpace) -> DenseDynamics:
    """Matrices without structure."""
    return state_space.dynamics.to_dense()  # pyright: ignore[reportReturnType]


def observe(state_space: StateSpace, step, mean: jax.Array, cov: jax.Array) -> Marginals:
    """Marginals of the step's observations."""
    _, targets = state_space.project(step, pack(mean, cov))
    return state_space.spread(step, targets)


class Textbook(ssep.Smoother):
    """The textbook's filter and smoother."""

    def filter(self, state_space: StateSpace, sites: ssep.SiteState) -> Filtered:
        """The filter."""
        view, dynamics = state_space.view, dense(state_space)
        centred, _ = view.centre(sites)
        targets = state_space.num_targets

        def forward(belief, inputs):
            mean, cov = belief
            gap, step, site = inputs
            transition = dynamics.transitions[gap]
            mean, cov = transition @ mean, transition @ cov @ transition.T + dynamics.noises[gap]
            reading = state_space.read(step, jnp.eye(mean.shape[0], dtype=mean.dtype))
            seen, within = reading @ mean, reading @ cov @ reading.T
            collected = state_space.collect(step, site)
            # A site as a pseudo-observation needs an inverse, so it must not be singular.
            precision = collected.precision + 1e-8 * jnp.eye(targets, dtype=mean.dtype)
            factor = cho_factor(precision, lower=True)
            noise, observed = cho_solve(factor, jnp.eye(targets, dtype=mean.dtype)), cho_solve(factor, collected.linear)
            innovation, residual = within + noise, observed - seen
            root = cho_factor(innovation, lower=True)
            gain = cho_solve(root, reading @ cov).T
            after = (mean + gain @ residual, cov - gain @ innovation @ gain.T)
            predicted = state_space.spread(step, Marginals(seen, within))
            updated = state_space.spread(step, Marginals(reading @ after[0], reading @ after[1] @ reading.T))
            # log E[site]: that of the pseudo-observation, and what makes a density out of a site.
            log_normaliser = (observed @ collected.linear - residual @ cho_solve(root, residual)) / 2
            log_normaliser -= jnp.sum(jnp.log(jnp.diagonal(root[0]))) + jnp.sum(jnp.log(jnp.diagonal(factor[0])))
            return after, (*after, predicted, updated, log_normaliser)

        inputs = (state_space.gaps.index, state_space.steps, centred)
        last, (mean, cov, predicted, updated, log_normalisers) = jax.lax.scan(forward, state_space.start(), inputs)
        closing = state_space.close(last)
        total = jnp.sum(log_normalisers)
        return Filtered(state_space, predicted, updated, total, closing.log_normaliser, Kept(mean, cov), closing)
