"""Ask the rule for a new site of every observation."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ssep.data import Observations
from ssep.likelihoods.base import Likelihood
from ssep.linalg import cholesky
from ssep.marginals import Marginals
from ssep.rules.base import Rule
from ssep.sites import SiteState, blur
from ssep.types import ScalarLike


class Refresh(eqx.Module):
    """What the rule wants: a target per observation, zero where one is missing."""

    target: SiteState
    expansion: Float[Array, "*obs latent"]
    """The latents around which each target was expanded: the mean of the cavity."""
    usable: Bool[Array, "*obs"]
    """Whether the cavity was a distribution and the target is finite; other observations keep the site they have."""
    definite: bool = eqx.field(static=True)
    """Whether the rule's precisions are positive semi-definite by themselves."""


def refresh(
    lik: Likelihood,
    rule: Rule,
    observations: Observations,
    cavity: Marginals,
    unresolved: Float[Array, "*obs latent"] | None,
    alpha: ScalarLike,
) -> Refresh:
    """The rule's targets, given the cavities and the variances that come on top of them."""
    seen = cavity.widened(unresolved).loosened()
    target = observations.map(lambda y, aux, marginal: rule.update(lik, y, aux, marginal, alpha), seen)
    target = blur(target, unresolved, alpha)
    # In the precision of the data, whatever the likelihood's parameters came in.
    target = jax.tree.map(lambda leaf: leaf.astype(cavity.mean.dtype), target)
    finite = jnp.isfinite(target.linear).all(-1) & jnp.isfinite(target.precision).all((-2, -1))
    usable = ~observations.mask | (finite & is_sound(cavity, unresolved))
    return Refresh(target, cavity.mean, usable, rule.definite)


def is_sound(resolved: Marginals, unresolved: Float[Array, "*obs latent"] | None) -> Bool[Array, "*obs"]:
    """Whether latents have a distribution; the nodes may say nothing at all about a place far from all of them."""
    if unresolved is None:
        return is_proper(resolved)
    complete = resolved.widened(unresolved)
    part, whole = (jnp.diagonal(marginals.cov, axis1=-2, axis2=-1) for marginals in (resolved, complete))
    rounding = float(jnp.finfo(whole.dtype).eps) ** 0.5
    return is_proper(complete) & (part >= -rounding * whole).all(-1)


def is_proper(marginals: Marginals) -> Bool[Array, "*obs"]:
    """Whether each is a distribution: finite, with a positive definite covariance but for what is known exactly."""
    marginals, size = marginals.loosened(), marginals.mean.shape[-1]
    factors = jax.vmap(cholesky)(marginals.cov.reshape(-1, size, size)).reshape(marginals.cov.shape)
    positive = jnp.diagonal(factors, axis1=-2, axis2=-1) > 0
    return (positive & jnp.isfinite(marginals.mean)).all(-1) & jnp.isfinite(factors).all((-2, -1))
