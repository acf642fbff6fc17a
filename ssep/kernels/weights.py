"""Functions of time that processes are multiplied by."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import as_float, is_concrete, require
from ssep.constraints import FIXED, POSITIVE, check_fields
from ssep.types import Scalar

Weight = Callable[[Scalar], Any]


class Times(eqx.Module):
    """The product of several functions of time."""

    factors: tuple[Weight, ...]

    def __call__(self, t: Scalar) -> Scalar:
        """The value at a time."""
        return jnp.prod(jnp.stack([jnp.asarray(factor(t)) for factor in self.factors]))


def multiplied(weights: Sequence[Weight | None]) -> Weight | None:
    """The product of functions of time; None is one."""
    given = tuple(weight for weight in weights if weight is not None)
    return Times(given) if len(given) > 1 else (given[0] if given else None)


class Power(eqx.Module):
    """((t - centre) / scale)^degree."""

    centre: float = eqx.field(static=True)
    degree: int = eqx.field(static=True)
    scale: float = eqx.field(default=1.0, static=True)

    def __call__(self, t: Scalar) -> Scalar:
        """The value at a time."""
        return ((t - self.centre) / self.scale) ** self.degree


class Table(eqx.Module):
    """A covariate that is known at some times, and a straight line between them; it is not learned.

    Args:
        times: Increasing times.
        values: The covariate there. Beyond the first and the last time it is not defined.
    """

    times: Float[Array, " row"] = eqx.field(metadata=FIXED)
    values: Float[Array, " row"] = eqx.field(metadata=FIXED)

    def __init__(self, times: Any, values: Any):
        self.times, self.values = as_float(times), as_float(values)
        right = self.times.ndim == 1 and self.times.shape == self.values.shape and self.times.size > 0
        if right and is_concrete(self.times):
            right = bool(np.all(np.diff(np.asarray(self.times)) > 0))
        require(
            right,
            "Table(times, values)",
            "needs increasing times and one value for each",
            f"shapes {self.times.shape} and {self.values.shape}",
            "Sort the times, and keep one value for each.",
        )

    def __check_init__(self) -> None:
        """Check that the numbers are finite."""
        check_fields(self)

    def __call__(self, t: Scalar) -> Scalar:
        """The value at a time; NaN outside of the table."""
        return jnp.interp(t, self.times, self.values, left=jnp.nan, right=jnp.nan)


class Steps(eqx.Module):
    """A positive level that changes at known times: levels[i] from changes[i - 1] until changes[i]."""

    changes: tuple[float, ...] = eqx.field(static=True)
    levels: tuple[Scalar, ...] = eqx.field(metadata=POSITIVE)

    def __call__(self, t: Scalar) -> Scalar:
        """The level at a time."""
        before = jnp.sum(t >= jnp.asarray(self.changes, t.dtype))
        return jnp.stack(self.levels)[before]


class Contrast(eqx.Module):
    """One of `seasons` - 1 orthonormal patterns over the seasons of a cycle, each of which sums to zero."""

    number: int = eqx.field(static=True)
    seasons: int = eqx.field(static=True)
    width: float = eqx.field(static=True)
    start: float = eqx.field(static=True)

    def __call__(self, t: Scalar) -> Scalar:
        """The value of the pattern in the season of a time."""
        passed = (t - self.start) / self.width
        # A time that rounding put just before its season belongs to it.
        rounding = 2 * jnp.finfo(passed.dtype).eps * jnp.maximum(jnp.abs(t), abs(self.start)) / self.width
        season = jnp.mod(jnp.floor(passed + rounding), self.seasons).astype(int)
        return jnp.asarray(_helmert(self.seasons)[self.number], t.dtype)[season]


def _helmert(seasons: int) -> np.ndarray:
    """Rows that are orthonormal and sum to zero: season j against the mean of those before it."""
    rows = np.tril(np.ones((seasons, seasons)), -1) - np.diag(np.arange(seasons))
    return rows[1:] / np.linalg.norm(rows[1:], axis=1, keepdims=True)
