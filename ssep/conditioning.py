"""Condition a Gaussian on a site given by natural parameters.

Nothing here inverts the site's precision or needs it definite: zero (no information) is a legal site, and derivatives
in the site are right there too.
"""

import equinox as eqx
import jax
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
    # So that the derivative in the precision is symmetric as well.
    return _condition(mean, cov, linear, symmetrise(precision))


@jax.custom_jvp
def _condition(mean: Latents, cov: LatentMatrix, linear: Latents, precision: LatentMatrix) -> Conditioned:
    return _solve(mean, cov, linear, precision)[0]


def _solve(
    mean: Latents, cov: LatentMatrix, linear: Latents, precision: LatentMatrix, inverse: bool = False
) -> tuple[Conditioned, Array]:
    """The result, and inv(I + Lam V) if it is wanted."""
    size = mean.shape[0]
    slope = linear - _times(precision, mean)
    identity = jnp.eye(size, dtype=mean.dtype)
    right = jnp.concatenate([precision, slope[:, None], *([identity] if inverse else [])], 1)
    solved, log_det = solve_with_log_det(identity + matmul(precision, cov), right)
    shrink, shift, keep = symmetrise(solved[:, :size]), solved[:, size], solved[:, size + 1 :]
    moved = _times(cov, shift)
    log_normaliser = jnp.sum(linear * mean) - jnp.sum(mean * _times(precision, mean)) / 2
    found = Conditioned(
        shift=shift,
        shrink=shrink,
        mean=mean + moved,
        cov=cov - symmetrise(matmul(matmul(cov, shrink), cov)),
        log_normaliser=log_normaliser + (jnp.sum(slope * moved) - log_det) / 2,
    )
    return found, keep


@_condition.defjvp
def _condition_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Conditioned, Conditioned]:
    """By products alone: what was solved for in the value serves its derivatives too."""
    found, keep = _solve(*primals, inverse=True)
    cov = primals[1]
    d_mean, d_cov, d_linear, d_precision = tangents
    d_seen = d_mean + _times(d_cov, found.shift)
    d_site = d_linear - _times(d_precision, found.mean)
    d_shift = _times(keep, d_site) - _times(found.shrink, d_seen)
    second = found.cov + found.mean[:, None] * found.mean
    curve = found.shift[:, None] * found.shift - found.shrink
    return found, Conditioned(
        shift=d_shift,
        shrink=_congruence(keep, d_precision) - _congruence(found.shrink, d_cov),
        mean=d_seen + _times(cov, d_shift),
        cov=_congruence(keep.T, d_cov) - _congruence(found.cov, d_precision),
        log_normaliser=jnp.sum(found.mean * d_linear)
        + jnp.sum(found.shift * d_mean)
        + jnp.sum(curve * d_cov - second * d_precision) / 2,
    )


def _times(matrix: LatentMatrix, vector: Latents) -> Latents:
    # A sum of products, not `@`: a dot product would be a kernel of its own inside the filter's scan.
    return jnp.sum(matrix * vector, -1)


def _congruence(outer: LatentMatrix, inner: LatentMatrix) -> LatentMatrix:
    return matmul(matmul(outer, inner), outer.T)
