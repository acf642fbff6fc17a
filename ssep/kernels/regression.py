"""Effects of known covariates."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx

from ssep.checks import require
from ssep.constraints import ANYTHING, POSITIVE
from ssep.functions import as_function
from ssep.kernels.algebra import Sum
from ssep.kernels.base import Kernel, numbers
from ssep.kernels.composite import Composite
from ssep.kernels.constant import Constant
from ssep.kernels.modulated import Modulated
from ssep.types import Scalar


class Regression(Composite):
    """k(t1, t2) = sum_j variances[j] x_j(t1) x_j(t2): coefficients of known covariates, constant in time.

    Multiply by another kernel, `Regression(...) * Matern32(1.0, 10.0)`, for coefficients that change.

    Attributes:
        covariates: Functions x_j of time; `Table(times, values)` for those that are known at some times.
        variances: Of the coefficients, one for all or one for each.
    """

    covariates: tuple[Callable[[Any], Any], ...] = eqx.field(metadata=ANYTHING)
    variances: tuple[Scalar, ...] = eqx.field(metadata=POSITIVE)

    def __init__(self, covariates: Callable[[Any], Any] | Sequence[Callable[[Any], Any]], variances: Any = 1.0):
        given = (covariates,) if callable(covariates) else tuple(covariates)
        valid = bool(given) and all(callable(covariate) for covariate in given)
        remedy = "A covariate known at some times is a `ssep.kernels.Table(times, values)`."
        require(valid, "Regression(covariates)", "must be functions of time", repr(covariates), remedy)
        self.covariates = tuple(as_function(covariate) for covariate in given)
        self.variances = numbers("Regression(variances)", variances, len(given))

    def expansion(self) -> Kernel:
        """A random constant for each covariate."""
        pairs = zip(self.covariates, self.variances, strict=True)
        return Sum(tuple(Modulated(Constant(variance), covariate) for covariate, variance in pairs))
