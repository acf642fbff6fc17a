"""A damped oscillator driven by noise."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, lag
from ssep.types import Scalar, ScalarLike, State, StateMatrix

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# Shorter gaps, in radians or in times of decay, are integrated over: a difference would lose their digits.
_SHORT = 1.0
# exp(-1000) is zero in every precision.
_LONGEST = 1000.0


class DampedOscillator(Kernel):
    """k(tau) = variance exp(-u / 2Q) (cos(s u) + sin(s u) / (2 Q s)), u = frequency |tau|, s = sqrt(1 - 1 / 4Q^2).

    The stochastically driven harmonic oscillator (SHO) of celerite: f'' + (frequency / Q) f' + frequency^2 f = noise,
    with `frequency` in radians per unit of time and the `quality` Q. It rings for Q above 1/2, creeps below (s is then
    imaginary and the functions hyperbolic), and is Matern-3/2 at 1/2.

    Foreman-Mackey, Agol, Ambikasaran and Angus, "Fast and scalable Gaussian process modeling with applications to
    astronomical time series", 2017.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    frequency: Scalar = eqx.field(metadata=POSITIVE)
    quality: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0, frequency: ScalarLike = 1.0, quality: ScalarLike = 1.0):
        self.variance = as_float(variance)
        self.frequency = as_float(frequency)
        self.quality = as_float(quality)

    @property
    def state_dim(self) -> int:
        """Two: the process, and its derivative in units of the frequency."""
        return 2

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points on a line."""
        cos, sin = self._waves(self.frequency * jnp.abs(lag(self, x1, x2)))
        return self.variance * (cos + sin / (2 * self.quality))

    def transition(self, gap: Scalar) -> StateMatrix:
        """The matrix exponential of [[0, 1], [-1, -1/Q]] times the angle."""
        cos, sin = self._waves(self.frequency * gap)
        damped = sin / (2 * self.quality)
        return jnp.stack([jnp.stack([cos + damped, sin]), jnp.stack([-sin, cos - damped])])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """The integral of what noise becomes, by quadrature, over short gaps; what the start does not explain, else."""
        angle = self.frequency * gap
        limit = _SHORT * jnp.minimum(1, self.quality)
        short = jnp.minimum(angle, limit)
        cos, sin = self._waves(short * jnp.asarray((_NODES + 1) / 2, angle.dtype))
        response = jnp.stack([sin, cos - sin / (2 * self.quality)])
        weights = jnp.asarray(_WEIGHTS, angle.dtype) * short / self.quality
        integral = (response * weights) @ response.T
        transition = self.transition(gap)
        rest = jnp.eye(2, dtype=angle.dtype) - transition @ transition.T
        return self.variance * jnp.where(angle < limit, integral, rest)

    def state_cov(self, t: Scalar) -> StateMatrix:
        """The variance in both components."""
        return self.variance * jnp.eye(2, dtype=self.variance.dtype)

    def observation(self, t: Scalar) -> State:
        """The first component."""
        return jnp.array([1, 0], self.variance.dtype)

    def _waves(self, angle: Float[Array, "*points"]) -> tuple[Float[Array, "*points"], Float[Array, "*points"]]:
        """exp(-u / 2Q) times cos(s u) and sin(s u) / s, or their hyperbolic continuation."""
        rate = 1 / (2 * self.quality)
        square = 1 - rate**2
        rings = square > 0
        angle = jnp.minimum(angle, _LONGEST * jnp.maximum(1, 1 / rate))
        # Near s = 0 both are power series in (s u)^2, whichever its sign.
        phase = square * angle**2
        near = jnp.abs(phase) < 1e-3
        cos_near = 1 - phase / 2 * (1 - phase / 12 * (1 - phase / 30))
        sin_near = angle * (1 - phase / 6 * (1 - phase / 20 * (1 - phase / 42)))
        speed = jnp.sqrt(jnp.where(near, 1, jnp.abs(square)))
        turned = speed * angle
        damping = jnp.exp(-rate * angle)
        # Creeping: both exponents together, which never overflow.
        slow, fast = jnp.exp((jnp.where(rings, 0, speed) - rate) * angle), jnp.exp(-(rate + speed) * angle)
        cos_far = jnp.where(rings, damping * jnp.cos(turned), (slow + fast) / 2)
        sin_far = jnp.where(rings, damping * jnp.sin(turned), (slow - fast) / 2) / speed
        return jnp.where(near, damping * cos_near, cos_far), jnp.where(near, damping * sin_near, sin_far)
