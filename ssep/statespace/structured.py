"""Dynamics with structure: many small processes side by side, coupled in space at the most."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float, Int

from ssep.linalg import UNROLL_LIMIT, root_psd
from ssep.statespace.dense import DenseDynamics
from ssep.statespace.dynamics import Dynamics, Gap, compose
from ssep.types import State, StateMatrix


class Bundle(eqx.Module):
    """Processes with small states of one size: the blocks of sums and products, or copies at many places.

    In the state the components come first and the processes second, so that all arithmetic with the small matrices is
    on long rows. The last axis of the small matrices is that of the processes, or has length one where all share them;
    then noises may be coupled, Q kron S.
    """

    transitions: Float[Array, "gap small small own"]
    noises: Float[Array, "gap small small own"]
    observation: Float[Array, "small own"]
    spatial: Float[Array, "process process"] | None
    """S; None for the identity."""
    rows: tuple[int, ...] = eqx.field(static=True)
    """The node that each process adds to."""

    @property
    def count(self) -> int:
        """The number of processes."""
        return len(self.rows)

    @property
    def size(self) -> int:
        """The number of state components."""
        return self.observation.shape[0] * self.count

    def apply(
        self, matrix: Float[Array, "rows small own"], columns: Float[Array, "state columns"]
    ) -> Float[Array, "moved columns"]:
        """Small matrices, each for its process, times a matrix."""
        inner = matrix.shape[1]
        slabs = columns.reshape(inner, self.count, -1)
        if inner > UNROLL_LIMIT:
            moved = jnp.einsum("ijk,jkc->ikc", jnp.broadcast_to(matrix, (*matrix.shape[:2], self.count)), slabs)
        else:
            # Sums of scaled slabs fuse into one pass over memory, which products with tiny matrices do not.
            moved = sum((matrix[:, j, :, None] * slabs[j] for j in range(1, inner)), matrix[:, 0, :, None] * slabs[0])
        return moved.reshape(-1, columns.shape[-1])

    def mix(self, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """I kron S times a matrix."""
        if self.spatial is None:
            return columns
        return jnp.einsum(
            "kl,ilc->ikc", self.spatial, columns.reshape(-1, *self.spatial.shape[:1], columns.shape[-1])
        ).reshape(columns.shape)

    def expand(self, small: Float[Array, "small small own"]) -> StateMatrix:
        """Small covariances of all processes as one large covariance."""
        spatial = jnp.eye(self.count, dtype=small.dtype) if self.spatial is None else self.spatial
        return jnp.einsum("ijk,kl->ikjl", jnp.broadcast_to(small, (*small.shape[:2], self.count)), spatial).reshape(
            self.size, self.size
        )


class StructuredDynamics(Dynamics):
    """The states of bundles end to end; their processes add up to nodes."""

    bundles: tuple[Bundle, ...]
    initial_mean: State
    initial_cov: StateMatrix
    flat: State | None
    nodes: int = eqx.field(static=True)

    def __init__(
        self, bundles: tuple[Bundle, ...], initial: list[Float[Array, "small small own"]], flat: State | None = None
    ):
        self.bundles, self.flat = bundles, flat
        self.nodes = 1 + max(row for bundle in bundles for row in bundle.rows)
        self.initial_cov = block_diag(*[bundle.expand(small) for bundle, small in zip(bundles, initial, strict=True)])
        self.initial_mean = jnp.zeros_like(self.initial_cov[0])

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return self.nodes

    @property
    def matrices(self) -> tuple[tuple[Array, Array], ...]:
        """A and Q of each bundle."""
        return tuple((bundle.transitions, bundle.noises) for bundle in self.bundles)

    def advance(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A times a matrix."""
        return self._by_bundle(lambda bundle, small, rows: bundle.apply(small[0], rows), self.at(gap), columns)

    def retreat(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A' times a matrix."""
        return self._by_bundle(
            lambda bundle, small, rows: bundle.apply(jnp.swapaxes(small[0], 0, 1), rows), self.at(gap), columns
        )

    def disturb(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """Q times a matrix."""
        return self._by_bundle(
            lambda bundle, small, rows: bundle.mix(bundle.apply(small[1], rows)), self.at(gap), columns
        )

    def add_noise(self, gap: Gap, cov: StateMatrix) -> StateMatrix:
        """A covariance plus Q."""
        pairs = zip(self.bundles, self.at(gap), strict=True)
        return cov + block_diag(*[bundle.expand(small[1]) for bundle, small in pairs])

    def compose(self, patterns: Int[Array, "pattern length"]) -> "StructuredDynamics":
        """The same over all first parts of rows of gaps."""
        small = [[jnp.moveaxis(each, -1, 1) for each in pair] for pair in self.matrices]
        composed = tuple(compose(transitions, noises, patterns) for transitions, noises in small)
        return self.with_matrices(jax.tree.map(lambda each: jnp.moveaxis(each, 1, -1), composed))

    def with_matrices(self, matrices: tuple[tuple[Array, Array], ...]) -> "StructuredDynamics":
        """The same over other gaps."""
        where = lambda dynamics: [x for bundle in dynamics.bundles for x in (bundle.transitions, bundle.noises)]  # noqa: E731
        return eqx.tree_at(where, self, [each for pair in matrices for each in pair])

    def noise_root(self) -> Callable[[Int[Array, ""], State], State]:
        """A function that makes noise out of standard normal numbers: the root of each factor acts on its axis."""
        small = [
            jnp.moveaxis(jax.vmap(jax.vmap(root_psd))(jnp.moveaxis(bundle.noises, -1, 1)), 1, -1)
            for bundle in self.bundles
        ]
        mixes = [None if bundle.spatial is None else root_psd(bundle.spatial) for bundle in self.bundles]

        def noise(gap: Int[Array, ""], normal: State) -> State:
            draws, begin = [], 0
            for bundle, roots, mix in zip(self.bundles, small, mixes, strict=True):
                draw = bundle.apply(roots[gap], normal[begin : begin + bundle.size, None]).reshape(-1, bundle.count)
                draws.append((draw if mix is None else draw @ mix.T).ravel())
                begin += bundle.size
            return jnp.concatenate(draws)

        return noise

    def read(self, columns: Float[Array, "state columns"]) -> Float[Array, "node columns"]:
        """H times a matrix."""
        reads = tuple(bundle.observation[None] for bundle in self.bundles)
        return self._sum(self._by_bundle(lambda bundle, small, rows: bundle.apply(small, rows), reads, columns))

    def lift(self, columns: Float[Array, "node columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""
        own = columns if self._apart else columns[jnp.array(self._rows)]
        lifts = tuple(bundle.observation[:, None] for bundle in self.bundles)
        sizes = [bundle.count for bundle in self.bundles]
        return self._by_bundle(lambda bundle, small, rows: bundle.apply(small, rows), lifts, own, sizes)

    def to_dense(self) -> DenseDynamics:
        """The same without structure."""
        gaps = jnp.arange(self.bundles[0].transitions.shape[0])
        states, nodes = (
            jnp.eye(count, dtype=self.initial_cov.dtype) for count in (len(self.initial_mean), self.num_nodes)
        )
        return DenseDynamics(
            transitions=jax.vmap(lambda gap: self.advance(gap, states))(gaps),
            noises=jax.vmap(lambda gap: self.add_noise(gap, jnp.zeros_like(states)))(gaps),
            observation=self.lift(nodes).T,
            initial_mean=self.initial_mean,
            initial_cov=self.initial_cov,
            flat=self.flat,
        )

    @property
    def _rows(self) -> tuple[int, ...]:
        return tuple(row for bundle in self.bundles for row in bundle.rows)

    @property
    def _apart(self) -> bool:
        """Whether every process is a node of its own, in this order."""
        return self._rows == tuple(range(self.nodes))

    def _sum(self, processes: Float[Array, "process columns"]) -> Float[Array, "node columns"]:
        if self._apart:
            return processes
        if self.nodes == 1:
            return processes.sum(0, keepdims=True)
        adding = jnp.arange(self.nodes)[:, None] == jnp.array(self._rows)
        return adding.astype(processes.dtype) @ processes

    def _by_bundle(
        self,
        function: Callable[[Bundle, Any, Array], Array],
        matrices: tuple[Any, ...],
        columns: Array,
        sizes: list[int] | None = None,
    ) -> Array:
        blocks, begin = [], 0
        sizes = sizes or [bundle.size for bundle in self.bundles]
        for bundle, small, size in zip(self.bundles, matrices, sizes, strict=True):
            blocks.append(function(bundle, small, columns[begin : begin + size]))
            begin += size
        return jnp.concatenate(blocks) if len(blocks) > 1 else blocks[0]
