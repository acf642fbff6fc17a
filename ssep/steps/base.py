"""What controls a step: it says how far to go, and judges the result."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ssep.checks import require
from ssep.refresh import Refresh
from ssep.sites import SiteState, choose
from ssep.steps.definiteness import Definiteness
from ssep.types import Scalar, ScalarLike


class Trial(eqx.Module):
    """What is known after a step was tried: the residual is the distance of the sites from their targets.

    Distances and products are those of the Fisher metric of the posterior marginals.
    """

    proper: Bool[Array, ""]
    """Whether the posterior under the new sites is a distribution."""
    before: Scalar
    """Squared length of the residual before the step."""
    after: Scalar
    """Squared length of the residual after it."""
    product: Scalar
    """Inner product of the two."""
    fit: Scalar
    """The mean log density of the observations at the posterior means before the step."""
    gain: Scalar
    """By how much the step raised it."""
    lost: Int[Array, ""]
    """How many observations can no longer be refreshed: their cavities became improper, or their targets infinite."""


class StepControl(eqx.Module):
    """How the sites move from sweep to sweep."""

    definiteness: eqx.AbstractVar[Definiteness]

    def __check_init__(self) -> None:
        """Check the policy."""
        require(
            isinstance(self.definiteness, Definiteness),
            f"{type(self).__name__}(definiteness)",
            "must be a policy",
            repr(self.definiteness),
            "Use `ClipEigenvalues()`, `Riemannian()` or `KeepIndefinite()`.",
        )

    @property
    @abc.abstractmethod
    def first_damping(self) -> ScalarLike:
        """The damping of the first step."""

    @abc.abstractmethod
    def judge(self, damping: Scalar, trial: Trial) -> tuple[Bool[Array, ""], Scalar]:
        """Whether to keep a step that was made with this damping, and the damping of the next."""

    def aim(self, wanted: Refresh) -> SiteState:
        """Where the sites should go, after the policy."""
        return wanted.target if wanted.definite else self.definiteness.aim(wanted.target, wanted.expansion)

    def move(self, sites: SiteState, wanted: Refresh, damping: ScalarLike) -> SiteState:
        """Move the sites; an observation whose target is unusable keeps the site it has."""
        return choose(wanted.usable, self.definiteness.move(sites, self.aim(wanted), wanted.expansion, damping), sites)

    def begin(self, wanted: Refresh) -> SiteState:
        """The first sites: the targets, after the policy; an observation whose target is unusable starts at zero."""
        first = self.definiteness.begin(self.aim(wanted), wanted.expansion)
        return choose(wanted.usable, first, jax.tree.map(jnp.zeros_like, first))
