"""Cubature: nodes and weights that integrate against a standard normal in any dimension.

Nodes are NumPy constants, computed once per (rule, dimension); inside compiled code they are literals.
"""

import abc
import functools
import itertools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import require
from ssep.linalg import cholesky
from ssep.marginals import Marginals

MAX_POINTS = 20_000


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


class GaussHermite(Cubature):
    """Tensor product of Gauss-Hermite rules: exact for polynomials of degree 2 `degree` - 1 in each dimension.

    `degree**d` points for d latents.
    """

    degree: int = eqx.field(default=20, static=True)

    def __check_init__(self) -> None:
        """Check the degree."""
        valid = isinstance(self.degree, int | np.integer) and 1 <= self.degree <= 100
        require(valid, "GaussHermite(degree)", "must be an integer from 1 to 100", self.degree, "20 is a good start.")

    def standard(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (points, dim) and weights (points,) for a standard normal."""
        require(
            self.degree**dim <= MAX_POINTS,
            f"GaussHermite({self.degree})",
            f"must have at most {MAX_POINTS} points",
            f"{self.degree}**{dim} = {self.degree**dim} for {dim} latents",
            "Use `Unscented5()` or a lower degree.",
        )
        return _gauss_hermite(self.degree, dim)


class Unscented3(Cubature):
    """The symmetric third-order rule with 2 d points: the unscented transform with kappa = 0."""

    def standard(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (points, dim) and weights (points,) for a standard normal."""
        return _unscented3(dim)


class Unscented5(Cubature):
    """The symmetric fifth-order rule with 2 d^2 + 1 points; some weights are negative for more than four latents.

    McNamee and Stenger, "Construction of fully symmetric numerical integration formulas", 1967.
    """

    def standard(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (points, dim) and weights (points,) for a standard normal."""
        return _unscented5(dim)


@functools.cache
def _gauss_hermite(degree: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(degree)
    grid = np.stack(np.meshgrid(*[nodes] * dim, indexing="ij"), -1).reshape(-1, dim)
    product = functools.reduce(np.multiply.outer, [weights / weights.sum()] * dim).ravel()
    return grid, product


@functools.cache
def _unscented3(dim: int) -> tuple[np.ndarray, np.ndarray]:
    axes = np.sqrt(dim) * np.eye(dim)
    return np.concatenate([axes, -axes]), np.full(2 * dim, 1 / (2 * dim))


@functools.cache
def _unscented5(dim: int) -> tuple[np.ndarray, np.ndarray]:
    axes = np.sqrt(3) * np.eye(dim)
    pairs = [
        first * axes[i] + second * axes[j]
        for i, j in itertools.combinations(range(dim), 2)
        for first, second in itertools.product((1, -1), repeat=2)
    ]
    nodes = np.concatenate([np.zeros((1, dim)), axes, -axes, np.reshape(pairs, (-1, dim))])
    weights = np.concatenate(
        [[1 + (dim**2 - 7 * dim) / 18], np.full(2 * dim, (4 - dim) / 18), np.full(len(pairs), 1 / 36)]
    )
    return nodes, weights
