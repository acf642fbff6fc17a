"""Kernels, likelihoods and rules written as text, as in a command line or a configuration file."""

from ssep.expressions.errors import ExpressionError as ExpressionError
from ssep.expressions.reading import parse_kernel as parse_kernel
from ssep.expressions.reading import parse_likelihood as parse_likelihood
from ssep.expressions.reading import parse_rule as parse_rule
from ssep.expressions.writing import format_kernel as format_kernel
from ssep.expressions.writing import format_likelihood as format_likelihood
from ssep.expressions.writing import format_rule as format_rule
