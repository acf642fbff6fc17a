"""How a state moves in time."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from ssep.linalg import symmetrise
from ssep.types import Moments, Scalar, State, StateMatrix

Gap = PyTree
"""Which transition: an index, or what `Dynamics.steps` took for it."""

# With fewer steps per distinct gap than this, each step is given its own matrices: derivatives in matrices that a loop
# picks from a list cost as much as the list is long, at every step.
_FEW = 8


def pack(mean: Float[Array, " rows"], cov: Float[Array, "rows columns"]) -> Float[Array, "rows more"]:
    """A mean and a covariance in one matrix, or some rows of each."""
    return jnp.concatenate([cov, mean[:, None]], 1)


def unpack(moments: Moments) -> tuple[State, StateMatrix]:
    """The reverse."""
    return moments[:, -1], moments[:, :-1]


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
    flat: eqx.AbstractVar[State | None]
    """Precisions of the start that are taken out at the end, for constants without a prior; None if there are none."""

    @property
    @abc.abstractmethod
    def num_nodes(self) -> int:
        """The number of nodes."""

    @property
    @abc.abstractmethod
    def matrices(self) -> PyTree[Float[Array, "gap ..."]]:
        """A and Q over all gaps, in whatever form."""

    def steps(self, index: Int[Array, " time"]) -> Gap:
        """What differs from step to step, time first."""
        matrices = self.matrices
        if jax.tree.leaves(matrices)[0].shape[0] * _FEW <= index.shape[0]:
            return index
        return jax.tree.map(lambda each: each[index], matrices)

    def at(self, gap: Gap) -> PyTree[Array]:
        """A and Q over one gap."""
        return jax.tree.map(lambda each: each[gap], self.matrices) if isinstance(gap, jax.Array) else gap

    @abc.abstractmethod
    def advance(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A times a matrix."""

    @abc.abstractmethod
    def retreat(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """A' times a matrix."""

    def predict(self, gap: Gap, moments: Moments) -> Moments:
        """Carry moments over a gap: A P A' + Q and A m."""
        moved = self.advance(gap, moments)
        return pack(moved[:, -1], self.add_noise(gap, symmetrise(self.advance(gap, moved[:, :-1].T))))

    def pull_predictions(
        self, index: Int[Array, " time"], moments: Float[Array, "time ..."], adjoint: Float[Array, "time ..."]
    ) -> "Dynamics":
        """The derivative in all arrays, given that in the predictions from these moments over these gaps."""
        arrays, rest = eqx.partition(self, eqx.is_inexact_array)

        def predictions(arrays: "Dynamics") -> Array:
            dynamics = eqx.combine(arrays, rest)
            return jax.vmap(dynamics.predict)(dynamics.steps(index), moments)

        return jax.vjp(predictions, arrays)[1](adjoint)[0]

    def begun_at(self, belief: tuple[State, StateMatrix]) -> "Dynamics":
        """The same dynamics with another start, which is all that is known."""
        where = lambda dynamics: (dynamics.initial_mean, dynamics.initial_cov, dynamics.flat)  # noqa: E731
        return eqx.tree_at(where, self, (*belief, None), is_leaf=lambda leaf: leaf is None)

    @abc.abstractmethod
    def compose(self, patterns: Int[Array, "pattern length"]) -> "Dynamics":
        """The same dynamics over all first parts of rows of gaps: gap i * length + j is row i up to its j-th gap."""

    @abc.abstractmethod
    def with_matrices(self, matrices: PyTree[Float[Array, "gap ..."]]) -> "Dynamics":
        """The same dynamics over other gaps."""

    def restricted(self, gaps: slice) -> "Dynamics":
        """The same dynamics over some of the gaps."""
        return self.with_matrices(jax.tree.map(lambda each: each[gaps], self.matrices))

    @abc.abstractmethod
    def to_dense(self) -> "Dynamics":
        """The same without structure."""

    @abc.abstractmethod
    def disturb(self, gap: Gap, columns: Float[Array, "state columns"]) -> Float[Array, "state columns"]:
        """Q times a matrix."""

    @abc.abstractmethod
    def add_noise(self, gap: Gap, cov: StateMatrix) -> StateMatrix:
        """A covariance plus Q."""

    @abc.abstractmethod
    def noise_root(self) -> Callable[[Int[Array, ""], State], State]:
        """A function that makes noise ~ N(0, Q) out of standard normal numbers; roots are computed here, once."""

    @abc.abstractmethod
    def read(self, columns: Float[Array, "state columns"]) -> Float[Array, "node columns"]:
        """H times a matrix."""

    @abc.abstractmethod
    def lift(self, columns: Float[Array, "node columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""


def compose(
    transitions: Float[Array, "gap *batch n n"],
    noises: Float[Array, "gap *batch n n"],
    patterns: Int[Array, "row length"],
) -> tuple[Float[Array, "part *batch n n"], Float[Array, "part *batch n n"]]:
    """Transitions and noises over all first parts of rows of gaps, by sums of positive semi-definite terms only."""

    def forward(carry: tuple[Array, Array], gap: Int[Array, " row"]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        transition, noise = carry
        step = transitions[gap]
        noise = symmetrise(step @ noise @ jnp.swapaxes(step, -1, -2)) + noises[gap]
        return (step @ transition, noise), (step @ transition, noise)

    shape = (patterns.shape[0], *transitions.shape[1:])
    start = (jnp.broadcast_to(jnp.eye(shape[-1], dtype=transitions.dtype), shape), jnp.zeros(shape, noises.dtype))
    _, parts = jax.lax.scan(forward, start, patterns.T)
    whole = [jnp.swapaxes(part, 0, 1).reshape(-1, *transitions.shape[1:]) for part in parts]
    return whole[0], whole[1]
