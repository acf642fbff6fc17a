"""How a state moves in time."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ssep.linalg import symmetrise
from ssep.types import Scalar, State, StateMatrix

Gap = Int[Array, ""]


class Belief(eqx.Module):
    """A Gaussian of the state at one time."""

    t: Scalar
    mean: State
    cov: StateMatrix


class Dynamics(eqx.Module):
    """x_1 ~ N(m, P); x_k = A x_{k-1} + N(0, Q), with (A, Q) shared by steps of equal gap; its nodes are H x.

    The nodes are the numbers through which observations see the state: the latents of a temporal prior, the values at
    the inducing points of a prior in space and time. Smoothers use the methods only, so that structure stays in here.
    """

    initial_mean: eqx.AbstractVar[State]
    initial_cov: eqx.AbstractVar[StateMatrix]

    @property
    @abc.abstractmethod
    def num_nodes(self) -> int:
        """The number of nodes."""

    @abc.abstractmethod
    def advance(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A times a matrix."""

    @abc.abstractmethod
    def retreat(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A' times a matrix."""

    def predict(self, gap: Gap, mean: State, cov: StateMatrix) -> tuple[State, StateMatrix]:
        """Carry a mean and a covariance over a gap."""
        # The mean rides along as one more column: one product instead of two.
        moved = self.advance(gap, jnp.concatenate([cov, mean[:, None]], 1))
        return moved[:, -1], self.add_noise(gap, symmetrise(self.advance(gap, moved[:, :-1].T)))

    def begun_at(self, belief: tuple[State, StateMatrix]) -> "Dynamics":
        """The same dynamics with another start."""
        return eqx.tree_at(lambda dynamics: (dynamics.initial_mean, dynamics.initial_cov), self, belief)

    @abc.abstractmethod
    def add_noise(self, gap: Gap, cov: StateMatrix) -> StateMatrix:
        """A covariance plus Q."""

    @abc.abstractmethod
    def noise_root(self) -> Callable[[Gap, State], State]:
        """A function that makes noise ~ N(0, Q) out of standard normal numbers; roots are computed here, once."""

    @abc.abstractmethod
    def read(self, columns: Float[Array, "state columns"]) -> Float[Array, "node columns"]:
        """H times a matrix."""

    @abc.abstractmethod
    def lift(self, columns: Float[Array, "node columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""
