"""Dynamics without structure."""

from collections.abc import Callable

import jax
from jaxtyping import Array, Float

from ssep.linalg import matmul, root_psd
from ssep.statespace.dynamics import Dynamics, Gap
from ssep.types import State, StateMatrix


class DenseDynamics(Dynamics):
    """A, Q and H as they are."""

    transitions: Float[Array, "gap state state"]
    noises: Float[Array, "gap state state"]
    observation: Float[Array, "node state"]
    initial_mean: State
    initial_cov: StateMatrix

    @property
    def num_nodes(self) -> int:
        """The rows of H."""
        return self.observation.shape[0]

    def advance(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A times a matrix."""
        return matmul(self.transitions[gap], columns)

    def retreat(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A' times a matrix."""
        return matmul(self.transitions[gap].T, columns)

    def add_noise(self, gap: Gap, cov: StateMatrix) -> StateMatrix:
        """A covariance plus Q."""
        return cov + self.noises[gap]

    def noise_root(self) -> Callable[[Gap, State], State]:
        """A function that makes noise out of standard normal numbers."""
        roots = jax.vmap(root_psd)(self.noises)
        return lambda gap, normal: roots[gap] @ normal

    def read(self, columns: Float[Array, "state columns"]) -> Float[Array, "node columns"]:
        """H times a matrix."""
        return matmul(self.observation, columns)

    def lift(self, columns: Float[Array, "node columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""
        return matmul(self.observation.T, columns)
