"""What a hyperparameter's values may be, declared once on its field.

A field declared `eqx.field(metadata=POSITIVE)` is checked when the module is built, and learned through its logarithm.
"""

import abc
import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ssep.checks import is_concrete, require


class Constraint(eqx.Module):
    """A set of values, and a coordinate of it that may be any number."""

    @property
    @abc.abstractmethod
    def requirement(self) -> tuple[str, str]:
        """What values must be, and what to do about others."""

    @abc.abstractmethod
    def holds(self, value: np.ndarray) -> bool:
        """Whether a value is in the set."""

    @abc.abstractmethod
    def release(self, value: Array) -> Array:
        """From the set to the real line."""

    @abc.abstractmethod
    def impose(self, free: Array) -> Array:
        """From the real line to the set."""


class Positive(Constraint):
    """The open half line; its unconstrained coordinate is the logarithm, so that steps are relative."""

    @property
    def requirement(self) -> tuple[str, str]:
        """What values must be, and what to do about others."""
        return "must be positive and finite", "Give a number above zero."

    def holds(self, value: np.ndarray) -> bool:
        """Whether every entry is finite and positive."""
        return bool(np.all(np.isfinite(value) & (value > 0)))

    def release(self, value: Array) -> Array:
        """From the half line to the real line."""
        return jnp.log(value)

    def impose(self, free: Array) -> Array:
        """From the real line to the half line."""
        return jnp.exp(free)


class Probability(Constraint):
    """The open unit interval, through the logarithm of the odds."""

    @property
    def requirement(self) -> tuple[str, str]:
        """What values must be, and what to do about others."""
        return "must lie strictly between 0 and 1", "Give a probability."

    def holds(self, value: np.ndarray) -> bool:
        """Whether every entry lies inside."""
        return bool(np.all((value > 0) & (value < 1)))

    def release(self, value: Array) -> Array:
        """From the interval to the real line."""
        return jnp.log(value) - jnp.log1p(-value)

    def impose(self, free: Array) -> Array:
        """From the real line to the interval."""
        return jax.nn.sigmoid(free)


class SignedFraction(Constraint):
    """The numbers strictly between -1 and 1, through the inverse hyperbolic tangent."""

    @property
    def requirement(self) -> tuple[str, str]:
        """What values must be, and what to do about others."""
        return "must lie strictly between -1 and 1", "Give a smaller number."

    def holds(self, value: np.ndarray) -> bool:
        """Whether every entry lies inside."""
        return bool(np.all(np.abs(value) < 1))

    def release(self, value: Array) -> Array:
        """From the interval to the real line."""
        return jnp.arctanh(value)

    def impose(self, free: Array) -> Array:
        """From the real line to the interval."""
        # Rounding must not reach the ends, from which there is no way back.
        largest = 1 - jnp.finfo(free.dtype).eps
        return jnp.clip(jnp.tanh(free), -largest, largest)


class Increasing(Constraint):
    """Vectors of numbers that increase, through the first one and the logarithms of the differences."""

    @property
    def requirement(self) -> tuple[str, str]:
        """What values must be, and what to do about others."""
        return "must be finite numbers that increase", "Give a sorted list without repetitions."

    def holds(self, value: np.ndarray) -> bool:
        """Whether the entries increase."""
        return value.ndim == 1 and value.size > 0 and bool(np.all(np.isfinite(value)) and np.all(np.diff(value) > 0))

    def release(self, value: Array) -> Array:
        """From increasing numbers to any."""
        return jnp.concatenate([value[:1], jnp.log(jnp.diff(value))])

    def impose(self, free: Array) -> Array:
        """From any numbers to increasing ones."""
        return jnp.cumsum(jnp.concatenate([free[:1], jnp.exp(free[1:])]))


class Fixed(Constraint):
    """Any finite numbers, of any shape, that are known: `fit` leaves them alone unless it is told otherwise."""

    @property
    def requirement(self) -> tuple[str, str]:
        """What values must be, and what to do about others."""
        return "must be finite", "Drop or fill in what is not a number."

    def holds(self, value: np.ndarray) -> bool:
        """Whether every entry is finite."""
        return bool(np.all(np.isfinite(value)))

    def release(self, value: Array) -> Array:
        """The numbers themselves."""
        return value

    def impose(self, free: Array) -> Array:
        """The numbers themselves."""
        return free


class Anything(Constraint):
    """Whatever is inside, of any shape: a function of the user's own, whose numbers are learned as they are."""

    @property
    def requirement(self) -> tuple[str, str]:
        """Nothing is required."""
        return "may be anything", ""

    def holds(self, value: np.ndarray) -> bool:
        """Always."""
        return True

    def release(self, value: Array) -> Array:
        """The numbers themselves."""
        return value

    def impose(self, free: Array) -> Array:
        """The numbers themselves."""
        return free


_KEY = "ssep_constraint"
POSITIVE: dict[str, Any] = {_KEY: Positive()}
PROBABILITY: dict[str, Any] = {_KEY: Probability()}
SIGNED_FRACTION: dict[str, Any] = {_KEY: SignedFraction()}
INCREASING: dict[str, Any] = {_KEY: Increasing()}
FIXED: dict[str, Any] = {_KEY: Fixed()}
ANYTHING: dict[str, Any] = {_KEY: Anything()}


def constraint_of(field: dataclasses.Field) -> Constraint | None:
    """The constraint that a field declares, if any."""
    return field.metadata.get(_KEY)


def check_fields(module: eqx.Module) -> None:
    """Check every declared constraint of a module whose values are known."""
    for field in dataclasses.fields(module):
        constraint = constraint_of(field)
        value = getattr(module, field.name)
        if constraint is not None and value is not None and is_concrete(value):
            requirement, remedy = constraint.requirement
            holds = constraint.holds(np.asarray(value))
            require(holds, f"{type(module).__name__}({field.name})", requirement, value, remedy)


def constraints_of(tree: PyTree) -> list[Constraint | None]:
    """The constraint of every leaf of a pytree of modules, in the order of its leaves."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [_constraint_at(tree, path) for path, _ in paths]


def _constraint_at(tree: PyTree, path: tuple[Any, ...]) -> Constraint | None:
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
