"""Kernels made of undamped oscillators: cosine and periodic."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, lag
from ssep.kernels.constant import Constant
from ssep.kernels.special import scaled_bessel
from ssep.types import Scalar, ScalarLike, State, StateMatrix


class Oscillator(Kernel):
    """An undamped oscillation of random phase and size: k(tau) = variance cos(angle(tau))."""

    variance: eqx.AbstractVar[Scalar]

    @abc.abstractmethod
    def angle(self, gap: Scalar) -> Scalar:
        """How far the oscillation turns over a gap."""

    @property
    def state_dim(self) -> int:
        """Two: the oscillation and its quadrature component."""
        return 2

    @property
    def noiseless(self) -> bool:
        """It moves without noise."""
        return True

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points on a line."""
        return self.variance * jnp.cos(self.angle(lag(self, x1, x2)))

    def transition(self, gap: Scalar) -> StateMatrix:
        """A rotation."""
        cos, sin = jnp.cos(self.angle(gap)), jnp.sin(self.angle(gap))
        return jnp.stack([jnp.stack([cos, -sin]), jnp.stack([sin, cos])])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """Zero: the oscillation is deterministic."""
        return jnp.zeros((2, 2), self.variance.dtype)

    def state_cov(self, t: Scalar) -> StateMatrix:
        """The variance in both components."""
        return self.variance * jnp.eye(2, dtype=self.variance.dtype)

    def observation(self, t: Scalar) -> State:
        """The first component."""
        return jnp.array([1, 0], self.variance.dtype)


class Cosine(Oscillator):
    """k(tau) = variance cos(frequency tau), with `frequency` in radians per unit of time."""

    variance: Scalar = eqx.field(metadata=POSITIVE)
    frequency: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0, frequency: ScalarLike = 1.0):
        self.variance = as_float(variance)
        self.frequency = as_float(frequency)

    def angle(self, gap: Scalar) -> Scalar:
        """How far the oscillation turns over a gap."""
        return self.frequency * gap


class Periodic(Kernel):
    """k(tau) = variance exp(-2 sin^2(pi tau / period) / lengthscale^2), as its Fourier series up to `order`.

    The coefficients are exp(-z) I_j(z) with z = 1 / lengthscale^2 and modified Bessel functions I_j, twice that for
    j > 0: Solin and Särkkä, "Explicit link between periodic covariance functions and state space models", 2014. The
    covariance function is that of the truncated series too, so that both forms are one model.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    lengthscale: Scalar = eqx.field(metadata=POSITIVE)
    period: Scalar = eqx.field(metadata=POSITIVE)
    order: int = eqx.field(static=True)

    def __init__(
        self, variance: ScalarLike = 1.0, lengthscale: ScalarLike = 1.0, period: ScalarLike = 1.0, order: int = 6
    ):
        valid = isinstance(order, int | np.integer) and order >= 0
        require(valid, "Periodic(order)", "must be a non-negative integer", order, "6 suits lengthscales above 1.")
        self.variance = as_float(variance)
        self.lengthscale = as_float(lengthscale)
        self.period = as_float(period)
        self.order = int(order)

    @property
    def state_dim(self) -> int:
        """A constant, and an oscillator for each harmonic from 1 to `order`."""
        return 2 * self.order + 1

    @property
    def noiseless(self) -> bool:
        """It moves without noise."""
        return True

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points on a line."""
        angles = _angle(lag(self, x1, x2), self.period) * jnp.arange(self.order + 1)
        return jnp.sum(self._coefficients() * jnp.cos(angles))

    def transition(self, gap: Scalar) -> StateMatrix:
        """A rotation for each harmonic."""
        return block_diag(*[block.transition(gap) for block in self.blocks()])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """Zero: the process repeats exactly."""
        return jnp.zeros((self.state_dim, self.state_dim), self.variance.dtype)

    def state_cov(self, t: Scalar) -> StateMatrix:
        """The coefficient of each harmonic in both of its components."""
        return block_diag(*[block.state_cov(t) for block in self.blocks()])

    def observation(self, t: Scalar) -> State:
        """The first component of each harmonic."""
        return jnp.concatenate([block.observation(t) for block in self.blocks()])

    def blocks(self) -> tuple[Kernel, ...]:
        """The harmonics."""
        level, *others = self._coefficients()
        numbers = jnp.arange(1, self.order + 1, dtype=self.period.dtype)
        return Constant(level), *[_Harmonic(*each, self.period) for each in zip(others, numbers, strict=True)]

    def _coefficients(self) -> Float[Array, " harmonic"]:
        bessel = scaled_bessel(self.order, self.lengthscale**-2)
        return self.variance * bessel * jnp.where(jnp.arange(self.order + 1) == 0, 1, 2)


class _Harmonic(Oscillator):
    """One harmonic of a periodic kernel; its variance, a coefficient, may underflow to zero."""

    variance: Scalar
    number: Scalar
    period: Scalar

    def angle(self, gap: Scalar) -> Scalar:
        """How far the oscillation turns over a gap."""
        return self.number * _angle(gap, self.period)


def _angle(gap: Array, period: Scalar) -> Array:
    """The angle of the first harmonic, reduced to one period first: higher ones of a long gap keep their digits."""
    turn = gap / period
    return 2 * jnp.pi * (turn - jnp.round(turn))
