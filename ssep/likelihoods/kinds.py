"""Several likelihoods, of which each observation has its own."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ssep.likelihoods.base import Likelihood
from ssep.types import Aux, Scalar

Question = Callable[[Likelihood, Scalar, Aux], PyTree[Array]]
"""What is asked of a likelihood, about an observation and its extras."""


def ask_own(likelihoods: Sequence[Likelihood], number: Scalar, y: Scalar, extras: Sequence[Aux], ask: Question) -> Any:
    """What the likelihood with this number says of an observation.

    Likelihoods that differ in their parameters only are asked once, with the parameters of the right one. Kinds of
    likelihoods are all asked, those that are not meant about a stand-in: if they saw what is impossible under them, the
    derivatives of their answers would be NaN, also where the answers are not taken.
    """
    pairs = list(zip(likelihoods, extras, strict=True))
    found = None
    for members in _kinds(pairs):
        is_member = np.isin(np.arange(len(pairs)), members)
        position = np.where(is_member, np.cumsum(is_member) - 1, 0)
        chosen = number.astype(int)
        lik, extra = _gather([pairs[index] for index in members], jnp.asarray(position)[chosen])
        if is_member.all():
            return ask(lik, y, extra)
        own = jnp.asarray(is_member)[chosen]
        seen = jax.tree.map(lambda mine, other, own=own: jnp.where(own, mine, other), (y, extra), lik.stand_in(extra))
        answer = ask(lik, *seen)
        found = answer if found is None else jax.tree.map(lambda a, b, own=own: jnp.where(own, a, b), answer, found)
    return found


def only_own(own: np.ndarray, likelihood: Likelihood, y: np.ndarray, extra: Aux) -> tuple[np.ndarray, Aux]:
    """Observations and extras with stand-ins for all that are not a likelihood's own."""

    def fill(mine: np.ndarray, other: float) -> np.ndarray:
        return np.where(own.reshape(own.shape + (1,) * (mine.ndim - own.ndim)), mine, other)

    return jax.tree.map(fill, (y, extra), likelihood.stand_in(extra))


def _kinds(pairs: Sequence[PyTree]) -> list[list[int]]:
    """The numbers of those that differ in the values of their arrays only, together."""
    kinds: list[list[int]] = []
    for index, pair in enumerate(pairs):
        same = [members for members in kinds if _alike(pairs[members[0]], pair)]
        same[0].append(index) if same else kinds.append([index])
    return kinds


def _alike(one: PyTree, other: PyTree) -> bool:
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False
    return all(map(_same_or_array, jax.tree.leaves(one), jax.tree.leaves(other)))


def _same_or_array(one: Any, other: Any) -> bool:
    if eqx.is_array(one) and eqx.is_array(other):
        return (one.shape, one.dtype) == (other.shape, other.dtype)
    return bool(eqx.tree_equal(one, other))


def _gather(alike: Sequence[PyTree], position: Array) -> PyTree:
    """One of several trees that are alike."""
    if len(alike) == 1:
        return alike[0]
    arrays = [eqx.filter(each, eqx.is_array) for each in alike]
    rest = eqx.filter(alike[0], eqx.is_array, inverse=True)
    return eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves)[position], *arrays), rest)
