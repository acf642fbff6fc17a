"""Angles."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import i0e
from jaxtyping import PRNGKeyArray

from ssep.checks import as_float
from ssep.constraints import POSITIVE
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.gaussian import LOG_TWO_PI
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class VonMises(Likelihood):
    """y ~ exp(concentration cos(y - f)) / (2 pi I0(concentration)): an angle in radians, around the latent angle f.

    The latent lives on the line and may wind around. An angle has no mean or variance as a number, so the linearised
    rules do not apply.
    """

    num_latents: ClassVar[int | None] = 1
    concentration: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, concentration: ScalarLike = 1.0):
        self.concentration = as_float(concentration)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        return self._log_density(jnp.cos(y - f[0]))

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Closed form: E[cos(y - f)] = cos(y - mean) exp(-variance / 2)."""
        return self._log_density(jnp.cos(y - marginal.mean[0]) * jnp.exp(-marginal.cov[0, 0] / 2))

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y in (-pi, pi] given the latents, by rejection from a wrapped Cauchy: Best and Fisher (1979)."""
        root = 1 + jnp.sqrt(1 + 4 * self.concentration**2)
        spread = (root - jnp.sqrt(2 * root)) / (2 * self.concentration)
        ratio = (1 + spread**2) / (2 * spread)

        def propose(state):
            key, _, _ = state
            key, *keys = jax.random.split(key, 3)
            turn, accept = (jax.random.uniform(each, (), f.dtype) for each in keys)
            cosine = jnp.cos(jnp.pi * turn)
            value = (1 + ratio * cosine) / (ratio + cosine)
            bound = self.concentration * (ratio - value)
            accepted = jnp.log(bound) - jnp.log(accept) + 1 - bound >= 0
            return key, jnp.clip(value, -1, 1), accepted

        start = (key, jnp.ones((), f.dtype), jnp.asarray(False))
        key, cosine, _ = jax.lax.while_loop(lambda state: ~state[2], propose, start)
        angle = f[0] + jnp.where(jax.random.bernoulli(key), 1, -1) * jnp.arccos(cosine)
        return jnp.arctan2(jnp.sin(angle), jnp.cos(angle))

    def _log_density(self, cosine: Scalar) -> Scalar:
        return self.concentration * (cosine - 1) - LOG_TWO_PI - jnp.log(i0e(self.concentration))
