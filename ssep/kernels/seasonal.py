"""Seasonal effects."""

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
from ssep.kernels.weights import Contrast
from ssep.types import Scalar, ScalarLike


class SeasonalDummies(Composite):
    """k(t1, t2) = variance (S [same season] - 1) / (S - 1): an effect for each of S seasons, which sum to zero.

    The seasons follow each other from `start` on, each `width` long: days of the week for times in days, say. Multiply
    by another kernel for effects that change from cycle to cycle.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    seasons: int = eqx.field(static=True)
    width: float = eqx.field(static=True)
    start: float = eqx.field(static=True)

    def __init__(self, variance: ScalarLike = 1.0, seasons: int = 7, width: float = 1.0, start: float = 0.0):
        valid = isinstance(seasons, int | np.integer) and seasons >= 2
        require(valid, "SeasonalDummies(seasons)", "must be an integer of at least 2", seasons, "7 for weekdays.")
        remedy = "Give the length of one season in units of time."
        require(0 < width < math.inf, "SeasonalDummies(width)", "must be positive and finite", width, remedy)
        self.variance, self.seasons = as_float(variance), int(seasons)
        self.width, self.start = float(width), float(start)

    def expansion(self) -> Kernel:
        """Independent coefficients of orthonormal patterns that sum to zero."""
        coefficient = Constant(self.variance * (self.seasons / (self.seasons - 1)))
        patterns = [Contrast(number, self.seasons, self.width, self.start) for number in range(self.seasons - 1)]
        return Sum(tuple(Modulated(coefficient, pattern) for pattern in patterns))
