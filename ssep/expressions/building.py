"""From a tree of names and numbers to the objects that it means."""

import math
import operator
from collections.abc import Mapping
from typing import Any, NoReturn, get_args

from ssep.expressions.errors import ExpressionError
from ssep.expressions.syntax import Argument, Call, Chain, Listing, Node, Number, Step
from ssep.expressions.vocabulary import Family, arguments_of, spelling, suggestion, written_name
from ssep.kernels import Kernel

_CONSTANTS = {"pi": math.pi}
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
Defaults = Mapping[str, Any]
"""Values of arguments that a text does not give, by their names."""


class Builder:
    """Makes objects of one family from trees.

    Args:
        call: The function that is named in errors.
        text: The whole text, to show in errors.
        family: The names that may occur.
    """

    def __init__(self, call: str, text: str, family: Family):
        self.call, self.text, self.family = call, text, family

    def build(self, node: Node, defaults: Defaults) -> Any:
        """The object that a tree means."""
        match node:
            case Number():
                return node.value
            case Listing():
                return tuple(self.build(item, defaults) for item in node.items)
            case Chain():
                value = self.build(node.first, defaults)
                for step in node.steps:
                    value = self._combine(value, step, defaults)
                return value
            case Call():
                return self._make(node, defaults)

    def _combine(self, left: Any, step: Step, defaults: Defaults) -> Any:
        # A product has one variance: further factors keep that of their class, which is one.
        factor = step.symbol == "*" and isinstance(left, Kernel)
        kept = {name: value for name, value in defaults.items() if name != "variance" or not factor}
        right = self.build(step.right, kept)
        kinds = {_kind(left), _kind(right)}
        if kinds != {"number"} and not (kinds <= {"number", "kernel"} and step.symbol in "+*"):
            got = f"{_kind(left)} `{step.symbol}` {_kind(right)}"
            self._fail(
                step.position, f"adds and multiplies kernels and numbers, and calculates with numbers; got {got}."
            )
        try:
            return _ARITHMETIC[step.symbol](left, right)
        except (ArithmeticError, ValueError) as error:
            self._fail(step.position, f"cannot do this: {error}", error)

    def _make(self, node: Call, defaults: Defaults) -> Any:
        key = spelling(node.name)
        if key in _CONSTANTS and not node.arguments:
            return _CONSTANTS[key]
        if key not in self.family:
            short = {name for name, cls in self.family.items() if name != spelling(cls.__name__)}
            names = {written_name(cls) for cls in self.family.values()} | short
            remedy = suggestion(node.name, names)
            self._fail(node.position, f"does not know this name; got `{node.name}`. {remedy}")
        cls = self.family[key]
        names = self._names(node, cls)
        given = {
            name: self._value(argument, name, cls, defaults)
            for name, argument in zip(names, node.arguments, strict=True)
        }
        given = {**_fill(cls, defaults), **given}
        missing = [name for name, each in arguments_of(cls).items() if each.default is each.empty if name not in given]
        if missing:
            example = f"{written_name(cls)}({', '.join(f'{name}=...' for name in missing)})"
            self._fail(node.position, f"needs all arguments without a default; got too few. Write `{example}`.")
        try:
            return cls(**given)
        except (ArithmeticError, TypeError, ValueError) as error:
            # Constructors name the argument that they refuse.
            refused = [
                argument.position
                for name, argument in zip(names, node.arguments, strict=True)
                if f"{cls.__name__}({name})" in str(error)
            ]
            self._fail(refused[0] if refused else node.position, f"cannot make this: {error}", error)

    def _names(self, node: Call, cls: type) -> list[str]:
        """Which argument of a class each one of a call is."""
        own, known = written_name(cls), list(arguments_of(cls))
        found: list[str] = []
        for index, argument in enumerate(node.arguments):
            if argument.name is None:
                late = any(before.name is not None for before in node.arguments[:index])
                if late or index >= len(known):
                    got = "takes arguments without a name first" if late else f"takes {len(known)} arguments at most"
                    remedy = f"It is `{own}({', '.join(known)})`."
                    self._fail(argument.position, f"{got}; got one more. {remedy}")
                name = known[index]
            else:
                name = next((each for each in known if spelling(each) == spelling(argument.name)), "")
                if not name:
                    remedy = suggestion(argument.name, known)
                    self._fail(argument.position, f"has no such argument of `{own}`; got `{argument.name}`. {remedy}")
            if name in found:
                self._fail(argument.position, f"takes each argument of `{own}` once; got `{name}` again.")
            found.append(name)
        return found

    def _value(self, argument: Argument, name: str, cls: type, defaults: Defaults) -> Any:
        """The value of an argument, which is an object only where the class has declared one."""
        value = self.build(argument.value, defaults)
        several, parts = isinstance(value, tuple), value if isinstance(value, tuple) else (value,)
        kinds = _mentioned(arguments_of(cls)[name].annotation) - {object, Any}
        for part in parts:
            if type(part) in self.family.values() and not isinstance(part, tuple(kinds)):
                self._fail(argument.position, f"needs numbers for `{name}`; got `{written_name(type(part))}`.")
        if float in kinds and int not in kinds:
            parts = tuple(float(part) if isinstance(part, int) else part for part in parts)
        return parts if several else parts[0]

    def _fail(self, position: int, rest: str, cause: Exception | None = None) -> NoReturn:
        raise ExpressionError(f"`{self.call}` {rest}", self.text, position) from cause


def _kind(value: Any) -> str:
    if isinstance(value, int | float):
        return "number"
    return "kernel" if isinstance(value, Kernel) else "list" if isinstance(value, tuple) else type(value).__name__


def _mentioned(annotation: Any) -> set[type]:
    """The classes in an annotation."""
    own = {annotation} if isinstance(annotation, type) else set()
    return own.union(*map(_mentioned, get_args(annotation)))


def _fill(cls: type, defaults: Defaults) -> dict[str, Any]:
    """The defaults that are meant for a class."""
    known = arguments_of(cls)
    # The lengthscale of a kernel with a period is that of the pattern in it, not a time.
    skipped = {"lengthscale"} if "period" in known else set()
    return {name: value for name, value in defaults.items() if name in known and name not in skipped}
