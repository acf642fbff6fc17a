"""A step that finds its own damping."""

import jax.numpy as jnp
from jaxtyping import Array, Bool

from ssep.checks import in_unit_interval, require
from ssep.steps.base import StepControl, Trial
from ssep.steps.definiteness import ClipEigenvalues, Definiteness
from ssep.types import Scalar, ScalarLike

# Limits of a step that is kept: the residual at most doubles, the misfit grows by half, and no observation is lost
# unless even careful steps lose it.
_GROWTH = 2.0
_LOSS = 0.5
_CAREFUL = 0.02
# How fast the damping follows Aitken's, and how far it falls after a step that is taken back.
_SHRINK = 0.5
_RECOVER = 2.0
_BACK_OFF = 0.25
_SMALLEST = 1e-8


class AdaptiveStep(StepControl):
    """Start bold, back off when a step fails, recover when steps succeed.

    A step is taken back, and tried again with a fraction of its damping, if it makes the posterior or a cavity
    improper, the residual (the distance from the sites to their targets) much longer, or the observations much less
    likely. After every other step the damping is set by Aitken's relaxation (Irons and Tuck, 1969): successive
    residuals that point in opposite directions say that the sites overshoot, and by how much.

    Attributes:
        first: The damping of the first step.
        definiteness: The policy for indefinite target precisions.
    """

    first: float = 1.0
    definiteness: Definiteness = ClipEigenvalues()

    def __check_init__(self) -> None:
        """Check the first damping."""
        valid = in_unit_interval(self.first)
        require(valid, "AdaptiveStep(first)", "must lie in (0, 1]", self.first, "1 is the boldest start.")

    @property
    def first_damping(self) -> ScalarLike:
        """The boldest damping that is allowed at the start."""
        return self.first

    def judge(self, damping: Scalar, trial: Trial) -> tuple[Bool[Array, ""], Scalar]:
        """Keep a step within the limits; set the damping by Aitken's relaxation."""
        sound = trial.proper & ((trial.lost == 0) | (damping < _CAREFUL))
        keep = sound & (trial.after <= _GROWTH**2 * trial.before) & (trial.gain >= -_LOSS * (1 + jnp.abs(trial.fit)))
        # With r and r' the residuals before and after, the best damping along their line is rho r.(r - r')/|r - r'|^2.
        numerator = trial.before - trial.product
        denominator = trial.before - 2 * trial.product + trial.after
        relaxed = damping * numerator / jnp.where(denominator > 0, denominator, 1)
        # A residual that grows along its own direction is no overshoot: only a failed step can tell how far to go.
        relaxed = jnp.where(numerator > 0, relaxed, jnp.inf)
        bounded = jnp.clip(relaxed, _SHRINK * damping, _RECOVER * damping)
        return keep, jnp.clip(jnp.where(keep, bounded, _BACK_OFF * damping), _SMALLEST, 1.0)
