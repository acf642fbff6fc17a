"""Special functions that the kernels need, accurate in the limits where the textbook forms cancel."""

import math

import jax
import jax.numpy as jnp
from jax.scipy.special import i0e, i1e
from jaxtyping import Array, Float

from ssep.types import Scalar

_SERIES_BELOW = 3.0
_SERIES_TERMS = 24
_BESSEL_START = 80


def lower_gamma(highest: int, x: Scalar) -> Float[Array, " order"]:
    """Regularised lower incomplete gamma function P(a, x) for a = 1, ..., highest, accurate relative to its size.

    The highest order comes from its power series for small x, where the closed form 1 - exp(-x) sum_j x^j/j! loses all
    digits; the others follow by the recurrence P(a, x) = P(a + 1, x) + exp(-x) x^a / a!, whose terms are all positive.
    """
    terms = [jnp.ones_like(x)]
    for a in range(1, highest):
        terms.append(terms[-1] * x / a)
    small = jnp.minimum(x, _SERIES_BELOW)
    tail = jnp.ones_like(x)
    for j in range(_SERIES_TERMS, 0, -1):
        tail = 1 + tail * small / (highest + j)
    series = jnp.exp(-small) * small**highest / math.factorial(highest) * tail
    closed = 1 - jnp.exp(-x) * sum(terms)
    orders = [jnp.where(x < _SERIES_BELOW, series, closed)]
    for a in range(highest - 1, 0, -1):
        orders.append(orders[-1] + jnp.exp(-x) * terms[a])
    return jnp.stack(orders[::-1])


def scaled_bessel(highest: int, x: Scalar) -> Float[Array, " order"]:
    """exp(-x) I_j(x) for j = 0, ..., highest: modified Bessel functions of the first kind.

    Ratios I_j / I_{j-1} by their continued fraction, run downwards from the bound of Amos (1974) with positive terms
    only. That forgets its start like exp(-start^2 / x); for larger x the upward recurrence, stable there, takes over.
    """
    start = highest + _BESSEL_START

    def previous(ratio: Scalar, j: Scalar) -> tuple[Scalar, Scalar]:
        ratio = x / (2 * j + x * ratio)
        return ratio, ratio

    bound = x / (start + 0.5 + jnp.sqrt((start + 1.5) ** 2 + x**2))
    _, ratios = jax.lax.scan(previous, bound, jnp.arange(1, start + 1, dtype=x.dtype), reverse=True)
    turn = start**2 / 36
    large = jnp.maximum(x, turn)
    downward, upward = [i0e(x)], [i0e(large), i1e(large)]
    for j in range(1, highest + 1):
        downward.append(downward[-1] * ratios[j - 1])
        upward.append(upward[-2] - 2 * j / large * upward[-1])
    return jnp.where(x < turn, jnp.stack(downward), jnp.stack(upward[: highest + 1]))
