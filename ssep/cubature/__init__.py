"""Cubature: expectations under Gaussians."""

from ssep.cubature.adaptive import Adaptive as Adaptive
from ssep.cubature.base import Cubature as Cubature
from ssep.cubature.base import Points as Points
from ssep.cubature.rules import MAX_POINTS as MAX_POINTS
from ssep.cubature.rules import Dense as Dense
from ssep.cubature.rules import GaussHermite as GaussHermite
from ssep.cubature.rules import SparseGrid as SparseGrid
from ssep.cubature.rules import Unscented3 as Unscented3
from ssep.cubature.rules import Unscented5 as Unscented5
from ssep.cubature.rules import finest_gauss_hermite as finest_gauss_hermite
