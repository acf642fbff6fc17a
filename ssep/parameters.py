"""The numbers that learning moves: which fields of a model, in which coordinates."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ssep.checks import require
from ssep.constraints import Constraint, Fixed, Positive, constraints_of
from ssep.likelihoods.base import Likelihood
from ssep.priors.base import Prior

Model = tuple[Prior, Likelihood]
Free = list[Array]
"""The trained leaves in unconstrained coordinates."""


class Parameters(eqx.Module):
    """A model taken apart into what is trained and what is not."""

    fixed: PyTree
    """The model with None in place of every trained leaf."""
    constraints: tuple[Constraint | None, ...] = eqx.field(static=True)
    trained: tuple[int, ...] = eqx.field(static=True)
    """Positions of the trained leaves among all."""
    structure: Any = eqx.field(static=True)

    def model(self, free: Free) -> Model:
        """Put the model together again."""
        leaves = list(self.fixed)
        for position, constraint, value in zip(self.trained, self.constraints, free, strict=True):
            leaves[position] = value if constraint is None else constraint.impose(value)
        return jax.tree.unflatten(self.structure, leaves)


def take_apart(model: Model, trainable: Callable[[Any, Any], Any] | None) -> tuple[Parameters, Free]:
    """Split a model; by default every array of floats, and every number in a field with a constraint, is trained."""
    leaves, structure = jax.tree.flatten(model)
    constraints = constraints_of(model)
    if trainable is None:
        trained = [i for i, leaf in enumerate(leaves) if _is_parameter(leaf, constraints[i])]
    else:
        # A model of positions tells which leaves the user's function picks.
        numbered = jax.tree.unflatten(structure, list(range(len(leaves))))
        trained = sorted(set(jax.tree.leaves(trainable(*numbered))))
        for i in trained:
            require(
                isinstance(i, int) and _is_parameter(leaves[i], Positive()),
                "fit(trainable)",
                "must pick numbers of the prior and the likelihood",
                leaves[i] if isinstance(i, int) else i,
                "For example `trainable=lambda prior, lik: prior.kernels[0].lengthscale`.",
            )
    require(
        bool(trained),
        "fit(prior, lik)",
        "must have something to learn",
        "no trainable number",
        "Use `ssep.infer` if all is known.",
    )
    chosen = tuple(constraints[i] for i in trained)
    values = [jnp.asarray(leaves[i], jnp.result_type(leaves[i], float)) for i in trained]
    free = [
        value if constraint is None else constraint.release(value)
        for value, constraint in zip(values, chosen, strict=True)
    ]
    fixed = [None if i in trained else leaf for i, leaf in enumerate(leaves)]
    return Parameters(fixed, chosen, tuple(trained), structure), free


def _is_parameter(leaf: Any, constraint: Constraint | None) -> bool:
    known = isinstance(constraint, Fixed)
    return eqx.is_inexact_array_like(leaf) and not known and (eqx.is_array(leaf) or constraint is not None)
