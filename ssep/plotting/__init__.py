"""Figures of solutions and fits, drawn with matplotlib (`pip install "ssep[plot]"`).

Every function takes the axes to draw on, or makes a new figure, and returns the axes that it drew on.
"""

from ssep.plotting.calibration import calibration as calibration
from ssep.plotting.components import components as components
from ssep.plotting.convergence import convergence as convergence
from ssep.plotting.dates import decimal_years as decimal_years
from ssep.plotting.dates import since as since
from ssep.plotting.field import field as field
from ssep.plotting.latents import latents as latents
from ssep.plotting.predictive import predictive as predictive
from ssep.plotting.residuals import residuals as residuals
from ssep.plotting.sites import sites as sites
from ssep.plotting.trace import trace as trace
