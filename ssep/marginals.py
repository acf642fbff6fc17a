"""Gaussian marginals of the latents at each observation."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


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
