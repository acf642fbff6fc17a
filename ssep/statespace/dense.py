"""Dynamics without structure."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ssep.linalg import matmul, root_psd, symmetrise
from ssep.statespace.dynamics import Dynamics, Gap, compose
from ssep.types import Moments, State, StateMatrix


class DenseDynamics(Dynamics):
    """A, Q and H as they are."""

    transitions: Float[Array, "gap state state"]
    noises: Float[Array, "gap state state"]
    observation: Float[Array, "node state"]
    initial_mean: State
    initial_cov: StateMatrix
    flat: State | None = None

    @property
    def num_nodes(self) -> int:
        """The rows of H."""
        return self.observation.shape[0]

    @property
    def matrices(self) -> tuple[Array, Array]:
        """A and Q."""
        return self.transitions, self.noises

    def advance(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A times a matrix."""
        return matmul(self.at(gap)[0], columns)

    def retreat(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A' times a matrix."""
        return matmul(self.at(gap)[0].T, columns)

    def pull_predictions(
        self, index: Int[Array, " time"], moments: Float[Array, "time ..."], adjoint: Float[Array, "time ..."]
    ) -> "DenseDynamics":
        """By hand: p m' + 2 Pi A P and Pi, where the derivative in the prediction is [Pi | p]."""

        def each(gap: Gap, moments: Moments, adjoint: Moments) -> tuple[Array, Array]:
            outer = symmetrise(adjoint[:, :-1])
            moved = matmul(self.at(gap)[0], moments[:, :-1])
            return adjoint[:, -1:] * moments[:, -1] + 2 * matmul(outer, moved), outer

        found = jax.vmap(each)(self.steps(index), moments, adjoint)
        zero = eqx.filter(jax.tree.map(jnp.zeros_like, self), eqx.is_inexact_array)
        return zero.with_matrices(jax.tree.map(lambda each, total: total.at[index].add(each), found, zero.matrices))

    def compose(self, patterns: Int[Array, "pattern length"]) -> "DenseDynamics":
        """The same over all first parts of rows of gaps."""
        return self.with_matrices(compose(self.transitions, self.noises, patterns))

    def with_matrices(self, matrices: tuple[Array, Array]) -> "DenseDynamics":
        """The same over other gaps."""
        return eqx.tree_at(lambda dynamics: (dynamics.transitions, dynamics.noises), self, matrices)

    def disturb(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """Q times a matrix."""
        return matmul(self.at(gap)[1], columns)

    def add_noise(self, gap: Gap, cov: StateMatrix) -> StateMatrix:
        """A covariance plus Q."""
        return cov + self.at(gap)[1]

    def noise_root(self) -> Callable[[Int[Array, ""], State], State]:
        """A function that makes noise out of standard normal numbers."""
        roots = jax.vmap(root_psd)(self.noises)
        return lambda gap, normal: roots[gap] @ normal

    def read(self, columns: Float[Array, "state columns"]) -> Float[Array, "node columns"]:
        """H times a matrix."""
        return matmul(self.observation, columns)

    def lift(self, columns: Float[Array, "node columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""
        return matmul(self.observation.T, columns)

    def to_dense(self) -> "DenseDynamics":
        """These have no structure."""
        return self
