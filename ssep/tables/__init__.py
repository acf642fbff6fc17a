"""Tables of pandas, polars and xarray in and out; draws for ArviZ."""

from ssep.tables.clock import Clock as Clock
from ssep.tables.draws import to_arviz as to_arviz
from ssep.tables.extras import PerTarget as PerTarget
from ssep.tables.extras import TargetNumber as TargetNumber
from ssep.tables.reading import read as read
from ssep.tables.series import Series as Series
from ssep.tables.units import Unit as Unit
