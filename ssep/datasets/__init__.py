"""Data that ship with the package."""

from ssep.datasets.coal import coal as coal
