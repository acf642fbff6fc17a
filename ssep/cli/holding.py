"""Hyperparameters that are not learned."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ssep.checks import require
from ssep.parameters import Model, take_apart

_PERIODS = ("period",)


def all_but(model: Model, names: Sequence[str] | None) -> tuple[Callable[[Any, Any], Any], list[str]]:
    """What `fit` shall learn: all that it would, but for the hyperparameters of some names; and which of these it has.

    Args:
        model: The prior and the likelihood.
        names: Those of the arguments of kernels and likelihoods, such as `period`; `mean` for that of the prior. None
            for periods, if there are any.
    """
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(model)[0]]
    positions = take_apart(model, None)[0].trained
    own = {position: _name(paths[position]) for position in positions}
    held = _PERIODS if names is None else names
    for name in names or ():
        known = sorted(set(own.values()))
        require(name in known, "--hold", f"must name hyperparameters: {', '.join(known)}", name, "Check its spelling.")
    kept = [position for position in positions if own[position] not in held]
    remedy = "Hold fewer of them with --hold, or learn nothing with --steps 0."
    require(kept, "--hold", "must leave something to learn", ",".join(held), remedy)

    def trainable(prior: Any, likelihood: Any) -> list[Any]:
        leaves = jax.tree.leaves((prior, likelihood))
        return [leaves[position] for position in kept]

    return trainable, sorted(set(own.values()) & set(held))


def _name(path: tuple[Any, ...]) -> str:
    """The last field on the way to a number."""
    fields = [key.name for key in path if isinstance(key, jax.tree_util.GetAttrKey)]
    return "mean" if fields[-1] == "means" else fields[-1]
