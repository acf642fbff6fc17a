"""A step of fixed damping."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ssep.checks import in_unit_interval, require
from ssep.refresh import Refresh
from ssep.sites import SiteState
from ssep.steps.base import StepControl, Trial
from ssep.steps.definiteness import ClipEigenvalues, Definiteness
from ssep.types import Scalar, ScalarLike


class Step(StepControl):
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
        require(valid, "Step(damping)", "must lie in (0, 1]", self.damping, "1 is a full step, 0.5 half of it.")

    def __call__(self, sites: SiteState, wanted: Refresh) -> SiteState:
        """Move the sites."""
        return self.move(sites, wanted, self.damping)

    @property
    def first_damping(self) -> ScalarLike:
        """The damping itself."""
        return self.damping

    def judge(self, damping: Scalar, trial: Trial) -> tuple[Bool[Array, ""], Scalar]:
        """Keep every step and the damping."""
        return jnp.ones((), bool), damping
