"""A Gaussian process at given times as a linear Gaussian state space model."""

from ssep.statespace.dense import DenseDynamics as DenseDynamics
from ssep.statespace.dynamics import Belief as Belief
from ssep.statespace.dynamics import Dynamics as Dynamics
from ssep.statespace.dynamics import pack as pack
from ssep.statespace.dynamics import unpack as unpack
from ssep.statespace.space import Closing as Closing
from ssep.statespace.space import StateSpace as StateSpace
from ssep.statespace.structured import Bundle as Bundle
from ssep.statespace.structured import StructuredDynamics as StructuredDynamics
from ssep.statespace.views import Shared as Shared
from ssep.statespace.views import View as View
from ssep.statespace.views import WeightedSums as WeightedSums
