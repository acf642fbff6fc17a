"""Likelihoods: the distribution of one observation given its latents."""

from ssep.likelihoods.base import Likelihood as Likelihood
from ssep.likelihoods.base import Tilted as Tilted
from ssep.likelihoods.bernoulli import Bernoulli as Bernoulli
from ssep.likelihoods.demodulation import AmplitudeDemodulation as AmplitudeDemodulation
from ssep.likelihoods.gaussian import Gaussian as Gaussian
from ssep.likelihoods.heteroscedastic import HeteroscedasticGaussian as HeteroscedasticGaussian
from ssep.likelihoods.poisson import Poisson as Poisson
from ssep.likelihoods.student_t import StudentT as StudentT
