"""Errors at the boundary: the call, the requirement, what was got, the remedy."""

from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def is_concrete(*values: object) -> bool:
    """Whether all values are known now, that is, none is being traced by `jit`, `vmap` or `grad`."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(values))


def as_float(value: object) -> Array:
    """A JAX array of floats; integers take the default precision, floats keep theirs."""
    dates = getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")
    require(
        not dates,
        "ssep",
        "works with real numbers",
        "dates",
        'Count units from an origin: `(dates - dates[0]) / np.timedelta64(1, "D")` are days.',
    )
    remedy = "Convert it first: dates to numbers, missing values to NaN, complex numbers to their parts."
    try:
        array = jnp.asarray(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError) as error:
        raise ValueError(f"`ssep` works with real numbers; got {type(value).__name__}: {error}. {remedy}") from error
    real = not jnp.issubdtype(array.dtype, jnp.complexfloating)
    require(real, "ssep", "works with real numbers", array.dtype, remedy)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.result_type(float))


def as_aux(aux: Any) -> Any:
    """Extras as they are, except that a plain list of numbers is an array, not a pytree of scalars."""
    plain = isinstance(aux, list) and all(isinstance(entry, int | float | np.generic) for entry in aux)
    return np.asarray(aux) if plain else aux


def require(condition: object, call: str, requirement: str, got: object, remedy: str) -> None:
    """Raise a `ValueError` in the library's one format unless the condition holds."""
    if not condition:
        raise ValueError(f"`{call}` {requirement}; got {got}. {remedy}")


def first_offender(values: np.ndarray, valid: np.ndarray) -> str:
    """Describe the first invalid entry: its value and its position."""
    where = tuple(int(i) for i in np.argwhere(~valid)[0])
    return f"{values[where]!s} at position {where[0] if len(where) == 1 else where}"


def in_unit_interval(value: object, includes_zero: bool = False) -> bool:
    """Whether a number lies in (0, 1], or [0, 1]; a traced one is taken to."""
    if not is_concrete(value):
        return True
    number = np.asarray(value, float)
    return bool(np.all((number <= 1) & ((number >= 0) if includes_zero else (number > 0))))
