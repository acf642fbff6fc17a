"""Quantiles from a distribution function."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ssep.checks import as_float, in_unit_interval, is_concrete, require
from ssep.types import Scalar


def as_levels(call: str, q: Any) -> Float[Array, "*shape"]:
    """Levels of quantiles, which lie between 0 and 1."""
    levels = as_float(q)
    inside = in_unit_interval(levels) and (not is_concrete(levels) or bool(np.all(np.asarray(levels) < 1)))
    require(inside, call, "must lie between 0 and 1", q, "0.5 is the median.")
    return levels


def quantile_of(cdf: Callable[[Scalar], Scalar], level: Scalar, discrete: bool | Bool[Array, ""]) -> Scalar:
    """The smallest y with cdf(y) >= level: bracket it in growing steps, then bisect; an integer if discrete."""
    one = jnp.ones_like(level)
    largest = jnp.finfo(one.dtype).max / 8
    high = jax.lax.while_loop(lambda y: (cdf(y) < level) & (y < largest), lambda y: 4 * y, one)
    low = jax.lax.while_loop(lambda y: (cdf(y) >= level) & (y > -largest), lambda y: 4 * y, -one)
    relative = 4 * float(jnp.finfo(one.dtype).eps)

    def wide(bracket):
        low, high = bracket
        width = jnp.where(discrete, 0.25, relative * jnp.maximum(jnp.abs(low), jnp.abs(high)))
        return high - low > jnp.maximum(width, float(jnp.finfo(one.dtype).tiny))

    def halve(bracket):
        low, high = bracket
        middle = low + (high - low) / 2
        below = cdf(middle) < level
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    # A bracket of neighbouring floats cannot shrink: count as well.
    def body(state):
        bracket, count = state
        return halve(bracket), count + 1

    (low, high), _ = jax.lax.while_loop(lambda state: wide(state[0]) & (state[1] < 200), body, ((low, high), 0))
    found = jnp.where(discrete, jnp.floor(high), high)
    # Comparisons with NaN are false: they would lead somewhere.
    return jnp.where(jnp.isnan(cdf(high)), jnp.nan, found)
