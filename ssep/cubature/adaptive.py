"""Nodes where the integrand is."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.cubature.base import Cubature, LogFactor, Points
from ssep.cubature.rules import GaussHermite
from ssep.linalg import cholesky, solve_lower, solve_lower_transposed, symmetrise
from ssep.marginals import Marginals

_NEWTON_STEPS = 20
_LENGTHS = 4.0 ** np.arange(3, -14, -1)


class Adaptive(Cubature):
    """Gauss-Hermite nodes put where the integrand is: around the mode of the Gaussian times likelihood^alpha.

    For `PowerEP`, and for energies, where observations are much more precise than what is known of their latents, such
    as counts in the thousands: nodes placed by the Gaussian alone then miss the likelihood. The mode is found by
    Newton's method, which costs a few times as many evaluations. Expectations under the Gaussian alone, as in `CVI`,
    and likelihoods with linear latents, take the rule as it is.
    """

    degree: int = eqx.field(default=20, static=True)

    def __check_init__(self) -> None:
        """Check the degree."""
        GaussHermite(self.degree)

    def standard(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (points, dim) and weights (points,) for a standard normal."""
        return GaussHermite(self.degree).standard(dim)

    def around(self, marginals: Marginals, log_factor: LogFactor) -> tuple[Points, Float[Array, " points"] | float]:
        """Nodes around the mode, with the curvature there, but never wider than the Gaussian."""
        size = marginals.mean.shape[0]
        plain = self.points(marginals)
        # Where the nodes are moves nothing but the error of the rule: no derivative goes there.
        mean, factor = jax.lax.stop_gradient((marginals.mean, plain.factor))

        def negative(z: Float[Array, " latent"]) -> Float[Array, ""]:
            return -log_factor(mean + jnp.sum(factor * z, -1))

        def curvature(z: Float[Array, " latent"]) -> Float[Array, "latent latent"]:
            return jnp.eye(size, dtype=z.dtype) + _positive_part(jax.hessian(negative)(z))

        def height(z: Float[Array, " latent"]) -> Float[Array, ""]:
            value = jnp.sum(z**2) / 2 + negative(z)
            return jnp.where(jnp.isnan(value), jnp.inf, value)

        def newton(_: Any, z: Float[Array, " latent"]) -> Float[Array, " latent"]:
            root = cholesky(curvature(z))
            step = solve_lower_transposed(root, solve_lower(root, z + jax.grad(negative)(z)))
            # The best of many lengths: exponentials send a full step beyond all numbers, or make it a crawl.
            tried = z - _LENGTHS.astype(z.dtype)[:, None] * step
            best = tried[jnp.argmin(jax.vmap(height)(tried))]
            return jnp.where(height(best) < height(z), best, z)

        centre = jax.lax.fori_loop(0, _NEWTON_STEPS, newton, jnp.zeros_like(mean))
        root = cholesky(curvature(centre))
        z = jax.lax.stop_gradient(centre + jax.vmap(lambda node: solve_lower_transposed(root, node))(plain.z))
        f = mean + jnp.sum(z[:, None, :] * factor, -1)
        # In the coordinates of the Gaussian itself, whose derivatives count.
        z = jax.vmap(lambda node: solve_lower(plain.factor, node - marginals.mean))(f)
        log_scale = jnp.sum(jnp.log(jnp.diagonal(plain.factor))) - jnp.sum(jnp.log(jnp.diagonal(factor)))
        log_scale = log_scale + jax.lax.stop_gradient(jnp.sum(jnp.log(jnp.diagonal(root))))
        log_ratio = jnp.sum(plain.z**2 - z**2, -1) / 2 - log_scale
        return Points(z, f, plain.weights, plain.factor), log_ratio


def _positive_part(matrix: Float[Array, "latent latent"]) -> Float[Array, "latent latent"]:
    if matrix.shape[0] == 1:
        return jnp.maximum(matrix, 0)
    values, vectors = jnp.linalg.eigh(symmetrise(matrix))
    return (vectors * jnp.maximum(values, 0)) @ vectors.T
