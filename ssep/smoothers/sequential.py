"""Filter and smoother one step after the other, with the adjoint recursion going back."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.conditioning import condition
from ssep.linalg import matmul, symmetrise
from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Smoother
from ssep.statespace import StateSpace


class Sequential(Smoother):
    """A scan forward and a scan back.

    The backward pass is the adjoint (modified Bryson-Frazier) recursion: it inverts no predicted covariance, so times
    may coincide and the process noise may vanish, and it needs only what the filter kept in function space.
    """

    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass."""
        sites = state_space.collect(sites)

        def forward(belief, inputs):
            gap, offset, linear, precision = inputs
            belief = state_space.predict(gap, *belief)
            mean, cov, cross = state_space.project(*belief)
            conditioned = condition(mean + offset, cov, linear, precision)
            return state_space.update(*belief, cross, conditioned), (mean + offset, cov, cross)

        inputs = (state_space.gap_index, state_space.offset, sites.linear, sites.precision)
        last, (mean, cov, cross) = jax.lax.scan(forward, state_space.start(), inputs)
        conditioned = jax.vmap(condition)(mean, cov, sites.linear, sites.precision)
        return Filtered(
            state_space=state_space,
            predicted=Marginals(mean, cov),
            conditioned=conditioned,
            cross=cross,
            last_mean=last[0],
            last_cov=last[1],
        )

    def smooth(self, filtered: Filtered) -> Marginals:
        """The backward pass."""
        state_space = filtered.state_space

        def backward(adjoint, inputs):
            vector, matrix = adjoint
            gap, cross, shift, shrink = inputs
            # a <- a + H'(rho - Gam U'a); L <- C'L C + H'Gam H with C = I - U Gam H, expanded to rank-d terms.
            seen = matmul(cross.T, vector[:, None])[:, 0]
            weighted = matmul(matrix, cross)
            lifted = state_space.lift(shrink)
            inner = matmul(matmul(shrink, matmul(cross.T, weighted)), shrink) + shrink
            vector = vector + state_space.lift((shift - jnp.sum(shrink * seen, -1))[:, None])[:, 0]
            matrix = matrix - 2 * symmetrise(matmul(lifted, weighted.T)) + state_space.lift(state_space.lift(inner).T)
            pulled = matmul(cross.T, vector[:, None])[:, 0], matmul(cross.T, matmul(matrix, cross))
            return state_space.pull_back(gap, vector, matrix), pulled

        mean, cov = state_space.start()
        conditioned = filtered.conditioned
        inputs = (state_space.gap_index, filtered.cross, conditioned.shift, conditioned.shrink)
        zero = (jnp.zeros_like(mean), jnp.zeros_like(cov))
        _, (moved, shrunk) = jax.lax.scan(backward, zero, inputs, reverse=True)
        return Marginals(filtered.predicted.mean + moved, filtered.predicted.cov - symmetrise(shrunk))

    def mean(self, filtered: Filtered, sites: SiteState) -> Float[Array, "time latent"]:
        """Posterior means under other linear parts; sites are per step."""
        state_space = filtered.state_space
        cov, shrink, cross = filtered.predicted.cov, filtered.conditioned.shrink, filtered.cross

        def forward(state, inputs):
            gap, offset, linear, precision, cov, shrink, cross = inputs
            state = state_space.carry(gap, state)
            predicted = state_space.read(state) + offset
            slope = linear - jnp.sum(precision * predicted, -1)
            # inv(I + Lam V) = I - Gam V.
            shift = slope - jnp.sum(shrink * jnp.sum(cov * slope, -1), -1)
            return state + matmul(cross, shift[:, None])[:, 0], (predicted, shift)

        def backward(vector, inputs):
            gap, shift, shrink, cross = inputs
            seen = matmul(cross.T, vector[:, None])[:, 0]
            vector = vector + state_space.lift((shift - jnp.sum(shrink * seen, -1))[:, None])[:, 0]
            return state_space.carry_back(gap, vector), matmul(cross.T, vector[:, None])[:, 0]

        start, _ = state_space.start()
        gap, offset = state_space.gap_index, state_space.offset
        inputs = (gap, offset, sites.linear, sites.precision, cov, shrink, cross)
        _, (predicted, shift) = jax.lax.scan(forward, start, inputs)
        _, moved = jax.lax.scan(backward, jnp.zeros_like(start), (gap, shift, shrink, cross), reverse=True)
        return predicted + moved
