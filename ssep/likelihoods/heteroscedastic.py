"""Gaussian noise whose size is itself a latent function."""

from typing import ClassVar

import jax
import jax.numpy as jnp

from ssep import links
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.gaussian import LOG_TWO_PI
from ssep.types import Aux, Latents, Scalar


class HeteroscedasticGaussian(Likelihood):
    """y ~ N(f1, s^2) with the noise scale s = softplus(f2 - 1/2): [W20] appendix I.1.

    The linearised rules learn little about f2: at the mean of the noise the measurement does not depend on it.
    """

    num_latents: ClassVar[int | None] = 2

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        # Through the logarithm of the scale, which stays finite where the scale underflows.
        log_scale = links.softplus.log(f[1] - 0.5)
        return -LOG_TWO_PI / 2 - log_scale - ((y - f[0]) * jnp.exp(-log_scale)) ** 2 / 2

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        return f[0], jax.nn.softplus(f[1] - 0.5) ** 2
