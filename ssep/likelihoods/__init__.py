"""Likelihoods: the distribution of one observation given its latents."""

from ssep.likelihoods.angle import VonMises as VonMises
from ssep.likelihoods.base import Likelihood as Likelihood
from ssep.likelihoods.base import Regression as Regression
from ssep.likelihoods.base import Tilted as Tilted
from ssep.likelihoods.bernoulli import Bernoulli as Bernoulli
from ssep.likelihoods.binomial import Binomial as Binomial
from ssep.likelihoods.censored import CensoredGaussian as CensoredGaussian
from ssep.likelihoods.censored import IntervalGaussian as IntervalGaussian
from ssep.likelihoods.conditionally_linear import ConditionallyLinear as ConditionallyLinear
from ssep.likelihoods.demodulation import AmplitudeDemodulation as AmplitudeDemodulation
from ssep.likelihoods.gaussian import Gaussian as Gaussian
from ssep.likelihoods.heteroscedastic import HeteroscedasticGaussian as HeteroscedasticGaussian
from ssep.likelihoods.heteroscedastic import HeteroscedasticStudentT as HeteroscedasticStudentT
from ssep.likelihoods.labels import Categorical as Categorical
from ssep.likelihoods.labels import Ordinal as Ordinal
from ssep.likelihoods.laplace import Laplace as Laplace
from ssep.likelihoods.negative_binomial import NegativeBinomial as NegativeBinomial
from ssep.likelihoods.outputs import Outputs as Outputs
from ssep.likelihoods.poisson import Poisson as Poisson
from ssep.likelihoods.positive import Exponential as Exponential
from ssep.likelihoods.positive import Gamma as Gamma
from ssep.likelihoods.positive import LogNormal as LogNormal
from ssep.likelihoods.positive import Weibull as Weibull
from ssep.likelihoods.proportion import Beta as Beta
from ssep.likelihoods.student_t import StudentT as StudentT
from ssep.likelihoods.zero_inflated import ZeroInflated as ZeroInflated
