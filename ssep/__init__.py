"""State space expectation propagation: Gaussian processes in time with any likelihood, in linear time."""

from ssep import datasets as datasets
from ssep import kernels as kernels
from ssep import likelihoods as likelihoods
from ssep import links as links
from ssep.cubature import Cubature as Cubature
from ssep.cubature import GaussHermite as GaussHermite
from ssep.cubature import Unscented3 as Unscented3
from ssep.cubature import Unscented5 as Unscented5
from ssep.data import Data as Data
from ssep.energies import Energy as Energy
from ssep.energies import FilterEnergy as FilterEnergy
from ssep.energies import FreeEnergy as FreeEnergy
from ssep.energies import PowerEPEnergy as PowerEPEnergy
from ssep.inference import infer as infer
from ssep.kernels import Kernel as Kernel
from ssep.likelihoods import Likelihood as Likelihood
from ssep.marginals import Marginals as Marginals
from ssep.priors import Prior as Prior
from ssep.priors import SDEPrior as SDEPrior
from ssep.results import RESULTS as RESULTS
from ssep.rules import CVI as CVI
from ssep.rules import ExtendedEP as ExtendedEP
from ssep.rules import PowerEP as PowerEP
from ssep.rules import Rule as Rule
from ssep.rules import StatLinEP as StatLinEP
from ssep.sites import SiteState as SiteState
from ssep.smoothers import Sequential as Sequential
from ssep.smoothers import Smoother as Smoother
from ssep.solution import Solution as Solution
from ssep.steps import AdaptiveStep as AdaptiveStep
from ssep.steps import ClipEigenvalues as ClipEigenvalues
from ssep.steps import Definiteness as Definiteness
from ssep.steps import KeepIndefinite as KeepIndefinite
from ssep.steps import Riemannian as Riemannian
from ssep.steps import Step as Step
from ssep.steps import StepControl as StepControl
from ssep.sweep import sweep as sweep

__version__ = "0.1.0"
