"""Dynamics of sums of separable terms: many copies of one small process, coupled in space only."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from ssep.linalg import UNROLL_LIMIT, root_psd
from ssep.statespace.dense import DenseDynamics
from ssep.statespace.dynamics import Dynamics, Gap
from ssep.types import State, StateMatrix


class TermDynamics(eqx.Module):
    """Transitions A_t kron I, noises Q_t kron S, nodes h' kron I: one temporal process at each of some places.

    In the state the derivatives come first and the places second, so that all arithmetic with the small temporal
    matrices is on long rows.
    """

    transitions: Float[Array, "gap small small"]
    noises: Float[Array, "gap small small"]
    observation: Float[Array, " small"]
    spatial: Float[Array, "node node"] | None
    """S; None for the identity."""
    num_nodes: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        """The number of state components."""
        return self.observation.shape[0] * self.num_nodes

    def apply(self, matrix: Float[Array, "rows small"], columns: Float[Array, "state columns"]) -> Float[Array, "..."]:
        """A small matrix, kron the identity, times a matrix."""
        slabs = columns.reshape(matrix.shape[1], -1)
        if matrix.shape[1] > UNROLL_LIMIT:
            moved = matrix @ slabs
        else:
            # Sums of scaled slabs fuse into one pass over memory, which a product with a tiny matrix does not.
            moved = sum(
                (matrix[:, i, None] * slabs[i] for i in range(1, matrix.shape[1])), matrix[:, 0, None] * slabs[0]
            )
        return moved.reshape(-1, columns.shape[-1])

    def expand(self, small: Float[Array, "small small"]) -> StateMatrix:
        """A small matrix kron S."""
        spatial = jnp.eye(self.num_nodes, dtype=small.dtype) if self.spatial is None else self.spatial
        return jnp.kron(small, spatial)


class SeparableDynamics(Dynamics):
    """The terms' states end to end."""

    terms: tuple[TermDynamics, ...]
    initial_mean: State
    initial_cov: StateMatrix

    @property
    def num_nodes(self) -> int:
        """Those of all terms."""
        return sum(term.num_nodes for term in self.terms)

    def advance(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A times a matrix."""
        return self._by_term(lambda term, rows: term.apply(term.transitions[gap], rows), columns)

    def retreat(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A' times a matrix."""
        return self._by_term(lambda term, rows: term.apply(term.transitions[gap].T, rows), columns)

    def add_noise(self, gap: Gap, cov: StateMatrix) -> StateMatrix:
        """A covariance plus Q."""
        return cov + block_diag(*[term.expand(term.noises[gap]) for term in self.terms])

    def noise_root(self) -> Callable[[Gap, State], State]:
        """A function that makes noise out of standard normal numbers: the root of each factor acts on its axis."""
        temporal = [jax.vmap(root_psd)(term.noises) for term in self.terms]
        spatial = [None if term.spatial is None else root_psd(term.spatial) for term in self.terms]

        def noise(gap: Gap, normal: State) -> State:
            draws, begin = [], 0
            for term, root, mix in zip(self.terms, temporal, spatial, strict=True):
                draw = root[gap] @ normal[begin : begin + term.size].reshape(-1, term.num_nodes)
                draws.append((draw if mix is None else draw @ mix.T).ravel())
                begin += term.size
            return jnp.concatenate(draws)

        return noise

    def read(self, columns: Float[Array, "state columns"]) -> Float[Array, "node columns"]:
        """H times a matrix."""
        return self._by_term(lambda term, rows: term.apply(term.observation[None], rows), columns)

    def lift(self, columns: Float[Array, "node columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""
        sizes = [term.num_nodes for term in self.terms]
        return self._by_term(lambda term, rows: term.apply(term.observation[:, None], rows), columns, sizes)

    def to_dense(self) -> DenseDynamics:
        """The same without structure, for tests."""
        gaps = jnp.arange(self.terms[0].transitions.shape[0])
        states, nodes = (
            jnp.eye(count, dtype=self.initial_cov.dtype) for count in (len(self.initial_mean), self.num_nodes)
        )
        return DenseDynamics(
            transitions=jax.vmap(lambda gap: self.advance(gap, states))(gaps),
            noises=jax.vmap(lambda gap: self.add_noise(gap, jnp.zeros_like(states)))(gaps),
            observation=self.lift(nodes).T,
            initial_mean=self.initial_mean,
            initial_cov=self.initial_cov,
        )

    def _by_term(self, function: Callable[..., Array], columns: Array, sizes: Any = None) -> Array:
        if len(self.terms) == 1:
            return function(self.terms[0], columns)
        blocks, begin = [], 0
        for term, size in zip(self.terms, sizes or [term.size for term in self.terms], strict=True):
            blocks.append(function(term, columns[begin : begin + size]))
            begin += size
        return jnp.concatenate(blocks)
