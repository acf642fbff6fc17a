"""One separable term of a field: a process in time at each of a set of places."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from ssep.checks import require
from ssep.kernels.base import check_temporal
from ssep.kernels.remainder import Remainder
from ssep.statespace import Bundle


class Separable(eqx.Module):
    """A field with covariance k_t(t, t') k_s(r, r'), seen through the places that carry it.

    With inducing places the nodes are v with K_ru inv(L)' v the field at r, where L L' = K_uu: independent processes,
    so that nothing is divided by the small eigenvalues of K_uu. Without (`exact`) the nodes are the field at the data's
    places, whose covariance is never factorised.
    """

    # Kernels, but not declared so: type checkers then let users read the fields of the ones they put in.
    temporal: Any
    spatial: Any
    inducing: Float[Array, "node space"] | None
    mean: Any
    latent: int = eqx.field(static=True)
    exact: bool = eqx.field(static=True)
    conditional_variance: bool = eqx.field(static=True)

    @property
    def nodes(self) -> Float[Array, "node space"]:
        """The places that carry the field, once they are known."""
        require(self.inducing is not None, "Separable", "must be anchored", "no places", "Use `Prior.anchored`.")
        return self.inducing  # pyright: ignore[reportReturnType]

    def anchored(self, places: Float[Array, "*places space"] | None) -> "Separable":
        """Without inducing places of its own, the term takes these."""
        return self if self.inducing is not None else dataclasses.replace(self, inducing=places)

    def alone(self, latent: int) -> "Separable":
        """The same term without a mean, as another latent."""
        return dataclasses.replace(self, latent=latent, mean=None)

    def as_type(self, dtype: Any) -> "Separable":
        """In the precision of the data, whatever the hyperparameters came in."""
        arrays = (self.temporal, self.spatial, self.inducing)
        temporal, spatial, inducing = jax.tree.map(lambda leaf: leaf.astype(dtype), arrays)
        return dataclasses.replace(self, temporal=temporal, spatial=spatial, inducing=inducing)

    def bundle(self, gaps: Float[Array, " gap"], begin: int) -> Bundle:
        """Its processes over some gaps, a node each, counted from `begin`."""
        return Bundle(
            transitions=jax.vmap(self.temporal.transition)(gaps)[..., None],
            noises=jax.vmap(self.temporal.process_noise)(gaps)[..., None],
            observation=self.temporal.observation(gaps[0])[:, None],
            spatial=self.spatial.gram(self.nodes, self.nodes) if self.exact else None,
            rows=tuple(range(begin, begin + self.nodes.shape[0])),
        )

    def check_kernels(self, call: str) -> None:
        """Raise unless the kernels are of one process: grids of hyperparameters are for `vmap`."""
        check_temporal(f"{call}(temporal)", self.temporal)
        stationary = (
            self.temporal.settled
            and self.temporal.proper
            and all(each.weight is None for each in self.temporal.weighted())
        )
        requirement, remedy = "must be stationary in time", "Use a Matern kernel with a long lengthscale."
        require(stationary, f"{call}(temporal)", requirement, f"`{type(self.temporal).__name__}`", remedy)
        shape = jax.eval_shape(self.spatial, self.nodes[0], self.nodes[0]).shape
        require(
            shape == (),
            f"{call}(spatial)",
            "needs a scalar variance, and a lengthscale that is scalar or one per dimension",
            f"covariances of shape {shape}",
            "To run a grid of values, `jax.vmap` over them.",
        )

    def resolves(self, own: bool) -> bool:
        """Whether the nodes say all there is to say about some places, or are taken to."""
        return own if self.exact else not self.conditional_variance

    def view(self, places: Float[Array, "*obs space"], own: bool) -> tuple[Any, Float[Array, "*obs"] | None]:
        """The weights of the nodes at some places, and the variance that they leave.

        An exact term is its nodes at the places that it is anchored to, its own: no weights.
        """
        if self.exact and own:
            return None, None
        flat, shape = places.reshape(-1, places.shape[-1]), places.shape[:-1]
        remainder = Remainder(self.spatial, self.nodes)
        half = jax.vmap(remainder.half)(flat).T
        weights = solve_triangular(remainder.factor(), half, lower=True, trans=1) if self.exact else half
        weights = weights.T.reshape(*shape, -1)
        if self.resolves(own):
            return weights, None
        left = jax.vmap(lambda r: self.spatial(r, r))(flat) - jnp.sum(half**2, 0)
        zero = jnp.zeros((), flat.dtype)
        return weights, self.temporal(zero, zero) * jnp.maximum(left, 0).reshape(shape)

    def residual(self) -> "Separable":
        """The field less what its nodes say of it."""
        return Separable(self.temporal, Remainder(self.spatial, self.nodes), None, None, self.latent, True, True)
