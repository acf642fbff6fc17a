"""Functions that users hand in."""

from collections.abc import Callable
from typing import Any

import equinox as eqx


class Function(eqx.Module):
    """A plain function, kept out of the arrays that JAX traces."""

    function: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, *args: Any) -> Any:
        """The function's value."""
        return self.function(*args)


def as_function(function: Any) -> Any:
    """A callable as part of a model: modules, whose numbers can be learned, as they are."""
    return function if isinstance(function, eqx.Module) else Function(function)
