"""A Gaussian process at given times as a linear Gaussian state space model."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ssep.conditioning import Conditioned
from ssep.linalg import matmul, symmetrise
from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.types import LatentMatrix, Latents, Scalar, State, StateMatrix


class Belief(eqx.Module):
    """A Gaussian of the state at one time."""

    t: Scalar
    mean: State
    cov: StateMatrix


class StateSpace(eqx.Module):
    """x_1 ~ N(m, P); x_k = A x_{k-1} + N(0, Q), with (A, Q) shared by steps of equal gap; f_k = H x_k + offset_k.

    Smoothers use the methods only, so that a structured state space can stand in for this dense one.
    """

    transitions: Float[Array, "gap state state"]
    noises: Float[Array, "gap state state"]
    gap_index: Int[Array, " time"]
    initial_mean: State
    initial_cov: StateMatrix
    observation: Float[Array, "latent state"]
    offset: Float[Array, "time latent"]
    per_step: int | None = eqx.field(static=True)
    """Observations per step; None for one, without an axis of its own."""

    def start(self) -> tuple[State, StateMatrix]:
        """Mean and covariance of the state before the first step, whose gap is zero."""
        return self.initial_mean, self.initial_cov

    def predict(self, gap: Int[Array, ""], mean: State, cov: StateMatrix) -> tuple[State, StateMatrix]:
        """Carry a mean and a covariance over a gap."""
        transition = self.transitions[gap]
        # The mean rides along as one more column: one product instead of two.
        moved = matmul(transition, jnp.concatenate([cov, mean[:, None]], 1))
        return moved[:, -1], symmetrise(matmul(moved[:, :-1], transition.T)) + self.noises[gap]

    def pull_back(self, gap: Int[Array, ""], vector: State, matrix: StateMatrix) -> tuple[State, StateMatrix]:
        """The adjoint of `predict`: A'v and A'M A."""
        transition = self.transitions[gap]
        moved = matmul(transition.T, jnp.concatenate([matrix, vector[:, None]], 1))
        return moved[:, -1], symmetrise(matmul(moved[:, :-1], transition))

    def carry(self, gap: Int[Array, ""], vector: State) -> State:
        """A v."""
        return matmul(self.transitions[gap], vector[:, None])[:, 0]

    def carry_back(self, gap: Int[Array, ""], vector: State) -> State:
        """A'v."""
        return matmul(self.transitions[gap].T, vector[:, None])[:, 0]

    def read(self, vector: State) -> Latents:
        """H v."""
        return matmul(self.observation, vector[:, None])[:, 0]

    def project(self, mean: State, cov: StateMatrix) -> tuple[Latents, LatentMatrix, Float[Array, "state latent"]]:
        """H m, H P H' and the cross-covariance P H'."""
        cross = matmul(cov, self.observation.T)
        return self.read(mean), symmetrise(matmul(self.observation, cross)), cross

    def update(
        self, mean: State, cov: StateMatrix, cross: Float[Array, "state latent"], conditioned: Conditioned
    ) -> tuple[State, StateMatrix]:
        """The state after its latents were conditioned on a site: m + U rho and P - U Gam U'."""
        shrunk = matmul(cross, conditioned.shrink)
        return mean + matmul(cross, conditioned.shift[:, None])[:, 0], cov - symmetrise(matmul(shrunk, cross.T))

    def lift(self, columns: Float[Array, "latent columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""
        return matmul(self.observation.T, columns)

    def collect(self, sites: SiteState) -> SiteState:
        """All sites of a step as one: its observations see the same latents, so natural parameters add."""
        if self.per_step is None:
            return sites
        return SiteState(sites.linear.sum(-2), sites.precision.sum(-3))

    def spread(self, marginals: Marginals) -> Marginals:
        """Marginals of each step as marginals of each of its observations."""
        if self.per_step is None:
            return marginals
        return Marginals(
            jnp.repeat(marginals.mean[..., None, :], self.per_step, -2),
            jnp.repeat(marginals.cov[..., None, :, :], self.per_step, -3),
        )
