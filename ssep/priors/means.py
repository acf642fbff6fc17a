"""Prior means: numbers, or functions of where an observation is."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ssep.checks import as_float, is_concrete, require
from ssep.functions import as_function
from ssep.kernels.base import Kernel
from ssep.types import Scalar, ScalarLike

Mean = ScalarLike | Callable[..., Any]


def as_means(call: str, mean: Mean | Sequence[Mean] | None, count: int) -> tuple[Any, ...] | None:
    """One mean per latent, given one, one for each, or none."""
    if mean is None:
        return None
    several = isinstance(mean, Sequence) or (not callable(mean) and np.ndim(mean) == 1)
    means = tuple(mean) if several else (mean,) * count  # pyright: ignore[reportArgumentType]
    require(
        len(means) == count,
        f"{call}(mean)",
        "must be one mean, or one per latent",
        f"{len(means)} means for {count} latents",
        "Use 0.0 for a latent without a mean.",
    )
    return tuple(_as_mean(call, entry) for entry in means)


def _as_mean(call: str, mean: Any) -> Any:
    require(
        not isinstance(mean, Kernel),
        f"{call}(mean)",
        "must be a number or a function",
        f"the kernel {type(mean).__name__}",
        "Pass several kernels as a tuple: `SDEPrior((k1, k2))`.",
    )
    if isinstance(mean, eqx.Module) or callable(mean):
        return as_function(mean)
    value = as_float(mean)
    finite = not is_concrete(value) or bool(np.isfinite(np.asarray(value)).all())
    require(
        value.ndim == 0 and finite,
        f"{call}(mean)",
        "must be finite numbers or functions, one or one per latent",
        mean,
        "Pass a mean that varies as a function.",
    )
    return value


def mean_at(call: str, mean: Any, *where: Array) -> Scalar:
    """The mean of one observation."""
    value = jnp.asarray(mean(*where) if callable(mean) else mean)
    require(
        value.shape == (),
        f"{call}(mean)",
        "must be a number or a function with one number as its value",
        f"shape {value.shape} per time",
        "Give one mean per latent as a tuple.",
    )
    return value.astype(where[0].dtype)
