"""Condition a Gaussian on a site given by natural parameters, one scalar at a time.

A site exp(b'f - f'Lam f/2) with several latents is a product of scalar sites exp(beta z - w z^2/2) on z = l'f. They
are found before the filter runs, vectorised over time; the filter then needs divisions only, no factorisation and no
inverse of Lam, so that zero (no information) is a legal site.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.linalg import symmetrise
from ssep.types import LatentMatrix, Latents


class ScalarSites(eqx.Module):
    """A site as a product of scalar sites: one row of `directions` with its `linears` and `weights` each."""

    directions: Float[Array, "*time latent latent"]
    linears: Float[Array, "*time latent"]
    weights: Float[Array, "*time latent"]


def split_site(linear: Latents, precision: LatentMatrix) -> ScalarSites:
    """Split one site into scalar sites: an L D L' factorisation that takes the largest remaining pivot first.

    Every positive semi-definite precision has this form. An indefinite one may not (a vanishing diagonal with other
    entries left); its weights are NaN then rather than silently wrong.
    """
    size = linear.shape[0]
    if size == 1:
        return ScalarSites(jnp.ones_like(precision), linear, precision[0])
    precision = symmetrise(precision)
    # What a pivot may be by rounding alone, once the larger ones have been taken out of its row.
    rounding = 4 * size * jnp.finfo(precision.dtype).eps * jnp.abs(precision)
    unused = jnp.ones(size, bool)
    directions, linears, weights = [], [], []
    for _ in range(size):
        diagonal = jnp.diagonal(precision)
        index = jnp.argmax(jnp.where(unused, diagonal, -jnp.inf))
        chosen = jnp.arange(size) == index
        pivot, row, beta = diagonal[index], precision[index], linear[index]
        vanished = jnp.abs(pivot) <= rounding[index, index]
        lost = vanished & jnp.any(jnp.abs(row) > 1e3 * jnp.max(rounding))
        ratios = jnp.where(vanished, 0, row / jnp.where(vanished, 1, pivot))
        direction = jnp.where(chosen, 1, ratios)
        weight = jnp.where(vanished, 0, pivot)
        directions.append(direction)
        linears.append(beta)
        weights.append(jnp.where(lost, jnp.nan, weight))
        unused = unused & ~chosen
        linear = jnp.where(unused, linear - beta * direction, 0)
        precision = jnp.where(unused & unused[:, None], precision - weight * jnp.outer(direction, direction), 0)
    return ScalarSites(jnp.stack(directions), jnp.stack(linears), jnp.stack(weights))


class Conditioned(eqx.Module):
    """What conditioning `f ~ N(mean, cov)` on a site gives.

    `shift` is rho = inv(I + Lam V)(b - Lam mu) and `shrink` is Gam = inv(I + Lam V) Lam: a state with cross-covariance
    U moves by U rho and loses U Gam U'. `mean` and `cov` are those of f itself afterwards, `log_normaliser` is the log
    of the expected site.
    """

    shift: Float[Array, "*time latent"]
    shrink: Float[Array, "*time latent latent"]
    mean: Float[Array, "*time latent"]
    cov: Float[Array, "*time latent latent"]
    log_normaliser: Float[Array, "*time"]


def condition(mean: Latents, cov: LatentMatrix, sites: ScalarSites) -> Conditioned:
    """Condition on each scalar site in turn."""
    prior_cov = cov
    shift, shrink, log_normaliser = jnp.zeros_like(mean), jnp.zeros_like(cov), jnp.zeros((), mean.dtype)
    for direction, beta, weight in zip(sites.directions, sites.linears, sites.weights, strict=True):
        # Sums of products, not `@`: a dot product would be a kernel of its own inside the filter's scan.
        gain = jnp.sum(cov * direction, -1)
        variance = jnp.sum(direction * gain)
        centre = jnp.sum(direction * mean)
        growth = 1 + weight * variance
        slope = beta - weight * centre
        # The vector with gain = prior_cov @ dual, since cov = prior_cov - prior_cov @ shrink @ prior_cov.
        dual = direction - jnp.sum(shrink * jnp.sum(prior_cov * direction, -1), -1)
        shift = shift + dual * (slope / growth)
        shrink = shrink + jnp.outer(dual, dual) * (weight / growth)
        mean = mean + gain * (slope / growth)
        cov = cov - jnp.outer(gain, gain) * (weight / growth)
        log_normaliser += (
            beta * centre - weight * centre**2 / 2 + slope**2 * variance / growth / 2 - jnp.log(growth) / 2
        )
    return Conditioned(shift, shrink, mean, cov, log_normaliser)
