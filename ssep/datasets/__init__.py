"""Data that ship with the package."""

from ssep.datasets.coal import coal as coal
from ssep.datasets.coal import coal_dates as coal_dates
