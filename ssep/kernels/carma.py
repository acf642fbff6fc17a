"""Continuous-time autoregressive moving averages."""

import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, lag, numbers
from ssep.kernels.integration import ENDLESS, integrate
from ssep.linalg import symmetrise
from ssep.types import Scalar, ScalarLike, State, StateMatrix

_LONGEST = 8


class CARMA(Kernel):
    """CARMA(p, q): the spectral density is |b(i w)|^2 / |a(i w)|^2, scaled to a variance.

    Both polynomials are products of quadratic factors x^2 + c1 x + c0, and of one linear factor x + c0 if the degree is
    odd; with positive coefficients all roots lie in the left half plane, so that every choice is a stationary process
    (Kelly, Becker, Sobolewska, Siemiginowska and Uttley, 2014). Orders (1, 0), (2, 0), (2, 1): exponential covariance,
    `DampedOscillator`, `Celerite`.

    Args:
        variance: Of the process.
        autoregression: The coefficients of a: (c0, c1, c0, c1, ..., and a last c0 if p is odd), p numbers.
        moving_average: Those of b, q < p numbers.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    autoregression: tuple[Scalar, ...] = eqx.field(metadata=POSITIVE)
    moving_average: tuple[Scalar, ...] = eqx.field(metadata=POSITIVE)

    def __init__(
        self, variance: ScalarLike = 1.0, autoregression: Sequence[Any] = (1.0,), moving_average: Sequence[Any] = ()
    ):
        self.variance = as_float(variance)
        several = isinstance(autoregression, Sequence) and isinstance(moving_average, Sequence)
        orders = (len(autoregression), len(moving_average)) if several else (0, 0)
        require(
            several and orders[1] < orders[0] <= _LONGEST,
            "CARMA(autoregression, moving_average)",
            f"must be sequences of p and q coefficients with q < p <= {_LONGEST}",
            f"p = {orders[0]} and q = {orders[1]}" if several else (autoregression, moving_average),
            "For p = 1: `CARMA(variance, (rate,))`.",
        )
        self.autoregression = numbers("CARMA(autoregression)", autoregression, orders[0])
        self.moving_average = numbers("CARMA(moving_average)", moving_average, orders[1])

    @property
    def state_dim(self) -> int:
        """The order p."""
        return len(self.autoregression)

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points on a line."""
        gap = jnp.abs(lag(self, x1, x2))
        read = self.observation(gap)
        return read @ (self.transition(gap) @ (self.state_cov(gap) @ read))

    def transition(self, gap: Scalar) -> StateMatrix:
        """The matrix exponential of the drift."""
        return integrate(*self._equation, gap * self._rate, ENDLESS)[0]

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """White noise that enters the last component."""
        scale = self.variance / self._spread
        return scale * integrate(*self._equation, gap * self._rate, ENDLESS)[1]

    def state_cov(self, t: Scalar) -> StateMatrix:
        """What an endless gap brings."""
        return self.variance / self._spread * self._endless

    def observation(self, t: Scalar) -> State:
        """The coefficients of b, in units of the rate."""
        coefficients = _expand(self.moving_average, self.variance.dtype)
        coefficients = coefficients * self._rate ** jnp.arange(coefficients.shape[0], dtype=coefficients.dtype)
        padded = jnp.zeros(self.state_dim, coefficients.dtype).at[: coefficients.shape[0]].set(coefficients)
        return padded / jnp.sum(padded)

    @property
    def _rate(self) -> Scalar:
        """The geometric mean of the sizes of the roots of a: the unit of time of the state."""
        return _expand(self.autoregression, self.variance.dtype)[0] ** (1 / self.state_dim)

    @property
    def _equation(self) -> tuple[StateMatrix, StateMatrix]:
        """Drift and diffusion of (z, z'/rate, z''/rate^2, ...), with the time in units of the rate."""
        size = self.state_dim
        coefficients = _expand(self.autoregression, self.variance.dtype)
        scaled = coefficients[:-1] * self._rate ** (jnp.arange(size, dtype=coefficients.dtype) - size)
        drift = jnp.eye(size, k=1, dtype=scaled.dtype).at[-1].set(-scaled)
        return drift, jnp.zeros((size, size), scaled.dtype).at[-1, -1].set(1)

    @property
    def _endless(self) -> StateMatrix:
        drift, diffusion = self._equation
        size = self.state_dim
        identity = jnp.eye(size, dtype=drift.dtype)
        equations = jnp.kron(drift, identity) + jnp.kron(identity, drift)
        return symmetrise(jnp.linalg.solve(equations, -diffusion.ravel()).reshape(size, size))

    @property
    def _spread(self) -> Scalar:
        """The variance before scaling."""
        read = self.observation(self.variance)
        return read @ self._endless @ read


def _expand(factors: tuple[Scalar, ...], dtype: Any) -> Float[Array, " coefficient"]:
    """The coefficients, lowest first, of a product of factors with a leading one."""
    pairs = [jnp.stack([*factors[i : i + 2], jnp.ones((), dtype)]) for i in range(0, len(factors), 2)]
    return functools.reduce(jnp.convolve, pairs, jnp.ones(1, dtype))
