"""Products of signals."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import PRNGKeyArray

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.gaussian import log_normal
from ssep.types import Aux, Latents, Scalar, ScalarLike


class AmplitudeDemodulation(Likelihood):
    """y ~ N(sum_i f_i softplus(g_i), variance): carriers f_i with positive amplitudes softplus(g_i).

    The latents are the carriers first, then the amplitudes in the same order: (f_1, ..., f_c, g_1, ..., g_c).
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0):
        self.variance = as_float(variance)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        return log_normal(y, _signal(f), self.variance)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        return _signal(f), self.variance

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return _signal(f) + jnp.sqrt(self.variance) * jax.random.normal(key, (), f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        return ndtr((y - _signal(f)) / jnp.sqrt(self.variance))


def _signal(f: Latents) -> Scalar:
    count = f.shape[0]
    require(
        count % 2 == 0,
        "AmplitudeDemodulation",
        "needs an even number of latents, carriers and then amplitudes",
        count,
        "Give the prior one kernel per carrier and one per amplitude.",
    )
    return jnp.sum(f[: count // 2] * jax.nn.softplus(f[count // 2 :]))
