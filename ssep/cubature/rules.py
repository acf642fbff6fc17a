"""Rules whose nodes are placed by the Gaussian alone."""

import functools
import itertools
import math
import statistics
from collections.abc import Iterator

import equinox as eqx
import numpy as np

from ssep.checks import require
from ssep.cubature.base import Cubature

MAX_POINTS = 20_000


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


class SparseGrid(Cubature):
    """Smolyak's combination of small Gauss-Hermite products: exact for polynomials of total degree 2 `accuracy` - 1.

    For four to ten latents, where a full product has too many points. Some weights are negative.

    Heiss and Winschel, "Likelihood approximation by numerical integration on sparse grids", 2008.
    """

    accuracy: int = eqx.field(default=5, static=True)

    def __check_init__(self) -> None:
        """Check the accuracy."""
        valid = isinstance(self.accuracy, int | np.integer) and 1 <= self.accuracy <= 20
        require(valid, "SparseGrid(accuracy)", "must be an integer from 1 to 20", self.accuracy, "5 is a good start.")

    def standard(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (points, dim) and weights (points,) for a standard normal."""
        z, weights = _sparse_grid(int(self.accuracy), dim)
        require(
            len(weights) <= MAX_POINTS,
            f"SparseGrid({self.accuracy})",
            f"must have at most {MAX_POINTS} points",
            f"{len(weights)} for {dim} latents",
            "Use a lower accuracy, or `Unscented5()`.",
        )
        return z, weights


class Dense(Cubature):
    """Many nodes close together, for integrands narrower than the Gaussian: a distribution function, say.

    One latent: the trapezoidal rule, which converges exponentially for Gaussian weights. Several: equally weighted
    points of the additive recurrence with the generalised golden ratio (Roberts, 2018).

    Attributes:
        count: The number of points.
    """

    count: int = eqx.field(default=256, static=True)

    def standard(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (points, dim) and weights (points,) for a standard normal."""
        return _trapezoid(self.count) if dim == 1 else _golden(16 * self.count, dim)


def finest_gauss_hermite(dim: int) -> GaussHermite:
    """The Gauss-Hermite rule of the highest degree, 20 at most, that is affordable for this many latents."""
    return GaussHermite(max(3, min(20, int(MAX_POINTS ** (1 / dim) + 1e-9))))


@functools.cache
def _gauss_hermite(degree: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(degree)
    grid = np.stack(np.meshgrid(*[nodes] * dim, indexing="ij"), -1).reshape(-1, dim)
    product = functools.reduce(np.multiply.outer, [weights / weights.sum()] * dim).ravel()
    return grid, product


@functools.cache
def _sparse_grid(accuracy: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Products of rules with i_1, ..., i_d points, combined with signs so that all but the corners cancel."""
    nodes: dict[tuple[float, ...], tuple[float, ...]] = {}
    weights: dict[tuple[float, ...], float] = {}
    for total in range(max(dim, accuracy), accuracy + dim):
        missing = accuracy + dim - 1 - total
        factor = (-1) ** missing * math.comb(dim - 1, missing)
        for sizes in _compositions(total, dim):
            rules = [_gauss_hermite(size, 1) for size in sizes]
            for chosen in itertools.product(*[zip(z[:, 0], w, strict=True) for z, w in rules]):
                # Nodes of different rules that coincide differ in rounding only; zero has one sign.
                node = tuple(float(z) for z, _ in chosen)
                key = tuple(round(z, 12) + 0.0 for z in node)
                nodes.setdefault(key, node)
                weights[key] = weights.get(key, 0.0) + factor * math.prod(float(w) for _, w in chosen)
    kept = [key for key, weight in weights.items() if abs(weight) > 1e-15]
    return np.array([nodes[key] for key in kept]), np.array([weights[key] for key in kept])


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of positive ones, in order."""
    if parts == 1:
        yield (total,)
        return
    for first in range(1, total - parts + 2):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


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


@functools.cache
def _trapezoid(count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.linspace(-8, 8, count)
    weights = np.exp(-(nodes**2) / 2)
    return nodes[:, None], weights / weights.sum()


@functools.cache
def _golden(count: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    # The ratio solves x^(dim + 1) = x + 1, by fixed point iteration.
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dim + 1))
    steps = ratio ** -np.arange(1.0, dim + 1)
    uniform = (0.5 + np.outer(np.arange(1, count + 1), steps)) % 1
    return np.vectorize(statistics.NormalDist().inv_cdf)(uniform), np.full(count, 1 / count)
