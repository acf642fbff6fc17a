"""Gaussian marginals of the latents at each observation."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_TINY = 1e-8


class Marginals(eqx.Module):
    """Mean and covariance of the latents `f`, one Gaussian per observation.

    The same type serves the posterior, a filter's predictions and the cavities.
    """

    mean: Float[Array, "*obs latent"]
    cov: Float[Array, "*obs latent latent"]

    def widened(self, extra: Float[Array, "*obs latent"] | None) -> "Marginals":
        """The same with further, independent variances; None adds nothing."""
        if extra is None:
            return self
        return Marginals(self.mean, self.cov + extra[..., None] * jnp.eye(extra.shape[-1], dtype=extra.dtype))

    def loosened(self) -> "Marginals":
        """The same, with a tiny variance for latents that are known exactly, so that expectations can be taken.

        A process that starts at zero is known there; what is said about it then has no effect on anything.
        """
        variances = jnp.diagonal(self.cov, axis1=-2, axis2=-1)
        largest = jax.lax.stop_gradient(jnp.max(variances, -1, keepdims=True))
        tiny = jnp.where(variances == 0, _TINY * jnp.where(largest > 0, largest, 1), 0)
        return Marginals(self.mean, self.cov + tiny[..., None] * jnp.eye(self.mean.shape[-1], dtype=self.cov.dtype))
