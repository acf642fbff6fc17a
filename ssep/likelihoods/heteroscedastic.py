"""Noise whose size is itself a latent function."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ssep import links
from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.conditionally_linear import ConditionallyLinear
from ssep.likelihoods.gaussian import LOG_TWO_PI
from ssep.likelihoods.student_t import StudentT
from ssep.types import Aux, Latents, Scalar, ScalarLike


class HeteroscedasticGaussian(ConditionallyLinear):
    """y ~ N(f1, s^2) with the noise scale s = softplus(f2 - 1/2): [W20] appendix I.1.

    The linearised rules learn little about f2: at the mean of the noise the measurement does not depend on it.
    """

    num_latents: ClassVar[int | None] = 2

    def split(self, count: int) -> int:
        """The mean is linear."""
        return 1

    def given(self, g: Float[Array, " other"], aux: Aux) -> tuple[Float[Array, " linear"], Scalar]:
        """The noise of the mean itself."""
        # A scale that underflows has no logarithm.
        smallest = float(jnp.finfo(g.dtype).tiny) ** 0.5
        return jnp.ones(1, g.dtype), jnp.maximum(jax.nn.softplus(g[0] - 0.5) ** 2, smallest)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        # Through the logarithm of the scale, which stays finite where the scale underflows.
        log_scale = links.softplus.log(f[1] - 0.5)
        return -LOG_TWO_PI / 2 - log_scale - ((y - f[0]) * jnp.exp(-log_scale)) ** 2 / 2


class HeteroscedasticStudentT(Likelihood):
    """y = f1 + s t with t from Student's distribution with `df` degrees of freedom and s = softplus(f2 - 1/2).

    Outliers need not be explained by noise that changes, nor the other way round.
    """

    num_latents: ClassVar[int | None] = 2
    df: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, df: ScalarLike = 4.0):
        self.df = as_float(df)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        log_scale = links.softplus.log(f[1] - 0.5)
        return self._standard.log_prob((y - f[0]) * jnp.exp(-log_scale), jnp.zeros(1, f.dtype), aux) - log_scale

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f], which exists for df > 2 only."""
        mean, variance = self._standard.conditional_moments(f[:1], aux)
        return mean, variance * jax.nn.softplus(f[1] - 0.5) ** 2

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return f[0] + jax.nn.softplus(f[1] - 0.5) * self._standard.sample(key, jnp.zeros(1, f.dtype), aux)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        residual = (y - f[0]) * jnp.exp(-links.softplus.log(f[1] - 0.5))
        return self._standard.cdf(residual, jnp.zeros(1, f.dtype), aux)

    def check_moments(self) -> None:
        """The variance exists for df > 2 only."""
        self._standard.check_moments()

    @property
    def _standard(self) -> StudentT:
        return StudentT(self.df, 1.0)
