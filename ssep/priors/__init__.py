"""Priors: from times to state spaces."""

from ssep.priors.base import Prior as Prior
from ssep.priors.sde import SDEPrior as SDEPrior
from ssep.priors.separable import Separable as Separable
from ssep.priors.spatiotemporal import SpatioTemporalPrior as SpatioTemporalPrior
