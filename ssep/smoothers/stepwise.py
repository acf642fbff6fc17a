"""Filter and smoother one step after the other."""

from functools import partial
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
from ssep.statespace import Closing, StateSpace, pack, unpack


class Summary(eqx.Module):
    """What a step finds, given its targets."""

    predicted: Marginals
    updated: Marginals
    log_normaliser: Float[Array, "*time"]
    shift: Float[Array, "*time target"]
    shrink: Float[Array, "*time target target"]


class Stepwise(Record):
    """What the filter kept of each step, for the way back."""

    updated: Marginals
    seen: Float[Array, "time target moments"]
    """H [P | m] of the predicted state."""
    shift: Float[Array, "time target"]
    shrink: Float[Array, "time target target"]
    """What conditioning on the sites of each step did; see `Conditioned`."""

    def smooth(self, state_space: StateSpace, closing: Closing) -> Marginals:
        """Posterior marginals of each observation, without means."""

        def backward(adjoint, inputs):
            step, seen, shift, shrink = inputs
            cross = seen[:, :-1].T
            # a <- a + H'(rho - Gam U'a); L <- C'L C + H'Gam H with C = I - U Gam H, expanded to terms of rank d. Of two
            # terms that mirror each other one is taken twice: `pull_back` makes the result symmetric.
            met = matmul(cross.T, adjoint)
            inside = matmul(met[:, :-1], cross)
            inner = matmul(matmul(shrink, inside), shrink) + shrink
            matrix = 2 * matmul(shrink, met[:, :-1]) - state_space.lift(step, inner).T
            vector = jnp.sum(shrink * met[:, -1], -1) - shift
            change = state_space.lift(step, pack(vector, matrix))
            met = pack(met[:, -1], inside)
            gained = met if again else gain(state_space, step, seen, shrink, met)
            return state_space.pull_back(step, adjoint - change), gained

        again = _is_cheap(state_space)
        inputs = (state_space.steps, self.seen, self.shift, self.shrink)
        _, gained = scan(backward, pack(closing.shift, closing.shrink), inputs, reverse=True)
        if again:
            gained = jax.vmap(partial(gain, state_space))(state_space.steps, self.seen, self.shrink, gained)
        return Marginals(self.updated.mean + gained.mean, self.updated.cov - gained.cov)

    def means(self, state_space: StateSpace, sites: SiteState, closing: Closing) -> Float[Array, "time *obs latent"]:
        """Posterior means under sites with other linear parts."""

        def forward(state, inputs):
            step, site, shrink, seen = inputs
            cross = seen[:, :-1].T
            state = state_space.carry(step, state)
            predicted = state_space.spread_mean(step, state_space.read(step, state[:, None])[:, 0])
            pull = jnp.sum(site.precision * predicted[..., None, :], -1)
            slope = state_space.collect_linear(step, site.linear - pull)
            # rho = inv(I + Lam V) slope = slope - Gam V slope, with V = H U.
            spread = state_space.read(step, matmul(cross, slope[:, None]))[:, 0]
            shift = slope - jnp.sum(shrink * spread, -1)
            return state + matmul(cross, shift[:, None])[:, 0], (predicted, shift)

        def backward(vector, inputs):
            step, shift, shrink, seen = inputs
            cross = seen[:, :-1].T
            met = matmul(cross.T, vector[:, None])[:, 0]
            vector = vector + state_space.lift(step, (shift - jnp.sum(shrink * met, -1))[:, None])[:, 0]
            moved = state_space.spread_mean(step, matmul(cross.T, vector[:, None])[:, 0])
            return state_space.carry_back(step, vector), moved

        start, _ = state_space.start()
        steps, shrink, seen = state_space.steps, self.shrink, self.seen
        last, (predicted, shift) = jax.lax.scan(forward, start, (steps, sites, shrink, seen))
        _, moved = jax.lax.scan(backward, -closing.shrink @ last, (steps, shift, shrink, seen), reverse=True)
        return predicted + moved


def filter_steps(state_space: StateSpace, sites: SiteState) -> Forward:
    """The forward pass."""
    again = _is_cheap(state_space)

    def summary(step, seen, targets: Marginals, conditioned: Conditioned) -> Summary:
        predicted = state_space.spread(step, targets)
        # V Gam, as part of the product U Gam that the state's own update needs.
        halved = state_space.read(step, matmul(conditioned.shrink, seen[:, :-1]).T)
        lost = state_space.spread_product(step, halved, targets.cov)
        return Summary(
            predicted,
            Marginals(state_space.spread_mean(step, conditioned.mean), predicted.cov - lost),
            conditioned.log_normaliser,
            conditioned.shift,
            conditioned.shrink,
        )

    def forward(moments, inputs):
        step, site = inputs
        moments = state_space.predict(step, moments)
        seen, targets = state_space.project(step, moments)
        conditioned = meet(state_space, step, site, targets)
        kept: Any = None if again else summary(step, seen, targets, conditioned)
        return state_space.update(moments, seen, conditioned), (seen, kept)

    def afterwards(step, site, seen) -> Summary:
        targets = state_space.targets(step, seen)
        return summary(step, seen, targets, meet(state_space, step, site, targets))

    inputs = (state_space.steps, sites)
    last, (seen, kept) = scan(forward, pack(*state_space.start()), inputs)
    if again:
        kept = jax.vmap(afterwards)(*inputs, seen)
    record = Stepwise(kept.updated, seen, kept.shift, kept.shrink)
    mean, cov = unpack(last)
    return Forward(kept.predicted, kept.updated, jnp.sum(kept.log_normaliser), record, (mean, symmetrise(cov)))


def meet(state_space: StateSpace, step: Any, site: SiteState, targets: Marginals) -> Conditioned:
    """Condition the targets of a step on its sites."""
    collected = state_space.collect(step, site)
    return condition(targets.mean, targets.cov, collected.linear, collected.precision)


def gain(state_space: StateSpace, step: Any, seen: Array, shrink: Array, met: Array) -> Marginals:
    """What later sites add to those up to a step, given U'[L U | a]: E U'a and E U'L U E', with E = I - V Gam."""
    keep = jnp.eye(shrink.shape[0], dtype=shrink.dtype) - matmul(state_space.targets(step, seen).cov, shrink)
    kept = matmul(keep, met)
    return Marginals(state_space.spread_mean(step, kept[:, -1]), state_space.spread_product(step, kept[:, :-1], keep))


def _is_cheap(state_space: StateSpace) -> bool:
    """Whether to work on targets outside of a scan, all steps at once, even twice, rather than to write more out."""
    return state_space.num_targets <= 2
