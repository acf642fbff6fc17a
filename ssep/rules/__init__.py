"""Rules: from one observation and its cavity to a site."""

from ssep.rules.base import Rule as Rule
from ssep.rules.cvi import CVI as CVI
from ssep.rules.extended_ep import ExtendedEP as ExtendedEP
from ssep.rules.power_ep import PowerEP as PowerEP
from ssep.rules.stat_lin_ep import StatLinEP as StatLinEP
