"""Matern kernels of half-integer smoothness."""

import abc
import functools
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, distance
from ssep.kernels.special import lower_gamma
from ssep.types import Scalar, State, StateMatrix

# exp(-1000) is zero in every precision, and powers of 1000 overflow in none.
_LONGEST = 1000.0
# Beyond this the coefficients of the noise cancel in double precision.
_HIGHEST = 8


class Matern(Kernel):
    """Matern covariance with smoothness nu = `order` + 1/2, in any number of dimensions.

    In space a lengthscale of shape (R,) has one entry per dimension.

    With rate = sqrt(2 nu) / lengthscale the state is (f, f'/rate, f''/rate^2, ...): in these coordinates the transition
    is a function of rate * gap alone and every covariance is of the order of the variance.
    """

    # Converters, not a constructor: type checkers would not see that the subclasses inherit one.
    variance: Scalar = eqx.field(default=1.0, converter=as_float, metadata=POSITIVE)
    lengthscale: Float[Array, "*space"] = eqx.field(default=1.0, converter=as_float, metadata=POSITIVE)

    @property
    @abc.abstractmethod
    def order(self) -> int:
        """The number of derivatives that exist."""

    @property
    def state_dim(self) -> int:
        """The process and its `order` derivatives."""
        return self.order + 1

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points: a polynomial times an exponential of their distance."""
        scaled = jnp.minimum(distance(x1, x2, self.lengthscale) * math.sqrt(2 * self.order + 1), _LONGEST)
        polynomial = functools.reduce(lambda value, c: value * scaled + c, _covariance_polynomial(self.order))
        return self.variance * jnp.exp(-scaled) * polynomial

    def transition(self, gap: Scalar) -> StateMatrix:
        """exp(-u) sum_j N^j u^j / j! with u = rate * gap: the drift is -I + N with N nilpotent."""
        scaled = self._scaled(gap)
        powers = self._constant(_nilpotent_powers(self.order))
        polynomial = functools.reduce(lambda value, power: value * scaled + power, powers[::-1])
        return jnp.exp(-scaled) * polynomial

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """The integral of exp(-2u) p(u) p(u)' with p polynomial: a sum of incomplete gamma functions."""
        coefficients = self._constant(_noise_coefficients(self.order))
        return self.variance * coefficients @ lower_gamma(2 * self.order + 1, 2 * self._scaled(gap))

    def state_cov(self, t: Scalar) -> StateMatrix:
        """The process noise of an infinite gap."""
        return self.variance * self._constant(_noise_coefficients(self.order).sum(-1))

    def observation(self, t: Scalar) -> State:
        """The process is the first component."""
        return jnp.eye(1, self.state_dim, dtype=self.variance.dtype)[0]

    def _scaled(self, gap: Scalar) -> Scalar:
        return jnp.minimum(gap * (math.sqrt(2 * self.order + 1) / self.lengthscale), _LONGEST)

    def _constant(self, value: np.ndarray) -> Float[Array, "..."]:
        return jnp.asarray(value, self.variance.dtype)


class Matern12(Matern):
    """k(r) = variance exp(-r / lengthscale): the Ornstein-Uhlenbeck process."""

    @property
    def order(self) -> int:
        """The number of derivatives that exist."""
        return 0


class Matern32(Matern):
    """k(r) = variance (1 + u) exp(-u), u = sqrt(3) r / lengthscale."""

    @property
    def order(self) -> int:
        """The number of derivatives that exist."""
        return 1


class Matern52(Matern):
    """k(r) = variance (1 + u + u^2/3) exp(-u), u = sqrt(5) r / lengthscale."""

    @property
    def order(self) -> int:
        """The number of derivatives that exist."""
        return 2


class Matern72(Matern):
    """k(r) = variance (1 + u + 2u^2/5 + u^3/15) exp(-u), u = sqrt(7) r / lengthscale."""

    @property
    def order(self) -> int:
        """The number of derivatives that exist."""
        return 3


class HalfInteger(Matern):
    """Matern covariance of any half-integer smoothness: nu = `derivatives` + 1/2, with 0 to 8 derivatives."""

    derivatives: int = eqx.field(default=4, static=True)

    def __check_init__(self) -> None:
        """Check the number of derivatives."""
        valid = isinstance(self.derivatives, int | np.integer) and 0 <= self.derivatives <= _HIGHEST
        call, requirement = "HalfInteger(derivatives)", f"must be an integer from 0 to {_HIGHEST}"
        require(valid, call, requirement, self.derivatives, "Smoother functions can hardly be told apart.")

    @property
    def order(self) -> int:
        """The number of derivatives that exist."""
        return int(self.derivatives)


@functools.cache
def _covariance_polynomial(order: int) -> tuple[float, ...]:
    """Coefficients of k(u) exp(u), highest power first."""
    scale = math.factorial(order) / math.factorial(2 * order)
    return tuple(
        scale * math.factorial(order + i) / (math.factorial(i) * math.factorial(order - i)) * 2 ** (order - i)
        for i in range(order + 1)
    )


@functools.cache
def _nilpotent_powers(order: int) -> np.ndarray:
    """N^j / j! for j = 0, ..., order, where N - I is the companion matrix of (x + 1)^(order + 1)."""
    size = order + 1
    drift = np.eye(size, k=1)
    drift[-1] = [-math.comb(size, i) for i in range(size)]
    nilpotent = drift + np.eye(size)
    return np.stack([np.linalg.matrix_power(nilpotent, j) / math.factorial(j) for j in range(size)])


@functools.cache
def _noise_coefficients(order: int) -> np.ndarray:
    """C with Q(u)[i, j] = sum_m C[i, j, m] P(m + 1, 2u): products of p(u), scaled to unit variance.

    Noise enters the last component, so p(u) is the last column of the transition's polynomial.
    """
    impulse = _nilpotent_powers(order)[:, :, -1].T
    products = np.array([[np.convolve(a, b) for b in impulse] for a in impulse])
    integrals = np.array([math.factorial(m) / 2 ** (m + 1) for m in range(2 * order + 1)])
    return products * integrals / np.sum(products[0, 0] * integrals)
