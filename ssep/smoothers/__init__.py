"""Smoothers: from a state space and sites to marginals."""

from ssep.smoothers.base import Filtered as Filtered
from ssep.smoothers.base import Smoother as Smoother
from ssep.smoothers.parallel import Parallel as Parallel
from ssep.smoothers.sequential import Sequential as Sequential
from ssep.smoothers.sharded import Sharded as Sharded
from ssep.smoothers.square_root import SquareRoot as SquareRoot
