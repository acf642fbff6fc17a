"""Waves and patterns that change slowly."""

import equinox as eqx
import jax.numpy as jnp

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.kernels.algebra import Product
from ssep.kernels.base import Kernel
from ssep.kernels.composite import Composite
from ssep.kernels.matern import Matern12, Matern32, Matern52, Matern72
from ssep.kernels.oscillator import Cosine, Periodic
from ssep.types import Scalar, ScalarLike

_ENVELOPES = (Matern12, Matern32, Matern52, Matern72)


class QuasiPeriodic(Composite):
    """A periodic pattern that changes slowly: `Periodic(variance, lengthscale, period, order)` times a Matern kernel.

    Attributes:
        variance: Of the process.
        lengthscale: Of the pattern, as in `Periodic`: above 1 for smooth ones.
        period: Of the pattern.
        decay: The lengthscale, in units of time, over which the pattern changes.
        order: The highest harmonic.
        smoothness: How often the change can be differentiated: 0 to 3 for Matern-1/2 to Matern-7/2.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    lengthscale: Scalar = eqx.field(metadata=POSITIVE)
    period: Scalar = eqx.field(metadata=POSITIVE)
    decay: Scalar = eqx.field(metadata=POSITIVE)
    order: int = eqx.field(static=True)
    smoothness: int = eqx.field(static=True)

    def __init__(
        self,
        variance: ScalarLike = 1.0,
        lengthscale: ScalarLike = 1.0,
        period: ScalarLike = 1.0,
        decay: ScalarLike = 10.0,
        order: int = 6,
        smoothness: int = 1,
    ):
        self.variance, self.lengthscale = as_float(variance), as_float(lengthscale)
        self.period, self.decay = as_float(period), as_float(decay)
        self.order, self.smoothness = order, _checked("QuasiPeriodic", smoothness)

    def expansion(self) -> Kernel:
        """The product."""
        envelope = _ENVELOPES[self.smoothness](jnp.ones_like(self.variance), self.decay)
        return Product((Periodic(self.variance, self.lengthscale, self.period, self.order), envelope))


class Subband(Composite):
    """k(tau) = variance cos(frequency tau) times a Matern kernel: a wave whose phase and size drift.

    Attributes:
        variance: Of the process.
        frequency: In radians per unit of time.
        lengthscale: Over which phase and size change: the longer, the narrower the band.
        smoothness: How often the change can be differentiated: 0 to 3 for Matern-1/2 to Matern-7/2.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    frequency: Scalar = eqx.field(metadata=POSITIVE)
    lengthscale: Scalar = eqx.field(metadata=POSITIVE)
    smoothness: int = eqx.field(static=True)

    def __init__(
        self,
        variance: ScalarLike = 1.0,
        frequency: ScalarLike = 1.0,
        lengthscale: ScalarLike = 1.0,
        smoothness: int = 0,
    ):
        self.variance, self.frequency = as_float(variance), as_float(frequency)
        self.lengthscale, self.smoothness = as_float(lengthscale), _checked("Subband", smoothness)

    def expansion(self) -> Kernel:
        """The product."""
        envelope = _ENVELOPES[self.smoothness](jnp.ones_like(self.variance), self.lengthscale)
        return Product((envelope, Cosine(self.variance, self.frequency)))


def _checked(name: str, smoothness: int) -> int:
    valid = smoothness in range(len(_ENVELOPES))
    require(valid, f"{name}(smoothness)", "must be 0, 1, 2 or 3", smoothness, "0 is the exponential kernel.")
    return int(smoothness)
