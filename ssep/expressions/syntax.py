"""The grammar: numbers, names, calls, lists, sums and products.

    sum      = product (("+" | "-") product)*
    product  = value (("*" | "/") value)*
    value    = ["-"] NUMBER | NAME ["(" [argument ("," argument)*] ")"] | "[" [sum ("," sum)*] "]" | "(" sum ")"
    argument = [NAME "="] sum

What the names mean is not known here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, TypeVar

from ssep.expressions.errors import ExpressionError

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<name>[A-Za-z_]\w*)|(?P<mark>\S))", re.ASCII)
_MARKS = set("+-*/=,()[]")
# Deeper ones are an accident or an attack, and would exhaust Python's stack.
_DEEPEST = 20
# Longer integers do not fit into an array.
_LONGEST_INTEGER = 15


@dataclass(frozen=True)
class Number:
    """A number."""

    value: int | float
    position: int


@dataclass(frozen=True)
class Argument:
    """What stands between the parentheses of a call, with a name or without."""

    name: str | None
    value: "Node"
    position: int


@dataclass(frozen=True)
class Call:
    """A name, with arguments or without."""

    name: str
    arguments: tuple[Argument, ...]
    position: int


@dataclass(frozen=True)
class Listing:
    """Several values in brackets."""

    items: tuple["Node", ...]
    position: int


class Step(NamedTuple):
    """An operator, where it stands, and the value on its right."""

    symbol: str
    position: int
    right: "Node"


@dataclass(frozen=True)
class Chain:
    """A value, and what is done with it from left to right."""

    first: "Node"
    steps: tuple[Step, ...]
    position: int


Node = Number | Call | Listing | Chain

T = TypeVar("T")


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse(call: str, text: str) -> Node:
    """The tree of a text; `call` is named in errors."""
    parser = _Parser(call, text)
    node = parser.sum()
    parser.expect("end", "the end, or one of `+` and `*`")
    return node


class _Parser:
    """Reads from left to right, and never goes back."""

    def __init__(self, call: str, text: str):
        self.call, self.source = call, text
        self.tokens = self._tokens()
        self.next = 0
        self.depth = 0

    def _tokens(self) -> list[_Token]:
        found, position = [], 0
        while match := _TOKEN.match(self.source, position):
            kind = str(match.lastgroup)
            token = _Token(kind, match[kind], match.start(kind))
            if kind == "mark" and token.text not in _MARKS:
                self.fail(token, "a name, a number, or one of `+ * ( ) [ ] , =`")
            found.append(token)
            position = match.end()
        return [*found, _Token("end", "", len(self.source.rstrip()))]

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def fail(self, token: _Token, wanted: str) -> NoReturn:
        """Raise an error at a token."""
        got = f"`{token.text}`" if token.text else "the end"
        raise ExpressionError(f"`{self.call}` needs {wanted} here; got {got}.", self.source, token.position)

    def take(self, *texts: str) -> _Token | None:
        """The next token if it is one of some marks."""
        token = self.token
        if token.kind != "mark" or token.text not in texts:
            return None
        self.next += 1
        return token

    def expect(self, kind: str, wanted: str) -> _Token:
        """The next token, which must be of a kind, or this mark."""
        token = self.token
        if kind not in (token.kind, token.text):
            self.fail(token, wanted)
        self.next += 1
        return token

    def sum(self) -> Node:
        """Products, added or subtracted from left to right."""
        return self._operations(("+", "-"), self.product)

    def product(self) -> Node:
        """Values, multiplied or divided from left to right."""
        return self._operations(("*", "/"), self.value)

    def _operations(self, symbols: tuple[str, ...], operand: Callable[[], Node]) -> Node:
        first, steps = operand(), []
        while symbol := self.take(*symbols):
            steps.append(Step(symbol.text, symbol.position, operand()))
        return Chain(first, tuple(steps), first.position) if steps else first

    def value(self) -> Node:
        """A number, a name, a call, a list, or anything in parentheses."""
        token = self.token
        if token.kind == "name":
            return self.named()
        if self.take("-"):
            number = self.expect("number", "a number")
            return Number(-_number(number.text), token.position)
        if token.kind == "number":
            self.next += 1
            return Number(_number(token.text), token.position)
        if self.take("("):
            node = self._nested(token, self.sum)
            self.expect(")", "`)`")
            return node
        if self.take("["):
            return Listing(tuple(self._nested(token, lambda: self._several("]", self.sum))), token.position)
        return self.fail(token, "a name or a number")

    def named(self) -> Node:
        """A name, and its arguments if there are any."""
        name = self.expect("name", "a name")
        opening = self.take("(")
        arguments = self._nested(opening, lambda: self._several(")", self.argument)) if opening else []
        return Call(name.text, tuple(arguments), name.position)

    def argument(self) -> Argument:
        """A value with or without a name."""
        token = self.token
        named = token.kind == "name" and self.tokens[self.next + 1].text == "="
        self.next += 2 * named
        return Argument(token.text if named else None, self.sum(), token.position)

    def _several(self, closing: str, item: Callable[[], T]) -> list[T]:
        """Items between commas, up to a closing mark; a comma may stand before it."""
        items: list[T] = []
        while not self.take(closing):
            items.append(item())
            if not self.take(","):
                self.expect(closing, f"`,` or `{closing}`")
                break
        return items

    def _nested(self, opening: _Token, inner: Callable[[], T]) -> T:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(opening, f"at most {_DEEPEST} open parentheses")
        found = inner()
        self.depth -= 1
        return found


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() and len(text) <= _LONGEST_INTEGER else float(text)
