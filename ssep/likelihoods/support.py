"""What observations and their extras must be."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import first_offender, require
from ssep.likelihoods.base import Likelihood
from ssep.links import Link, Sigmoid
from ssep.types import Aux, Scalar


def require_all(likelihood: Likelihood, values: np.ndarray, valid: np.ndarray, requirement: str, remedy: str) -> None:
    """Raise unless all values are valid; name the first that is not."""
    got = "" if valid.all() else first_offender(values, valid)
    require(valid.all(), type(likelihood).__name__, requirement, got, remedy)


def require_counts(likelihood: Likelihood, y: np.ndarray) -> None:
    """Raise unless the values are non-negative integers."""
    remedy = "Mark missing counts as NaN; pass rates as counts with their exposure or trials in `aux`."
    require_all(likelihood, y, (y >= 0) & (y == np.round(y)), "needs non-negative integer counts in y", remedy)


def require_positive(likelihood: Likelihood, y: np.ndarray) -> None:
    """Raise unless the values are positive."""
    remedy = "Mark missing values as NaN; values below a limit of detection are censored, not zero."
    require_all(likelihood, y, y > 0, "needs positive values in y", remedy)


def require_rate(likelihood: Likelihood, link: object) -> None:
    """Raise unless a link gives positive numbers."""
    remedy = "Use `ssep.links.exp` or `ssep.links.softplus`."
    name = f"{type(likelihood).__name__}(link)"
    require(isinstance(link, Link), name, "must be a link object", repr(link), remedy)


def require_sigmoid(likelihood: Likelihood, link: object) -> None:
    """Raise unless a link gives probabilities."""
    remedy = "Use `ssep.links.logistic` or `ssep.links.probit`."
    name = f"{type(likelihood).__name__}(link)"
    require(isinstance(link, Sigmoid), name, "must map to probabilities symmetrically", repr(link), remedy)


def extra_number(
    likelihood: Likelihood, aux: Aux, name: str, default: float | None = None, axes: int = 0
) -> Float[Array, "*obs"]:
    """The one number that an observation brings along, or its default; raise if there are more, or none.

    Args:
        likelihood: The likelihood that needs it.
        aux: The extras of an observation, or of several along some axes.
        name: What the number is.
        default: What it is if absent; if there is none, it must not be absent.
        axes: The number of axes.
    """
    leaves = jax.tree.leaves(aux)
    right = (len(leaves) == 1 or (default is not None and not leaves)) and all(
        jnp.ndim(leaf) == axes for leaf in leaves
    )
    require(
        right,
        type(likelihood).__name__,
        f"takes one number per observation, {name}, through `Data(aux=...)`",
        f"{len(leaves)} arrays of shapes {[jnp.shape(leaf) for leaf in leaves]} per observation" if leaves else "none",
        "Pass a single array with the shape of y.",
    )
    return jnp.asarray(leaves[0] if leaves else default)


def exposure_of(likelihood: Likelihood, aux: Aux) -> Scalar:
    """The time, area or population at risk of an observation; one if absent."""
    return extra_number(likelihood, aux, "its exposure", 1.0)


def require_exposures(likelihood: Likelihood, aux: Aux) -> None:
    """Raise unless all exposures are positive."""
    remedy = "Mark intervals without exposure as missing (NaN in y)."
    for exposure in jax.tree.leaves(aux):
        require_all(likelihood, exposure, exposure > 0, "needs positive exposures in `Data(aux=...)`", remedy)


def known(aux: Aux) -> Aux:
    """The entries that are not NaN."""
    return jax.tree.map(lambda extra: extra[~np.isnan(extra)], aux)


def require_outputs(likelihood: Likelihood, output: np.ndarray, count: int) -> None:
    """Raise unless every observation is of one of so many outputs."""
    valid = (output >= 0) & (output < count) & (output == np.round(output))
    requirement, remedy = f"needs outputs from 0 to {count - 1} in `Data(aux=...)`", "Pass `Outputs.columns(y)`."
    require_all(likelihood, output, valid, requirement, remedy)
