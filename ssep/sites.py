"""Sites: the Gaussian factors that stand in for the likelihood, and how to take one out again."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ssep.conditioning import condition
from ssep.linalg import symmetrise
from ssep.marginals import Marginals
from ssep.types import LatentMatrix, Latents, Scalar, ScalarLike


class SiteState(eqx.Module):
    """One unnormalised Gaussian factor exp(b'f - f'Lam f/2) per observation.

    Zero is a legal site: no information, as for a missing observation.
    """

    linear: Float[Array, "*obs latent"]
    precision: Float[Array, "*obs latent latent"]


def remove(marginals: Marginals, sites: SiteState, alpha: ScalarLike) -> Marginals:
    """The cavity: each marginal with the fraction `alpha` of its own site taken out.

    V_cav = inv(I - alpha V Lam) V and mu_cav = inv(I - alpha V Lam) (m - alpha V b): that of [W20] section 3.1 without
    inverting the site or the marginal covariance.
    """
    mean, cov = marginals.mean, marginals.cov
    if mean.shape[-1] == 2:
        # By determinants: thousands of factorisations of two rows each would cost more than a filter.
        taken = jnp.vectorize(_take_out, signature="(l),(l,l),(l),(l,l),()->(l),(l,l)")
        return Marginals(*taken(mean, cov, sites.linear, sites.precision, alpha))
    reduced = mean - alpha * jnp.einsum("...ij,...j->...i", cov, sites.linear)
    if mean.shape[-1] == 1:
        keep = 1 - alpha * cov * sites.precision
        return Marginals(reduced / keep[..., 0], cov / keep)
    keep = jnp.eye(mean.shape[-1], dtype=mean.dtype) - alpha * jnp.einsum("...ij,...jk->...ik", cov, sites.precision)
    solved = jnp.linalg.solve(keep, jnp.concatenate([reduced[..., None], cov], -1))
    return Marginals(solved[..., 0], symmetrise(solved[..., 1:]))


def _take_out(
    mean: Latents, cov: LatentMatrix, linear: Latents, precision: LatentMatrix, alpha: Scalar
) -> tuple[Latents, LatentMatrix]:
    found = condition(mean, cov, -alpha * linear, -alpha * precision)
    return found.mean, found.cov


def blur(sites: SiteState, variance: Float[Array, "*obs latent"] | None, alpha: ScalarLike) -> SiteState:
    """Sites of f = h + e as sites of h, where e has the given variances.

    The fraction `alpha` of a site, with e integrated out, is again a site: inv(I + alpha Lam C) times both parameters.
    That is the sparse power EP of Bui, Yan and Turner (2017): alpha = 1 is FITC, alpha = 0 the variational bound.
    """
    if variance is None:
        return sites
    spread = alpha * sites.precision * variance[..., None, :]
    both = jnp.concatenate([sites.precision, sites.linear[..., None]], -1)
    if both.shape[-2] == 1:
        divided = both / (1 + spread)
    else:
        divided = jnp.linalg.solve(jnp.eye(both.shape[-2], dtype=both.dtype) + spread, both)
    return SiteState(divided[..., -1], symmetrise(divided[..., :-1]))


def choose(condition: Bool[Array, "*obs"], chosen: SiteState, otherwise: SiteState) -> SiteState:
    """For each observation one site or the other."""
    return SiteState(
        jnp.where(condition[..., None], chosen.linear, otherwise.linear),
        jnp.where(condition[..., None, None], chosen.precision, otherwise.precision),
    )
