"""How far to move from the old sites to the new, and what to do about indefinite precisions: the one place for both."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.checks import in_unit_interval, require
from ssep.linalg import project_psd
from ssep.sites import SiteState
from ssep.types import ScalarLike


class Definiteness(eqx.Module):
    """What to do with a target site whose precision is not positive semi-definite."""

    @abc.abstractmethod
    def __call__(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """Adjust the targets, given the latents around which they were expanded."""


class ClipEigenvalues(Definiteness):
    """Set negative eigenvalues of the precision to zero and keep the gradient b - Lam f at the expansion point.

    With only positive semi-definite sites every posterior and every cavity is proper.
    """

    def __call__(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """Adjust the targets."""
        size = expansion.shape[-1]
        precision = jax.vmap(project_psd)(target.precision.reshape(-1, size, size)).reshape(target.precision.shape)
        change = precision - target.precision
        return SiteState(target.linear + jnp.sum(change * expansion[..., None, :], -1), precision)


class KeepIndefinite(Definiteness):
    """Leave the targets as they are: exact for likelihoods that are not log-concave, but nothing guards the result."""

    def __call__(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The targets themselves."""
        return target


class Step(eqx.Module):
    """new = (1 - damping) old + damping target, in natural parameters.

    Attributes:
        damping: The fraction of the way to go, in (0, 1]; 1 takes the target itself.
        definiteness: The policy for indefinite target precisions.
    """

    damping: int | float | Float[Array, ""] = 1.0
    definiteness: Definiteness = ClipEigenvalues()

    def __check_init__(self) -> None:
        """Check the damping."""
        valid = in_unit_interval(self.damping)
        require(
            isinstance(self.definiteness, Definiteness),
            "Step(definiteness)",
            "must be a policy",
            repr(self.definiteness),
            "Use `ClipEigenvalues()` or `KeepIndefinite()`.",
        )
        require(valid, "Step(damping)", "must lie in (0, 1]", self.damping, "1 is a full step, 0.5 half of it.")

    def __call__(self, sites: SiteState, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """Move the sites; an observation whose target is not finite keeps the site it has."""
        return _move(sites, self.definiteness(target, expansion), self.damping)

    def begin(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The first sites: the targets themselves; an observation whose target is not finite starts at zero."""
        nothing = jax.tree.map(jnp.zeros_like, target)
        return _move(nothing, self.definiteness(target, expansion), 1.0)


def _move(sites: SiteState, target: SiteState, fraction: ScalarLike) -> SiteState:
    finite = jnp.isfinite(target.linear).all(-1) & jnp.isfinite(target.precision).all((-2, -1))

    def move(old: Array, new: Array) -> Array:
        usable = finite.reshape(finite.shape + (1,) * (old.ndim - finite.ndim))
        return jnp.where(usable, (1 - fraction) * old + fraction * new, old)

    return jax.tree.map(move, sites, target)
