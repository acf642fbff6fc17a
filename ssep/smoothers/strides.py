"""Several steps taken at once: the targets of a stride as functions of the state before it.

With x the state before a stride, its targets are G x + e and the state after it is A x + w, where e and w are noise
with covariances R = cov(e), N = cov(w, e) and Q = cov(w). Conditioning on all sites of a stride together turns many
products with a vector into a few with a matrix, which computers do far faster.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ssep.gaps import STRIDE
from ssep.linalg import UNROLL_LIMIT
from ssep.statespace import Dynamics, StateSpace


class Strides(eqx.Module):
    """The strides of a state space, stride first."""

    dynamics: Dynamics
    """Over whole strides."""
    gaps: PyTree[Array]
    """What the dynamics need to know of each stride."""
    reading: Float[Array, "stride target state"]
    """G."""
    noise: Float[Array, "stride target target"]
    """R."""
    shared: Float[Array, "stride state target"]
    """N."""
    length: int = eqx.field(static=True)
    num_steps: int = eqx.field(static=True)

    def fold(self, per_step: Float[Array, "time *rest"]) -> Float[Array, "stride length *rest"]:
        """Values of steps in rows of strides, filled up with zeros."""
        missing = self.reading.shape[0] * self.length - self.num_steps
        padded = jnp.pad(per_step, ((0, missing), *((0, 0),) * (per_step.ndim - 1)))
        return padded.reshape(-1, self.length, *per_step.shape[1:])

    def unfold(self, rows: Float[Array, "stride length *rest"]) -> Float[Array, "time *rest"]:
        """The reverse of `fold`."""
        return rows.reshape(-1, *rows.shape[2:])[: self.num_steps]


def stride_length(states: int, targets: int) -> int:
    """How many steps to take at once, given the sizes of the state and of what one step conditions on.

    A state of a few numbers costs least one step at a time, without any library call; a step that sees many numbers is
    a product of matrices already.
    """
    if states <= UNROLL_LIMIT or targets > 4:
        return 1
    return STRIDE if targets <= 2 else STRIDE // 4


def strides_of(state_space: StateSpace, length: int, multiple: int = 1) -> Strides:
    """The strides of a state space, by recursions that add positive semi-definite terms only.

    Strides in which nothing happens are added until their number is a multiple of a given one.
    """
    dynamics, view_steps = state_space.dynamics, state_space.view.steps
    patterns, index = state_space.gaps.strides(length)
    idle = -index.shape[0] % multiple
    if idle:
        # The gap before the first time is zero.
        patterns = jnp.concatenate([patterns, jnp.full((1, length), state_space.gaps.index[0])])
        index = jnp.concatenate([index, jnp.full(idle, patterns.shape[0] - 1)])
    parts = dynamics.compose(patterns)
    num_steps, targets = state_space.gaps.index.shape[0], state_space.num_targets

    def operators(pattern: Array, views: PyTree[Array]) -> tuple[Array, Array, Array]:
        whole = pattern * length + jnp.arange(length)
        seen = jax.vmap(lambda view: state_space.lift((None, view), jnp.eye(targets, dtype=dtype)), axis_size=length)(
            views
        )
        reading = jax.vmap(parts.retreat)(whole, seen)
        shaken = jax.vmap(parts.disturb)(whole, seen)

        def forward(shared: Array, inputs: Any) -> tuple[Array, Array]:
            gap, view, noise, place = inputs
            # The covariance of the state's noise with that of the targets so far, and of the targets among each other.
            shared = dynamics.advance(gap, shared)
            shared = jax.lax.dynamic_update_slice(shared, noise, (0, place))
            return shared, state_space.read((None, view), shared)

        size = length * targets
        start = jnp.zeros((shaken.shape[1], size), dtype)
        inputs = (patterns[pattern], views, shaken, targets * jnp.arange(length))
        shared, rows = jax.lax.scan(forward, start, inputs)
        # Each row knows the earlier ones and its own; the later ones are their mirror image.
        earlier = rows.reshape(size, size)
        block = jnp.arange(size) // targets
        noise = jnp.where(block[:, None] >= block, earlier, earlier.T)
        return jnp.moveaxis(reading, 1, -1).reshape(size, -1), noise, shared

    dtype = dynamics.initial_cov.dtype
    if view_steps is None:
        found = jax.vmap(lambda pattern: operators(pattern, None))(jnp.arange(patterns.shape[0]))
        found = jax.tree.map(lambda each: each[index], found)
    else:
        missing = index.shape[0] * length - num_steps

        def rows(each: Array) -> Array:
            padded = jnp.pad(each, ((0, missing), *((0, 0),) * (each.ndim - 1)), mode="edge")
            return padded.reshape(-1, length, *each.shape[1:])

        found = jax.vmap(operators)(index, jax.tree.map(rows, view_steps))
    whole = parts.restricted(slice(length - 1, None, length))
    reading, noise, shared = found
    return Strides(whole, whole.steps(index), reading, noise, shared, length, num_steps)
