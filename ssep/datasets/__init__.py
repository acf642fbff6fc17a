"""Data to try things on: tables that ship with the package, larger ones from a folder, and made-up ones."""

from ssep.datasets.coal import coal as coal
from ssep.datasets.coal import coal_dates as coal_dates
from ssep.datasets.large import airline as airline
from ssep.datasets.large import airline_dates as airline_dates
from ssep.datasets.large import banana as banana
from ssep.datasets.large import rainforest as rainforest
from ssep.datasets.large import rainforest_trees as rainforest_trees
from ssep.datasets.large import speech as speech
from ssep.datasets.series import drivers as drivers
from ssep.datasets.series import motorcycle as motorcycle
from ssep.datasets.series import nile as nile
from ssep.datasets.series import phones as phones
from ssep.datasets.synthetic import binary as binary
from ssep.datasets.synthetic import synthetic_voice as synthetic_voice
