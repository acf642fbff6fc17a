"""What to do about targets whose precision is not positive semi-definite."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.linalg import matmul, project_psd, solve_with_log_det, symmetrise
from ssep.sites import SiteState
from ssep.types import LatentMatrix, ScalarLike


class Definiteness(eqx.Module):
    """A policy for indefinite precisions: where to aim, and how to get there."""

    @abc.abstractmethod
    def aim(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The sites to go to, given the rule's targets and the latents around which they were expanded."""

    def move(
        self, sites: SiteState, aimed: SiteState, expansion: Float[Array, "*obs latent"], damping: ScalarLike
    ) -> SiteState:
        """The fraction `damping` of the way there; a straight line in natural parameters unless overridden."""
        return jax.tree.map(lambda old, new: (1 - damping) * old + damping * new, sites, aimed)

    def begin(self, aimed: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The first sites: those aimed at, unless overridden."""
        return aimed


class ClipEigenvalues(Definiteness):
    """Set negative eigenvalues of the precision to zero and keep the gradient b - Lam f at the expansion point.

    With only positive semi-definite sites every posterior and every cavity is proper.
    """

    def aim(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The targets, clipped."""
        return _with_precision(target, _map_matrices(project_psd, target.precision), expansion)


class KeepIndefinite(Definiteness):
    """Leave the targets as they are: exact for likelihoods that are not log-concave, but nothing guards the result."""

    def aim(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The targets themselves."""
        return target


class Riemannian(Definiteness):
    """Move along a retraction that stays positive definite for every damping: Lin, Schmidt and Khan (2020).

    With G = Lam - Lam_target the new precision is Lam - rho G + rho^2/2 G inv(Lam) G. Nothing is clipped on the way,
    but where the target itself is indefinite there is no fixed point to reach: precisions there settle at a small
    value that depends on the damping. Sites whose precision is singular move as with `ClipEigenvalues`.
    """

    def aim(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The targets themselves."""
        return target

    def move(
        self, sites: SiteState, aimed: SiteState, expansion: Float[Array, "*obs latent"], damping: ScalarLike
    ) -> SiteState:
        """The retraction; the gradient at the expansion point moves on a straight line."""

        def retract(old: LatentMatrix, new: LatentMatrix) -> LatentMatrix:
            change = old - new
            solved, log_det = solve_with_log_det(old, change)
            curved = old - damping * change + symmetrise(matmul(change, solved)) * damping**2 / 2
            straight = (1 - damping) * old + damping * project_psd(new)
            return jnp.where(jnp.isfinite(log_det) & jnp.isfinite(curved).all(), curved, straight)

        straight = super().move(sites, aimed, expansion, damping)
        return _with_precision(straight, _map_matrices(retract, sites.precision, aimed.precision), expansion)

    def begin(self, aimed: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The absolute values of the eigenvalues: positive definite wherever the target is not singular."""

        def reflect(matrix: LatentMatrix) -> LatentMatrix:
            return 2 * project_psd(matrix) - matrix

        return _with_precision(aimed, _map_matrices(reflect, aimed.precision), expansion)


def _map_matrices(function, *arrays):
    """Apply a function of single matrices to arrays of them."""
    shape = arrays[0].shape
    return jax.vmap(function)(*(array.reshape(-1, *shape[-2:]) for array in arrays)).reshape(shape)


def _with_precision(
    sites: SiteState, precision: Float[Array, "*obs latent latent"], expansion: Float[Array, "*obs latent"]
) -> SiteState:
    """Exchange the precision and keep the gradient b - Lam f at the expansion point."""
    change = precision - sites.precision
    return SiteState(sites.linear + jnp.sum(change * expansion[..., None, :], -1), precision)
