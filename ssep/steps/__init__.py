"""Steps: how far the sites move towards their targets, and what happens to indefinite precisions."""

from ssep.steps.adaptive import AdaptiveStep as AdaptiveStep
from ssep.steps.base import StepControl as StepControl
from ssep.steps.definiteness import ClipEigenvalues as ClipEigenvalues
from ssep.steps.definiteness import Definiteness as Definiteness
from ssep.steps.definiteness import KeepIndefinite as KeepIndefinite
from ssep.steps.definiteness import Riemannian as Riemannian
from ssep.steps.fixed import Step as Step
