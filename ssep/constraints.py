"""What a hyperparameter's values may be, declared once on its field.

A field declared `eqx.field(metadata=POSITIVE)` is checked when the module is built.
"""

import dataclasses
from typing import Any

import equinox as eqx
import numpy as np

from ssep.checks import is_concrete, require


class Positive(eqx.Module):
    """The open half line."""

    def holds(self, value: np.ndarray) -> bool:
        """Whether every entry is finite and positive."""
        return bool(np.all(np.isfinite(value) & (value > 0)))


_KEY = "ssep_constraint"
POSITIVE: dict[str, Any] = {_KEY: Positive()}


def constraint_of(field: dataclasses.Field) -> Positive | None:
    """The constraint that a field declares, if any."""
    return field.metadata.get(_KEY)


def check_fields(module: eqx.Module) -> None:
    """Check every declared constraint of a module whose values are known."""
    for field in dataclasses.fields(module):
        constraint = constraint_of(field)
        value = getattr(module, field.name)
        if constraint is not None and is_concrete(value):
            require(
                constraint.holds(np.asarray(value)),
                f"{type(module).__name__}({field.name})",
                "must be positive and finite",
                value,
                "Give a number above zero.",
            )
