"""The gaps between successive times, with equal ones shared."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ssep.checks import is_concrete

STRIDE = 16
"""How many steps at the most a smoother takes at once."""


class Gaps(eqx.Module):
    """The distinct gaps, each discretised once, and which of them leads to each time.

    A stride is `STRIDE` successive steps; strides with the same gaps share one pattern, a row of indices. The last one
    is filled up with the gap before the first time, which is zero.
    """

    lengths: Float[Array, " gap"]
    index: Int[Array, " time"]
    patterns: Int[Array, "pattern stride"]
    pattern_index: Int[Array, " strides"]

    def strides(self, length: int) -> tuple[Int[Array, "pattern length"], Int[Array, " strides"]]:
        """Patterns of strides of a length that divides `STRIDE`, and which of them comes when."""
        split = STRIDE // length
        index = (split * self.pattern_index[:, None] + jnp.arange(split)).ravel()
        return self.patterns.reshape(-1, length), index[: -(-self.index.shape[0] // length)]

    def first(self, count: int) -> "Gaps":
        """Those of the first times, with the distinct gaps of all."""
        index = self.index[:count]
        return Gaps(self.lengths, index, *_without_sharing(index))

    def padded(self, count: int) -> "Gaps":
        """The last gap repeated up to a number of gaps: shapes, and what is compiled, then depend on sizes only."""
        missing = max(0, min(self.index.shape[0], count) - self.lengths.shape[0])
        # In NumPy where possible: nothing to compile for each number of gaps.
        lengths = np.pad(self.lengths, (0, missing), mode="edge") if is_concrete(self.lengths) else self.lengths
        return Gaps(jnp.asarray(lengths), self.index, *_without_sharing(self.index))


def gaps_between(t: Any, dtype: Any) -> Gaps:
    """Gaps, equal ones (to the rounding of t) merged; of known times in double precision, whatever the dtype."""
    if not is_concrete(t):
        traced = jnp.asarray(t)
        index = jnp.arange(traced.shape[0])
        return Gaps(jnp.diff(traced, prepend=traced[:1]).astype(dtype), index, *_without_sharing(index))
    largest = np.max(np.abs(np.asarray(t)))
    resolution = 4 * float(np.spacing(largest if np.issubdtype(largest.dtype, np.floating) else float(largest)))
    times = np.asarray(t, float)
    gaps = np.diff(times, prepend=times[0])
    _, index = np.unique(np.round(gaps / resolution), return_inverse=True)
    index = index.ravel()
    sums, counts = np.bincount(index, gaps), np.bincount(index)
    patterns, pattern_index = np.unique(_in_rows(index), axis=0, return_inverse=True)
    return Gaps(
        jnp.asarray(sums / counts, dtype), jnp.asarray(index), jnp.asarray(patterns), jnp.asarray(pattern_index.ravel())
    )


def _without_sharing(index: Any) -> tuple[Array, Array]:
    rows = jnp.asarray(_in_rows(index))
    return rows, jnp.arange(rows.shape[0])


def _in_rows(index: Any) -> Any:
    numpy = np if is_concrete(index) else jnp
    missing = -index.shape[0] % STRIDE
    return numpy.concatenate([index, numpy.full(missing, index[0])]).reshape(-1, STRIDE)
