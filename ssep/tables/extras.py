"""Which columns hold the extras of the observations, as `Data(aux=...)` wants them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ssep.checks import require
from ssep.types import Aux


@dataclasses.dataclass(frozen=True)
class PerTarget:
    """Extras with a column for each of several targets.

    Attributes:
        columns: The names of the columns, in the order of the targets.
    """

    columns: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TargetNumber:
    """The number of each value's target, which `ssep.likelihoods.Outputs` needs to know."""


def extras_at(
    aux: Any, column: Callable[[Any], np.ndarray], shape: tuple[int, ...], observed: np.ndarray | None = None
) -> Aux:
    """The extras of observations of a shape, from the columns that hold them.

    Args:
        aux: A pytree of names of columns, `PerTarget` and `TargetNumber`; or None.
        column: Gives a column, one number per row or per observation.
        shape: That of the observations, (rows,) or (rows, targets).
        observed: Where extras must be known; everywhere if absent.
    """

    def spread(values: np.ndarray) -> np.ndarray:
        return np.broadcast_to(values[:, None] if values.ndim < len(shape) else values, shape)

    def known(name: str) -> np.ndarray:
        values = spread(column(name))
        valid = np.isfinite(values) | (False if observed is None else ~observed)
        row = 0 if valid.all() else int(np.argwhere(~valid)[0][0])
        remedy = "Give it there, or mark the observation as missing."
        requirement = f"must be known in column {name!r} wherever an observation is"
        require(valid.all(), "tables.read(aux)", requirement, f"nothing in row {row}", remedy)
        return values

    def each(leaf: Any) -> np.ndarray:
        if isinstance(leaf, TargetNumber):
            return np.broadcast_to(np.arange(shape[-1], dtype=float), shape)
        if isinstance(leaf, PerTarget):
            return np.stack([known(name)[:, index] for index, name in enumerate(leaf.columns)], 1)
        return known(leaf)

    return jax.tree.map(each, aux)


def check_extras(aux: Any, num_targets: int | None) -> None:
    """Raise unless extras are named as they should be."""
    for leaf in jax.tree.leaves(aux):
        several = isinstance(leaf, PerTarget | TargetNumber)
        remedy = "Name a column, or use `PerTarget` or `TargetNumber`."
        require(isinstance(leaf, str) or several, "tables.read(aux)", "must be names of columns", repr(leaf), remedy)
        require(
            not several or num_targets is not None,
            "tables.read(aux)",
            "has one entry per target only where there are several targets",
            f"{leaf} for a single one",
            "Name a column.",
        )
        right = not isinstance(leaf, PerTarget) or len(leaf.columns) == num_targets
        require(right, "PerTarget(columns)", f"must name {num_targets} columns, one per target", leaf, "Name them all.")


def column_names(aux: Any) -> list[str]:
    """The columns that extras come from."""
    leaves = jax.tree.leaves(aux)
    return [
        name
        for leaf in leaves
        for name in ([leaf] if isinstance(leaf, str) else leaf.columns if isinstance(leaf, PerTarget) else [])
    ]
