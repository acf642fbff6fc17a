"""Hyperparameters that are not learned."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ssep.checks import require
from ssep.parameters import Model, take_apart


def all_but(model: Model, names: Sequence[str]) -> tuple[Callable[[Any, Any], Any], list[str]]:
    """What `fit` shall learn: all that it would, but for the hyperparameters of some names; and which of these it has.

    Args:
        model: The prior and the likelihood.
        names: Those of the arguments of kernels and likelihoods, such as `period`; `mean` for that of the prior.
    """
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(model)[0]]
    positions = take_apart(model, None)[0].trained
    own = {position: _name(paths[position]) for position in positions}
    kept = [position for position in positions if own[position] not in names]
    remedy = "Hold fewer of them with --hold, or learn nothing with --steps 0."
    require(kept, "--hold", "must leave something to learn", ",".join(names), remedy)

    def trainable(prior: Any, likelihood: Any) -> list[Any]:
        leaves = jax.tree.leaves((prior, likelihood))
        return [leaves[position] for position in kept]

    return trainable, sorted(set(own.values()) & set(names))


def _name(path: tuple[Any, ...]) -> str:
    """The last field on the way to a number."""
    fields = [key.name for key in path if isinstance(key, jax.tree_util.GetAttrKey)]
    return "mean" if fields[-1] == "means" else fields[-1]
