"""Gaussian marginals of the latents at each observation."""

import equinox as eqx
from jaxtyping import Array, Float


class Marginals(eqx.Module):
    """Mean and covariance of the latents `f`, one Gaussian per observation.

    The same type serves the posterior, a filter's predictions and the cavities.
    """

    mean: Float[Array, "*obs latent"]
    cov: Float[Array, "*obs latent latent"]
