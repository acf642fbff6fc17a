"""What a cubature rule is: nodes and weights that integrate against a standard normal in any dimension.

Nodes are NumPy constants, computed once per (rule, dimension); inside compiled code they are literals.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.linalg import cholesky
from ssep.marginals import Marginals

LogFactor = Callable[[Float[Array, " latent"]], Float[Array, ""]]


class Points(eqx.Module):
    """Nodes in whitened coordinates `z`, the same in the latents' coordinates `f`, and their weights."""

    z: Float[Array, "points latent"]
    f: Float[Array, "points latent"]
    weights: Float[Array, " points"]
    factor: Float[Array, "latent latent"]

    def evaluate(self, function: Callable[[Float[Array, " latent"]], Array]) -> Array:
        """The function at every node."""
        return jax.vmap(function)(self.f)

    def expect(self, values: Float[Array, "points *shape"]) -> Float[Array, "*shape"]:
        """The weighted sum of values at the nodes."""
        return jnp.tensordot(self.weights, values, 1)


class Cubature(eqx.Module):
    """A rule for E[g(z)], z standard normal."""

    @abc.abstractmethod
    def standard(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (points, dim) and weights (points,) for a standard normal."""

    def points(self, marginals: Marginals) -> Points:
        """Nodes placed under one Gaussian: f = mean + L z with L the lower Cholesky factor of its covariance."""
        z, weights = self.standard(marginals.mean.shape[0])
        z, weights = jnp.asarray(z, marginals.mean.dtype), jnp.asarray(weights, marginals.mean.dtype)
        factor = cholesky(marginals.cov)
        # Explicit products keep the result independent of how XLA would tile a matrix product.
        f = marginals.mean + jnp.sum(z[:, None, :] * factor, -1)
        return Points(z, f, weights, factor)

    def around(self, marginals: Marginals, log_factor: LogFactor) -> tuple[Points, Float[Array, " points"] | float]:
        """Nodes for a Gaussian times exp(log_factor), and the logarithm of what to multiply its values by.

        The factor does not matter to a rule for the Gaussian alone.
        """
        return self.points(marginals), 0.0
