"""From text to kernels, likelihoods and rules."""

from collections.abc import Mapping
from typing import Any, TypeVar

from ssep.checks import require
from ssep.expressions.building import Builder
from ssep.expressions.errors import ExpressionError
from ssep.expressions.syntax import parse
from ssep.expressions.vocabulary import Family, kernel_family, likelihood_family, rule_family, written_name
from ssep.kernels import Kernel
from ssep.likelihoods import Likelihood
from ssep.rules import Rule

T = TypeVar("T")


def parse_kernel(text: str, *, defaults: Mapping[str, Any] | None = None) -> Kernel:
    """The kernel that a text describes, such as `"matern52 + periodic(period=7) * matern32(lengthscale=30)"`.

    Every kernel of `ssep.kernels` that takes no functions can be written, in any case and with or without underscores;
    `+`, `*` and parentheses combine kernels, and numbers, as in Python. Arguments come by name or in order; they are
    numbers (with `+ - * /` and `pi`), lists in brackets, or kernels. An argument that the text leaves out is that of
    `defaults` if there is one, and otherwise the default of the class: 1 for variances and lengthscales.

    Args:
        text: The expression.
        defaults: Values for arguments that the text leaves out, by name, such as `{"lengthscale": 30.0}`. Left alone
            are the lengthscales of kernels with a period, which are those of the pattern in it, and the variances of
            all but the first factor of a product.
    """
    return _parse("parse_kernel(text)", text, kernel_family(), Kernel, defaults or {})


def parse_likelihood(text: str, *, defaults: Mapping[str, Any] | None = None) -> Likelihood:
    """The likelihood that a text describes, such as `"poisson"` or `"bernoulli(link=probit)"`.

    Args:
        text: The expression, as for `parse_kernel`, with links by their names.
        defaults: Values for arguments that the text leaves out, by name.
    """
    return _parse("parse_likelihood(text)", text, likelihood_family(), Likelihood, defaults or {})


def parse_rule(text: str) -> Rule:
    """The rule that a text describes, such as `"power_ep(alpha=0.5)"` or `"ep(cubature=gauss_hermite(10))"`.

    Args:
        text: The expression, as for `parse_kernel`, with cubatures by their names. `ep` is short for `power_ep`, whose
            power is 1 unless given, and `vi` for `cvi`.
    """
    return _parse("parse_rule(text)", text, rule_family(), Rule, {})


def _parse(call: str, text: str, family: Family, kind: type[T], defaults: Mapping[str, Any]) -> T:
    require(isinstance(text, str), call, "must be a string", repr(text), "Objects need no parsing.")
    node = parse(call, text)
    found = Builder(call, text, family).build(node, defaults)
    if not isinstance(found, kind):
        got = f"`{written_name(type(found))}`" if type(found) in family.values() else "numbers or a list"
        names = sorted({written_name(cls) for cls in family.values() if issubclass(cls, kind)})
        remedy = f"Known are {', '.join(f'`{name}`' for name in names)}."
        raise ExpressionError(f"`{call}` must be a {kind.__name__.lower()}; got {got}. {remedy}", text, node.position)
    return found
