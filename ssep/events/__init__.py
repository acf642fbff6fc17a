"""Events in time, or in time and space: what was seen, what could have been, and counts in bins."""

from ssep.events.base import Events as Events
