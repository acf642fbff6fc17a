"""Products of signals."""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.likelihoods.conditionally_linear import ConditionallyLinear
from ssep.types import Aux, Scalar, ScalarLike


class AmplitudeDemodulation(ConditionallyLinear):
    """y ~ N(sum_i f_i softplus(g_i), variance): carriers f_i with positive amplitudes softplus(g_i).

    The latents are the carriers first, then the amplitudes in the same order: (f_1, ..., f_c, g_1, ..., g_c).
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0):
        self.variance = as_float(variance)

    def split(self, count: int) -> int:
        """The carriers are linear."""
        require(
            count % 2 == 0,
            "AmplitudeDemodulation",
            "needs an even number of latents, carriers and then amplitudes",
            count,
            "Give the prior one kernel per carrier and one per amplitude.",
        )
        return count // 2

    def given(self, g: Float[Array, " other"], aux: Aux) -> tuple[Float[Array, " linear"], Scalar]:
        """The amplitudes weigh the carriers."""
        return jax.nn.softplus(g), self.variance
