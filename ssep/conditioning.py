"""Condition a Gaussian on a site given by natural parameters.

Nothing here inverts the site's precision or needs it definite: zero (no information) is a legal site, and derivatives
in the site are right there too.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.linalg import matmul, solve_with_log_det, symmetrise
from ssep.types import LatentMatrix, Latents


class Conditioned(eqx.Module):
    """What conditioning `f ~ N(mean, cov)` on the site exp(b'f - f'Lam f/2) gives.

    `shift` is rho = inv(I + Lam V)(b - Lam mu) and `shrink` is Gam = inv(I + Lam V) Lam: a state with cross-covariance
    U moves by U rho and loses U Gam U'. `mean` and `cov` are those of f itself afterwards, `log_normaliser` is the log
    of the expected site; it is NaN if the result is not a distribution.
    """

    shift: Float[Array, "*time latent"]
    shrink: Float[Array, "*time latent latent"]
    mean: Float[Array, "*time latent"]
    cov: Float[Array, "*time latent latent"]
    log_normaliser: Float[Array, "*time"]


def condition(mean: Latents, cov: LatentMatrix, linear: Latents, precision: LatentMatrix) -> Conditioned:
    """Condition one Gaussian on one site."""

    # A sum of products, not `@`: a dot product would be a kernel of its own inside the filter's scan.
    def times(matrix: LatentMatrix, vector: Latents) -> Latents:
        return jnp.sum(matrix * vector, -1)

    # So that the derivative in the precision is symmetric as well.
    precision = symmetrise(precision)
    slope = linear - times(precision, mean)
    grown = jnp.eye(mean.shape[0], dtype=mean.dtype) + matmul(precision, cov)
    solved, log_det = solve_with_log_det(grown, jnp.concatenate([precision, slope[:, None]], 1))
    shrink, shift = symmetrise(solved[:, :-1]), solved[:, -1]
    moved = times(cov, shift)
    log_normaliser = jnp.sum(linear * mean) - jnp.sum(mean * times(precision, mean)) / 2
    return Conditioned(
        shift=shift,
        shrink=shrink,
        mean=mean + moved,
        cov=cov - symmetrise(matmul(matmul(cov, shrink), cov)),
        log_normaliser=log_normaliser + (jnp.sum(slope * moved) - log_det) / 2,
    )
