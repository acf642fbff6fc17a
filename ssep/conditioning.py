"""Condition a Gaussian on a site given by natural parameters.

Nothing here inverts the site's precision or needs it definite: zero (no information) is a legal site, and derivatives
in the site are right there too.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ssep.linalg import UNROLL_LIMIT, matmul, solve_with_log_det, symmetrise
from ssep.types import LatentMatrix, Latents, Scalar


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
    return _condition(mean, cov, linear, precision, False)[0]


@partial(jax.custom_jvp, nondiff_argnums=(4,))
def _condition(
    mean: Latents, cov: LatentMatrix, linear: Latents, precision: LatentMatrix, inverse: bool
) -> tuple[Conditioned, Float[Array, "latent columns"]]:
    """The result, and inv(I + Lam V) if it is wanted."""
    slope = linear - _times(precision, mean)
    size, args = mean.shape[0], (slope, cov, precision)
    if size == 2:
        solved = _by_determinants(*args, inverse)
    elif 2 < size <= UNROLL_LIMIT:
        # Elimination is dear here, and the sites of linearised models have rank one.
        branches = [partial(function, inverse=inverse) for function in (_as_one_number, _by_elimination)]
        solved = jax.lax.cond(_has_rank_one(precision), *branches, *args)
    else:
        solved = _by_elimination(*args, inverse)
    moved = _times(cov, solved.shift)
    log_normaliser = jnp.sum(linear * mean) - jnp.sum(mean * _times(precision, mean)) / 2
    found = Conditioned(
        shift=solved.shift,
        shrink=solved.shrink,
        mean=mean + moved,
        cov=cov - symmetrise(matmul(matmul(cov, solved.shrink), cov)),
        log_normaliser=log_normaliser + (jnp.sum(slope * moved) - solved.log_det) / 2,
    )
    return found, solved.keep


@_condition.defjvp
def _condition_jvp(inverse: bool, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
    """By products alone: what was solved for in the value serves all derivatives too."""
    found, keep = _condition(*primals, True)
    cov = primals[1]
    d_mean, d_cov, d_linear, d_precision = tangents
    # So that the derivative in the precision is symmetric in reverse mode too.
    d_precision = symmetrise(d_precision)
    d_seen = d_mean + _times(d_cov, found.shift)
    d_site = d_linear - _times(d_precision, found.mean)
    d_shift = _times(keep, d_site) - _times(found.shrink, d_seen)
    second = found.cov + found.mean[:, None] * found.mean
    curve = found.shift[:, None] * found.shift - found.shrink
    d_found = Conditioned(
        shift=d_shift,
        shrink=_congruence(keep, d_precision) - _congruence(found.shrink, d_cov),
        mean=d_seen + _times(cov, d_shift),
        cov=_congruence(keep.T, d_cov) - _congruence(found.cov, d_precision),
        log_normaliser=jnp.sum(found.mean * d_linear)
        + jnp.sum(found.shift * d_mean)
        + jnp.sum(curve * d_cov - second * d_precision) / 2,
    )
    if not inverse:
        return (found, keep[:, :0]), (d_found, keep[:, :0])
    changed = matmul(matmul(keep, d_precision), found.cov) + matmul(matmul(found.shrink, d_cov), keep)
    return (found, keep), (d_found, -changed)


class _Solved(NamedTuple):
    """inv(M) slope, inv(M) Lam, inv(M) and log det M, with M = I + Lam V."""

    shift: Latents
    shrink: LatentMatrix
    keep: Float[Array, "latent columns"]
    log_det: Scalar


def _by_elimination(slope: Latents, cov: LatentMatrix, precision: LatentMatrix, inverse: bool) -> _Solved:
    size = slope.shape[0]
    identity = jnp.eye(size, dtype=slope.dtype)
    right = jnp.concatenate([precision, slope[:, None], *([identity] if inverse else [])], 1)
    solved, log_det = solve_with_log_det(identity + matmul(precision, cov), right)
    return _Solved(solved[:, size], symmetrise(solved[:, :size]), solved[:, size + 1 :], log_det)


def _by_determinants(slope: Latents, cov: LatentMatrix, precision: LatentMatrix, inverse: bool) -> _Solved:
    """For two latents: adj(I + Lam V) = I + adj(V) adj(Lam), and that times Lam is Lam + det(Lam) adj(V)."""
    mirrored, content = _adjugate(cov), _determinant(precision)
    determinant = 1 + jnp.sum(precision * cov) + content * _determinant(cov)
    keep = (jnp.eye(2, dtype=cov.dtype) + matmul(mirrored, _adjugate(precision))) / determinant
    log_det = jnp.log(jnp.where(determinant > 0, determinant, jnp.nan))
    return _Solved(
        shift=_times(keep, slope),
        shrink=(precision + content * mirrored) / determinant,
        keep=keep if inverse else keep[:, :0],
        log_det=log_det,
    )


def _as_one_number(slope: Latents, cov: LatentMatrix, precision: LatentMatrix, inverse: bool) -> _Solved:
    """For Lam = j j' / c, with j a row of Lam and c its entry on the diagonal, which sees the number j'f alone."""
    place, row = _largest_row(precision)
    scale, spread = row[place], _times(cov, row)
    total = scale + jnp.sum(row * spread)
    weighted = row / jnp.where(scale == 0, 1, total)
    keep = jnp.eye(slope.shape[0], dtype=slope.dtype) - weighted[:, None] * spread
    # What is parallel to j is scaled, not subtracted from: nothing cancels however precise the site.
    rest = slope - row * (slope[place] / jnp.where(scale == 0, 1, scale))
    return _Solved(
        shift=rest + weighted * (slope[place] - jnp.sum(spread * rest)),
        shrink=weighted[:, None] * row,
        keep=keep if inverse else keep[:, :0],
        log_det=jnp.where(scale == 0, 0, jnp.log(total) - jnp.log(scale)),
    )


def _largest_row(precision: LatentMatrix) -> tuple[Int[Array, ""], Latents]:
    place = jnp.argmax(jnp.diagonal(precision))
    return place, precision[place]


def _has_rank_one(precision: LatentMatrix) -> Bool[Array, ""]:
    """Whether a site is positive semi-definite and of rank one or zero, up to the rounding of its entries."""
    place, row = _largest_row(precision)
    product = row[:, None] * row
    close = jnp.abs(precision * row[place] - product) <= 8 * jnp.finfo(precision.dtype).eps * jnp.abs(product)
    return jnp.all(close) & ((row[place] > 0) | jnp.all(precision == 0))


def _adjugate(matrix: Float[Array, "2 2"]) -> Float[Array, "2 2"]:
    return matrix[::-1, ::-1].T * jnp.array([[1, -1], [-1, 1]], matrix.dtype)


def _determinant(matrix: Float[Array, "2 2"]) -> Scalar:
    return matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]


def _times(matrix: LatentMatrix, vector: Latents) -> Latents:
    # A sum of products, not `@`: a dot product would be a kernel of its own inside the filter's scan.
    return jnp.sum(matrix * vector, -1)


def _congruence(outer: LatentMatrix, inner: LatentMatrix) -> LatentMatrix:
    return matmul(matmul(outer, inner), outer.T)
