"""Constants without a prior: fixed effects, and diffuse starts."""

from typing import Any, NoReturn

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ssep.checks import as_float, is_concrete, require
from ssep.constraints import FIXED
from ssep.kernels.algebra import Sum
from ssep.kernels.base import Kernel
from ssep.kernels.composite import Composite
from ssep.kernels.modulated import Modulated
from ssep.kernels.weights import Power
from ssep.types import Scalar, ScalarLike, State, StateMatrix


class Flat(Kernel):
    """One unknown number, of which nothing is known beforehand: the limit of `Constant` for an endless variance.

    No large variance stands in for it. Filters begin with the variance `reference`, and take that prior out again at
    the end, exactly; the posterior and the energies (with a prior density of one) are those of the limit. There must be
    enough data for one. The reference matters only to where inference starts: it should be of the size of the number.
    """

    reference: Scalar = eqx.field(metadata=FIXED)

    def __init__(self, reference: ScalarLike = 1.0):
        self.reference = as_float(reference)
        valid = not is_concrete(self.reference) or 0 < self.reference < float("inf")
        require(valid, "Flat(reference)", "must be positive and finite", reference, "1 suits a number of that size.")

    @property
    def state_dim(self) -> int:
        """One."""
        return 1

    @property
    def noiseless(self) -> bool:
        """It does not move."""
        return True

    @property
    def proper(self) -> bool:
        """It is not a distribution."""
        return False

    def __call__(self, x1: Any, x2: Any) -> NoReturn:
        """There is none."""
        raise ValueError(
            "`Flat` must be used in an `SDEPrior` and observed; got a call for its covariance, which is infinite. Use "
            "`Constant` for a covariance function, or to draw from a prior."
        )

    def transition(self, gap: Scalar) -> StateMatrix:
        """The identity."""
        return jnp.ones((1, 1), gap.dtype)

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """Zero."""
        return jnp.zeros((1, 1), gap.dtype)

    def state_cov(self, t: Scalar) -> StateMatrix:
        """The reference."""
        return self.reference[None, None]

    def observation(self, t: Scalar) -> State:
        """The state itself."""
        return jnp.ones(1, t.dtype)


class FlatPolynomial(Composite):
    """A polynomial whose coefficients have no prior: sum_j c_j ((t - centre) / scale)^j for j up to `degree`.

    With `IntegratedWiener` of order `degree` and the same start as centre it is a diffuse start: a smoothing spline.

    Args:
        degree: 0 for a level, 1 for a straight line.
        centre: Where powers vanish.
        scale: The unit of time.
        reference: As for `Flat`.
    """

    degree: int = eqx.field(static=True)
    centre: float = eqx.field(static=True)
    scale: float = eqx.field(static=True)
    reference: float = eqx.field(static=True)

    def __init__(self, degree: int = 1, centre: float = 0.0, scale: float = 1.0, reference: float = 1.0):
        valid = isinstance(degree, int | np.integer) and degree >= 0
        require(valid, "FlatPolynomial(degree)", "must be a non-negative integer", degree, "1 is a straight line.")
        require(0 < scale < float("inf"), "FlatPolynomial(scale)", "must be positive and finite", scale, "Try 1.0.")
        self.degree, self.centre = int(degree), float(centre)
        self.scale, self.reference = float(scale), float(reference)

    def expansion(self) -> Kernel:
        """A coefficient for each power."""
        powers = range(self.degree + 1)
        return Sum(tuple(Modulated(Flat(self.reference), Power(self.centre, j, self.scale)) for j in powers))
