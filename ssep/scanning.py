"""Scans whose reverse-mode derivative does not keep every carry."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# Carries of all steps together, in bytes, up to which a plain scan may keep them: recomputing costs time.
_KEEP = 2**25
# XLA runs a loop of eight operations at the most without a scheduler, three times as fast. Counting back is one
# operation more, which matters where the carry has few numbers only: there the inputs are turned round instead.
_FEW_NUMBERS = 128


def scan(body: Callable[[Any, Any], tuple[Any, Any]], start: Any, inputs: Any, *, reverse: bool = False):
    """`jax.lax.scan` whose derivative keeps the carries alone, and not even all of them where they are large.

    What happens inside a step is computed again on the way back, which is faster than to write it all down and read it.
    Where n carries are large, the derivative keeps those between about sqrt(n) stretches, and runs each stretch again
    when it comes to it: memory grows with sqrt(n) times the size of a carry.
    """
    if reverse and sum(leaf.size for leaf in jax.tree.leaves(start)) <= _FEW_NUMBERS:
        last, outputs = scan(body, start, _turn_round(inputs))
        return last, _turn_round(outputs)
    # The loop itself keeps the compiler from merging what is computed twice.
    body = jax.checkpoint(body, prevent_cse=False)
    length = jax.tree.leaves(inputs)[0].shape[0]
    if can_keep(length, start):
        return jax.lax.scan(body, start, inputs, reverse=reverse)
    stretch = _stretch(length)
    count = -(-length // stretch)
    padding = stretch * count - length

    def fold(leaf: jax.Array) -> jax.Array:
        if padding:
            leaf = jnp.pad(leaf, ((0, padding), *((0, 0),) * (leaf.ndim - 1)), mode="edge")
        return leaf.reshape(count, stretch, *leaf.shape[1:])

    def step(carry: Any, entry: Any) -> tuple[Any, Any]:
        real, each = entry
        moved, output = body(carry, each)
        if not padding:
            return moved, output
        return jax.tree.map(lambda new, old: jnp.where(real, new, old), moved, carry), output

    @jax.checkpoint
    def run(carry: Any, entries: Any) -> tuple[Any, Any]:
        return jax.lax.scan(step, carry, entries, reverse=reverse)

    entries = (jnp.arange(stretch * count).reshape(count, stretch) < length, jax.tree.map(fold, inputs))
    last, outputs = jax.lax.scan(run, start, entries, reverse=reverse)
    return last, jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:length], outputs)


def _turn_round(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[::-1], tree)


def can_keep(length: int, carry: Any) -> bool:
    """Whether a derivative may keep the carries of so many steps."""
    return length * sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry)) <= _KEEP


def _stretch(length: int) -> int:
    """About sqrt(length), and a divisor of it if there is one near, so that nothing need be padded or copied."""
    root = math.isqrt(length)
    near = range(root, 2 * root + 1)
    return next((candidate for candidate in near if length % candidate == 0), root + 1)
