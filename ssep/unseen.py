"""What the posterior says of observations that it has not seen: new ones, or each of its own left out."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import is_concrete, require
from ssep.compatibility import check_compatible
from ssep.data import Data
from ssep.marginals import Marginals
from ssep.prediction import posterior_at
from ssep.sites import remove
from ssep.smoothers.base import Smoother
from ssep.solution import Solution
from ssep.timeline import recognised


def latents_of_new(call: str, solved: Solution, data: Data, smoother: Smoother) -> Marginals:
    """Marginals of the latents of new observations, of which there must be some."""
    require(isinstance(data, Data), f"{call}(data)", "must be a `Data`", type(data).__name__, "Use `ssep.Data(t, y)`.")
    anchored = solved.prior.anchored(solved.data.locations)
    check_compatible(anchored, solved.likelihood, None, solved.rule, data, call)
    require(
        jax.tree.structure(data.aux) == jax.tree.structure(solved.data.aux),
        f"{call}(data)",
        "must come with the same `aux` as the data before",
        "another",
        "Give `Data(..., aux=...)`, for example the exposure.",
    )
    observed = not is_concrete(data.mask) or bool(np.any(data.mask))
    require(observed, f"{call}(data)", "must have an observation", "none", "Check what is marked as missing.")
    return posterior_at(call, solved, recognised(data.locations, solved.data.locations), smoother)[0]


@eqx.filter_jit
def latents_left_out(solved: Solution) -> Marginals:
    """Marginals of the latents of each observation given all others: the posterior without its site."""
    resolved, unresolved = as_sites_see(solved)
    return remove(resolved, solved.sites, 1.0).widened(unresolved)


def as_sites_see(solved: Solution) -> tuple[Marginals, Float[Array, "*obs latent"] | None]:
    """The posterior of what the nodes resolve, which is all that sites know of; and the variances of the rest."""
    locations = solved.data.locations
    unresolved = solved.prior.anchored(locations).view(locations).unresolved
    return (solved.posterior if unresolved is None else solved.posterior.widened(-unresolved)), unresolved
