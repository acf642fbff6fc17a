"""Straight lines and polynomials."""

import math

import equinox as eqx
import numpy as np

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.kernels.algebra import Sum
from ssep.kernels.base import Kernel
from ssep.kernels.composite import Composite
from ssep.kernels.constant import Constant
from ssep.kernels.modulated import Modulated
from ssep.kernels.weights import Power
from ssep.types import Scalar, ScalarLike


class Linear(Composite):
    """k(x1, x2) = variance (x1 - centre)(x2 - centre): a straight line through zero at the centre, of random slope."""

    variance: Scalar = eqx.field(metadata=POSITIVE)
    centre: float = eqx.field(static=True)

    def __init__(self, variance: ScalarLike = 1.0, centre: float = 0.0):
        self.variance, self.centre = as_float(variance), float(centre)

    def expansion(self) -> Kernel:
        """The slope."""
        return Modulated(Constant(self.variance), Power(self.centre, 1))


class Polynomial(Composite):
    """k(x1, x2) = (offset + variance (x1 - centre)(x2 - centre))^degree: polynomials with random coefficients."""

    variance: Scalar = eqx.field(metadata=POSITIVE)
    offset: Scalar = eqx.field(metadata=POSITIVE)
    degree: int = eqx.field(static=True)
    centre: float = eqx.field(static=True)

    def __init__(self, variance: ScalarLike = 1.0, offset: ScalarLike = 1.0, degree: int = 2, centre: float = 0.0):
        valid = isinstance(degree, int | np.integer) and degree >= 1
        require(valid, "Polynomial(degree)", "must be a positive integer", degree, "2 is a parabola.")
        self.variance, self.offset = as_float(variance), as_float(offset)
        self.degree, self.centre = int(degree), float(centre)

    def expansion(self) -> Kernel:
        """A random coefficient for each power, by the binomial theorem."""
        total = self.degree
        return Sum(
            tuple(
                Modulated(
                    Constant(math.comb(total, power) * self.offset ** (total - power) * self.variance**power),
                    Power(self.centre, power),
                )
                for power in range(total + 1)
            )
        )
