"""Filter and smoother that take several steps at once."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.conditioning import condition
from ssep.linalg import symmetrise
from ssep.marginals import Marginals
from ssep.scanning import scan
from ssep.sites import SiteState
from ssep.smoothers.base import Forward, Record
from ssep.smoothers.strides import Strides, strides_of
from ssep.statespace import Closing, Dynamics, StateSpace, pack, unpack
from ssep.types import Scalar, State, StateMatrix

_STRIDES_AT_ONCE = 256


class Stridewise(Record):
    """What the filter kept of each stride, for the way back."""

    strides: Strides
    mean: Float[Array, "stride target"]
    cov: Float[Array, "stride target target"]
    """Of the targets, given the sites before the stride."""
    cross: Float[Array, "stride state target"]
    """Covariance of the state after the stride with the targets, before they are conditioned on."""
    shift: Float[Array, "stride target"]
    shrink: Float[Array, "stride target target"]
    """What conditioning on the sites of the stride did; see `Conditioned`."""

    def smooth(self, state_space: StateSpace, closing: Closing) -> Marginals:
        """Posterior marginals of each observation, without means."""
        start = (closing.shift, closing.shrink)
        _, gained = scan(lambda *each: pull(self.strides.dynamics, *each), start, self.inputs, reverse=True)
        return self.complete(state_space, *gained)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What the way back needs of each stride."""
        return self.strides.gaps, self.strides.reading, self.cross, self.shift, self.shrink, self.cov

    def complete(
        self, state_space: StateSpace, mean: Float[Array, "stride target"], cov: Float[Array, "stride target target"]
    ) -> Marginals:
        """Posterior marginals, given what later strides add to the targets of each."""
        moved = jnp.einsum("kij,kj->ki", self.cov, self.shift)
        kept = self.cov - self.cov @ self.shrink @ self.cov
        found = self._per_step(self.mean + moved + mean, symmetrise(kept - cov))
        return jax.vmap(state_space.spread)(state_space.steps, found)

    def means(self, state_space: StateSpace, sites: SiteState, closing: Closing) -> Float[Array, "time *obs latent"]:
        """Posterior means under sites with other linear parts."""
        strides = self.strides
        dynamics = strides.dynamics

        def forward(state, inputs):
            gap, reading, linear, precision, cov, shrink, cross = inputs
            mean = reading @ state
            slope = linear - precision @ mean
            shift = slope - shrink @ (cov @ slope)
            return dynamics.advance(gap, state[:, None])[:, 0] + cross @ shift, (mean, shift)

        def backward(vector, inputs):
            gap, reading, cross, shift, shrink, cov = inputs
            seen = cross.T @ vector
            vector = dynamics.retreat(gap, vector[:, None])[:, 0] + reading.T @ (shift - shrink @ seen)
            return vector, seen - cov @ (shrink @ seen)

        collected = _collect(strides, jax.vmap(state_space.collect)(state_space.steps, sites))
        start, _ = state_space.start()
        inputs = (
            strides.gaps,
            strides.reading,
            collected.linear,
            collected.precision,
            self.cov,
            self.shrink,
            self.cross,
        )
        last, (mean, shift) = jax.lax.scan(forward, start, inputs)
        inputs = (strides.gaps, strides.reading, self.cross, shift, self.shrink, self.cov)
        _, gained = jax.lax.scan(backward, -closing.shrink @ last, inputs, reverse=True)
        found = mean + jnp.einsum("kij,kj->ki", self.cov, shift) + gained
        targets = strides.unfold(found.reshape(found.shape[0], strides.length, -1))
        return jax.vmap(state_space.spread_mean)(state_space.steps, targets)

    def _per_step(self, mean: Float[Array, "stride target"], cov: Float[Array, "stride target target"]) -> Marginals:
        length = self.strides.length
        targets = mean.shape[1] // length
        own = jnp.arange(length)
        blocks = cov.reshape(-1, length, targets, length, targets)[:, own, :, own]
        mean = mean.reshape(-1, length, targets)
        return Marginals(self.strides.unfold(mean), self.strides.unfold(jnp.swapaxes(blocks, 0, 1)))


Belief = tuple[State, StateMatrix]


def meet(dynamics: Dynamics, belief: Belief, inputs: Any) -> tuple[Belief, tuple[Any, Scalar]]:
    """Go through one stride: the belief after it, what is kept of it, and the logarithm of its expected sites."""
    gap, reading, noise, shared, site = inputs
    moments = pack(*belief)
    seen = reading @ moments
    target_mean, target_cov = seen[:, -1], symmetrise(seen[:, :-1] @ reading.T) + noise
    cross = dynamics.advance(gap, seen[:, :-1].T) + shared
    conditioned = condition(target_mean, target_cov, site.linear, site.precision)
    mean, cov = unpack(dynamics.predict(gap, moments))
    belief = (mean + cross @ conditioned.shift, cov - symmetrise(cross @ conditioned.shrink @ cross.T))
    kept = (target_mean, target_cov, cross, conditioned.shift, conditioned.shrink)
    return belief, (kept, conditioned.log_normaliser)


def pull(dynamics: Dynamics, adjoint: Belief, inputs: Any) -> tuple[Belief, tuple[Array, Array]]:
    """Go back through one stride: the adjoint before it, and what later sites add to its targets."""
    vector, matrix = adjoint
    gap, reading, cross, shift, shrink, cov = inputs
    # C = A - U Gam G: a <- C'a + G'rho; L <- C'L C + G'Gam G.
    seen, weighted = cross.T @ vector, matrix @ cross
    inside = cross.T @ weighted
    size, width = vector.shape[0], shift.shape[0]
    moved = dynamics.retreat(gap, jnp.concatenate([matrix, weighted, vector[:, None]], 1))
    lost = moved[:, size:-1] @ (shrink @ reading)
    inner = shrink @ inside @ shrink + shrink
    carried = symmetrise(dynamics.retreat(gap, moved[:, :size].T)) + reading.T @ (inner @ reading)
    vector = moved[:, -1] + reading.T @ (shift - shrink @ seen)
    # What later sites add to those up to here: E U'a and -E U'L U E', with E = I - V Gam.
    keep = jnp.eye(width, dtype=shift.dtype) - cov @ shrink
    return (vector, carried - lost - lost.T), (keep @ seen, keep @ inside @ keep.T)


class Folded(eqx.Module):
    """A state space and sites, taken together into strides."""

    state_space: StateSpace
    strides: Strides
    each: SiteState
    """The sites of each step as one site of its targets."""

    def __init__(self, state_space: StateSpace, sites: SiteState, length: int, multiple: int = 1):
        self.state_space, self.strides = state_space, strides_of(state_space, length, multiple)
        self.each = jax.vmap(state_space.collect)(state_space.steps, sites)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What going forward needs of each stride."""
        strides = self.strides
        return strides.gaps, strides.reading, strides.noise, strides.shared, _collect(strides, self.each)

    def complete(self, kept: tuple[Any, ...], log_normalisers: Array, last: Belief) -> Forward:
        """What a forward pass finds, given what was kept of each stride."""
        record = Stridewise(self.strides, *kept)
        predicted = _predictions(self.strides, record, self.each)
        met = jax.vmap(condition)(predicted.mean, predicted.cov, self.each.linear, self.each.precision)
        spread = jax.vmap(self.state_space.spread)
        # The determinant of a stride may be positive where two of its steps leave no distribution; theirs are not.
        proper = jnp.isfinite(jax.lax.stop_gradient(met.log_normaliser)).all()
        return Forward(
            spread(self.state_space.steps, predicted),
            spread(self.state_space.steps, Marginals(met.mean, met.cov)),
            jnp.where(proper, jnp.sum(log_normalisers), jnp.nan),
            record,
            last,
        )


def filter_strides(state_space: StateSpace, sites: SiteState, length: int) -> Forward:
    """The forward pass."""
    folded = Folded(state_space, sites, length)
    dynamics = folded.strides.dynamics
    last, (kept, log_normalisers) = scan(lambda *each: meet(dynamics, *each), state_space.start(), folded.inputs)
    return folded.complete(kept, log_normalisers, last)


def _collect(strides: Strides, sites: SiteState) -> SiteState:
    """The sites of each stride, given those of each step, as one site of its targets."""
    linear, precision = strides.fold(sites.linear), strides.fold(sites.precision)
    count, length, targets = linear.shape
    own, size = jnp.arange(length), length * targets
    blocks = jnp.zeros((count, length, targets, length, targets), linear.dtype)
    blocks = blocks.at[:, own, :, own].set(jnp.swapaxes(precision, 0, 1))
    return SiteState(linear.reshape(count, size), blocks.reshape(count, size, size))


def _predictions(strides: Strides, record: Stridewise, sites: SiteState) -> Marginals:
    """Targets of each step given all sites before: those of its stride are taken up one after the other."""
    linear, precision = strides.fold(sites.linear), strides.fold(sites.precision)
    targets = linear.shape[-1]

    def within(mean: Array, cov: Array, linear: Array, precision: Array) -> Marginals:
        def forward(belief, inputs):
            mean, cov = belief
            place, linear, precision = inputs
            rows = jax.lax.dynamic_slice_in_dim(cov, place, targets, 0)
            own = Marginals(
                jax.lax.dynamic_slice_in_dim(mean, place, targets),
                jax.lax.dynamic_slice_in_dim(rows, place, targets, 1),
            )
            met = condition(own.mean, own.cov, linear, precision)
            return (mean + rows.T @ met.shift, cov - rows.T @ (met.shrink @ rows)), own

        places = targets * jnp.arange(strides.length)
        return scan(forward, (mean, cov), (places, linear, precision))[1]

    # Some strides at a time, and again for derivatives, which would otherwise keep every step of every stride.
    every = (record.mean, record.cov, linear, precision)
    found = jax.lax.map(jax.checkpoint(lambda each: within(*each)), every, batch_size=_STRIDES_AT_ONCE)
    return jax.tree.map(strides.unfold, found)
