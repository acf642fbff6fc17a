"""Exponentially damped waves."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE, SIGNED_FRACTION
from ssep.kernels.base import Kernel, lag
from ssep.kernels.integration import ENDLESS, integrate
from ssep.types import Scalar, ScalarLike, State, StateMatrix


class Celerite(Kernel):
    """k(tau) = variance exp(-rate tau) (cos(frequency tau) + balance (rate / frequency) sin(frequency tau)), tau >= 0.

    The general term of celerite, a cos + b sin, with a = variance and b = balance * variance * rate / frequency: a
    covariance for balances from -1 to 1. At 0 it is an exponential times a cosine; at 1 it would be the
    `DampedOscillator` that rings, which has a derivative.

    Foreman-Mackey, Agol, Ambikasaran and Angus, "Fast and scalable Gaussian process modeling with applications to
    astronomical time series", 2017.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    rate: Scalar = eqx.field(metadata=POSITIVE)
    frequency: Scalar = eqx.field(metadata=POSITIVE)
    balance: Scalar = eqx.field(metadata=SIGNED_FRACTION)

    def __init__(
        self,
        variance: ScalarLike = 1.0,
        rate: ScalarLike = 1.0,
        frequency: ScalarLike = 1.0,
        balance: ScalarLike = 0.0,
    ):
        self.variance, self.rate = as_float(variance), as_float(rate)
        self.frequency, self.balance = as_float(frequency), as_float(balance)

    @staticmethod
    def from_coefficients(a: float, b: float, c: float, d: float) -> "Celerite":
        """The term exp(-c tau) (a cos(d tau) + b sin(d tau)), in the letters of the paper."""
        valid = min(a, c, d) > 0 and abs(b * d) < a * c
        requirement = "must have a, c, d > 0 and |b d| < a c"
        remedy = "Other terms are not covariances by themselves."
        require(valid, "Celerite.from_coefficients(a, b, c, d)", requirement, (a, b, c, d), remedy)
        return Celerite(a, c, d, b * d / (a * c))

    @property
    def state_dim(self) -> int:
        """Two."""
        return 2

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points on a line."""
        tau = jnp.abs(lag(self, x1, x2))
        wave = jnp.cos(self.frequency * tau) + self._sine * jnp.sin(self.frequency * tau)
        return self.variance * jnp.exp(-self.rate * tau) * wave

    def transition(self, gap: Scalar) -> StateMatrix:
        """A rotation that shrinks."""
        cos, sin = jnp.cos(self.frequency * gap), jnp.sin(self.frequency * gap)
        return jnp.exp(-self.rate * gap) * jnp.stack([jnp.stack([cos, -sin]), jnp.stack([sin, cos])])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """The noise that keeps the covariance of the state as it is: D = -(F P + P F')."""
        drift = jnp.stack([jnp.stack([-self.rate, -self.frequency]), jnp.stack([self.frequency, -self.rate])])
        moved = drift @ self.state_cov(gap)
        return integrate(drift, -(moved + moved.T), gap, ENDLESS)[1]

    def state_cov(self, t: Scalar) -> StateMatrix:
        """[[a, -b], [-b, a (1 + 2 c^2 / d^2)]]: this corner keeps D positive semi-definite for all a and b."""
        corner = 1 + 2 * (self.rate / self.frequency) ** 2
        one = jnp.ones_like(corner)
        return self.variance * jnp.stack([jnp.stack([one, -self._sine]), jnp.stack([-self._sine, corner])])

    def observation(self, t: Scalar) -> State:
        """The first component."""
        return jnp.array([1, 0], self.variance.dtype)

    @property
    def _sine(self) -> Scalar:
        return self.balance * self.rate / self.frequency
