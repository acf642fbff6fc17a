"""Filter and smoother one step after the other."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.conditioning import Conditioned, condition
from ssep.linalg import matmul, symmetrise
from ssep.marginals import Marginals
from ssep.scanning import scan
from ssep.sites import SiteState
from ssep.smoothers.base import Forward, Record
from ssep.statespace import StateSpace


class Stepwise(Record):
    """What the filter kept of each step, for the way back."""

    updated: Marginals
    cross: Float[Array, "time state target"]
    """Covariance of the predicted state with the targets."""
    shift: Float[Array, "time target"]
    shrink: Float[Array, "time target target"]
    """What conditioning on the sites of each step did; see `Conditioned`."""

    def smooth(self, state_space: StateSpace) -> Marginals:
        """Posterior marginals of each observation, without means."""

        def backward(adjoint, inputs):
            vector, matrix = adjoint
            step, cross, shift, shrink = inputs
            # a <- a + H'(rho - Gam U'a); L <- C'L C + H'Gam H with C = I - U Gam H, expanded to terms of rank d.
            seen = matmul(cross.T, vector[:, None])[:, 0]
            weighted = matmul(matrix, cross)
            inside = matmul(cross.T, weighted)
            halved = matmul(shrink, inside)
            inner = matmul(halved, shrink) + shrink
            vector = vector + state_space.lift(step, (shift - jnp.sum(shrink * seen, -1))[:, None])[:, 0]
            lifted = state_space.lift(step, matmul(shrink, weighted.T))
            matrix = matrix - 2 * symmetrise(lifted) + state_space.lift(step, state_space.lift(step, inner).T)
            # What later sites add to those up to here: E U'a and -E U'L U E' of before, with E = I - V Gam.
            keep = jnp.eye(shift.shape[0], dtype=shift.dtype) - matmul(state_space.read(step, cross), shrink)
            gained = Marginals(jnp.sum(keep * seen, -1), matmul(matmul(keep, inside), keep.T))
            return state_space.pull_back(step, vector, matrix), state_space.spread(step, gained)

        mean, cov = state_space.start()
        inputs = (state_space.steps, self.cross, self.shift, self.shrink)
        zero = (jnp.zeros_like(mean), jnp.zeros_like(cov))
        _, gained = scan(backward, zero, inputs, reverse=True)
        return Marginals(self.updated.mean + gained.mean, self.updated.cov - symmetrise(gained.cov))

    def means(self, state_space: StateSpace, sites: SiteState) -> Float[Array, "time *obs latent"]:
        """Posterior means under sites with other linear parts."""

        def forward(state, inputs):
            step, site, shrink, cross = inputs
            state = state_space.carry(step, state)
            predicted = state_space.spread_mean(step, state_space.read(step, state[:, None])[:, 0])
            pull = jnp.sum(site.precision * predicted[..., None, :], -1)
            slope = state_space.collect_linear(step, site.linear - pull)
            # rho = inv(I + Lam V) slope = slope - Gam V slope, with V = H U.
            spread = state_space.read(step, matmul(cross, slope[:, None]))[:, 0]
            shift = slope - jnp.sum(shrink * spread, -1)
            return state + matmul(cross, shift[:, None])[:, 0], (predicted, shift)

        def backward(vector, inputs):
            step, shift, shrink, cross = inputs
            seen = matmul(cross.T, vector[:, None])[:, 0]
            vector = vector + state_space.lift(step, (shift - jnp.sum(shrink * seen, -1))[:, None])[:, 0]
            moved = state_space.spread_mean(step, matmul(cross.T, vector[:, None])[:, 0])
            return state_space.carry_back(step, vector), moved

        start, _ = state_space.start()
        steps, shrink, cross = state_space.steps, self.shrink, self.cross
        _, (predicted, shift) = jax.lax.scan(forward, start, (steps, sites, shrink, cross))
        _, moved = jax.lax.scan(backward, jnp.zeros_like(start), (steps, shift, shrink, cross), reverse=True)
        return predicted + moved


def filter_steps(state_space: StateSpace, sites: SiteState) -> Forward:
    """The forward pass."""
    # With one or two targets it is cheaper to condition again, all steps at once, than to write more out of the scan.
    again = state_space.num_targets <= 2

    def meet(step, site, mean, cov) -> Conditioned:
        collected = state_space.collect(step, site)
        return condition(mean, cov, collected.linear, collected.precision)

    def summary(step, mean, cov, conditioned: Conditioned) -> _Summary:
        return _Summary(
            state_space.spread(step, Marginals(mean, cov)),
            state_space.spread(step, Marginals(conditioned.mean, conditioned.cov)),
            conditioned.log_normaliser,
            conditioned.shift,
            conditioned.shrink,
        )

    def forward(belief, inputs):
        step, site = inputs
        belief = state_space.predict(step, *belief)
        mean, cov, cross = state_space.project(step, *belief)
        conditioned = meet(step, site, mean, cov)
        kept: Any = (mean, cov) if again else summary(step, mean, cov, conditioned)
        return state_space.update(*belief, cross, conditioned), (cross, kept)

    inputs = (state_space.steps, sites)
    last, (cross, kept) = scan(forward, state_space.start(), inputs)
    if again:
        kept = jax.vmap(lambda step, site, mean, cov: summary(step, mean, cov, meet(step, site, mean, cov)))(
            *inputs, *kept
        )
    record = Stepwise(kept.updated, cross, kept.shift, kept.shrink)
    return Forward(kept.predicted, kept.updated, jnp.sum(kept.log_normaliser), record, last)


class _Summary(eqx.Module):
    """What is kept of a step besides the cross-covariance."""

    predicted: Marginals
    updated: Marginals
    log_normaliser: Float[Array, "*time"]
    shift: Float[Array, "*time target"]
    shrink: Float[Array, "*time target target"]
