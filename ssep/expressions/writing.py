"""From kernels, likelihoods and rules to text that is read as the same."""

import math
from typing import Any

import numpy as np

from ssep.checks import require
from ssep.expressions.vocabulary import (
    Family,
    arguments_of,
    kernel_family,
    likelihood_family,
    rule_family,
    written_name,
)
from ssep.kernels import Kernel, Product, Sum
from ssep.likelihoods import Likelihood
from ssep.rules import Rule


def format_kernel(kernel: Kernel) -> str:
    """A text from which `parse_kernel` makes an equal kernel, all arguments given by name.

    Numbers are written with as many digits as their precision needs. Kernels with functions of time have no text.
    """
    return _Writer("format_kernel(kernel)", kernel_family()).write(kernel)


def format_likelihood(likelihood: Likelihood) -> str:
    """A text from which `parse_likelihood` makes an equal likelihood; functions have none."""
    return _Writer("format_likelihood(likelihood)", likelihood_family()).write(likelihood)


def format_rule(rule: Rule) -> str:
    """A text from which `parse_rule` makes an equal rule."""
    return _Writer("format_rule(rule)", rule_family()).write(rule)


class _Writer:
    def __init__(self, call: str, family: Family):
        self.call, self.classes = call, set(family.values())

    def write(self, value: Any) -> str:
        """The text of an object, a number or several."""
        match value:
            case Sum() if self._is_flat(value.parts, Sum):
                return " + ".join(map(self.write, value.parts))
            case Product() if self._is_flat(value.factors, Product):
                return " * ".join(
                    f"({self.write(factor)})" if isinstance(factor, Sum) else self.write(factor)
                    for factor in value.factors
                )
            case tuple():
                return f"[{', '.join(map(self.write, value))}]"
        if type(value) in self.classes:
            return self._write_call(value)
        numbers = np.asarray(value) if hasattr(value, "dtype") or isinstance(value, int | float) else None
        require(
            numbers is not None and numbers.dtype.kind in "iuf",
            self.call,
            "must be made of numbers",
            repr(value),
            "Functions have no text: use `ssep.save` to keep a fitted model.",
        )
        return self._write_numbers(numbers)

    @staticmethod
    def _is_flat(parts: tuple[Kernel, ...], kind: type) -> bool:
        """Whether operators make it: they join what is of one kind. What constructors nested is written as a call."""
        return len(parts) > 1 and not any(isinstance(part, kind) for part in parts)

    def _write_call(self, value: Any) -> str:
        arguments = {name: getattr(value, name) for name in arguments_of(type(value))}
        # None is always the default, and has no text.
        given = ", ".join(f"{name}={self.write(each)}" for name, each in arguments.items() if each is not None)
        return f"{written_name(type(value))}({given})" if given else written_name(type(value))

    def _write_numbers(self, numbers: Any) -> str:
        if numbers.ndim:
            return f"[{', '.join(map(self._write_numbers, numbers))}]"
        finite = math.isfinite(numbers)
        require(finite, self.call, "must be made of finite numbers", numbers, "Infinity has no text.")
        return str(numbers[()])
