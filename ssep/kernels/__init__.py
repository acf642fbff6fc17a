"""Kernels: covariance functions, most of them with a state space form."""

from ssep.kernels.algebra import Product as Product
from ssep.kernels.algebra import Sum as Sum
from ssep.kernels.base import Kernel as Kernel
from ssep.kernels.constant import Constant as Constant
from ssep.kernels.damped import DampedOscillator as DampedOscillator
from ssep.kernels.matern import HalfInteger as HalfInteger
from ssep.kernels.matern import Matern as Matern
from ssep.kernels.matern import Matern12 as Matern12
from ssep.kernels.matern import Matern32 as Matern32
from ssep.kernels.matern import Matern52 as Matern52
from ssep.kernels.matern import Matern72 as Matern72
from ssep.kernels.oscillator import Cosine as Cosine
from ssep.kernels.oscillator import Periodic as Periodic
from ssep.kernels.spatial import SpatialKernel as SpatialKernel
from ssep.kernels.spatial import SquaredExponential as SquaredExponential
from ssep.kernels.white import White as White
