"""What a hyperparameter's values may be, declared once on its field.

A field declared `eqx.field(metadata=POSITIVE)` is checked when the module is built, and learned through its logarithm.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ssep.checks import is_concrete, require


class Positive(eqx.Module):
    """The open half line; its unconstrained coordinate is the logarithm, so that steps are relative."""

    def holds(self, value: np.ndarray) -> bool:
        """Whether every entry is finite and positive."""
        return bool(np.all(np.isfinite(value) & (value > 0)))

    def release(self, value: Array) -> Array:
        """From the half line to the real line."""
        return jnp.log(value)

    def impose(self, free: Array) -> Array:
        """From the real line to the half line."""
        return jnp.exp(free)


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


def constraints_of(tree: PyTree) -> list[Positive | None]:
    """The constraint of every leaf of a pytree of modules, in the order of its leaves."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [_constraint_at(tree, path) for path, _ in paths]


def _constraint_at(tree: PyTree, path: tuple[Any, ...]) -> Positive | None:
    found, node = None, tree
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            if dataclasses.is_dataclass(node):
                fields = {field.name: field for field in dataclasses.fields(node)}
                found = constraint_of(fields[key.name]) or found
            node = getattr(node, key.name)
        elif isinstance(key, jax.tree_util.SequenceKey):
            node = node[key.idx]
        elif isinstance(key, jax.tree_util.DictKey):
            node = node[key.key]
    return found
