"""The posterior of each term of a sum of kernels."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.timeline import look_at, merge


class Component(eqx.Module):
    """One term of a latent: a trend, a season.

    Attributes:
        latent: Of which latent it is a term.
        kernel: Its kernel, or a separable term with its kernels.
        mean: Its posterior mean; the prior's mean function belongs to no term.
        var: Its posterior variance.
    """

    latent: int = eqx.field(static=True)
    kernel: Any
    mean: Float[Array, "*new"]
    var: Float[Array, "*new"]


class Components(eqx.Module):
    """The terms of all latents, in the order of the kernels, with their covariances.

    Attributes:
        terms: One per term of each sum; index and iterate as you would a list.
        cov: Covariances of the terms at each time, and place: what one term gains another may lose.
    """

    terms: tuple[Component, ...]
    cov: Float[Array, "*new term term"]

    def __getitem__(self, index: int) -> Component:
        """One term."""
        return self.terms[index]

    def __len__(self) -> int:
        """The number of terms."""
        return len(self.terms)


def components(
    solution: Solution | Fit, t_new: Any = None, *, r_new: Any = None, smoother: Smoother = Sequential()
) -> Components:
    """Split each latent into the terms of its kernel, or of its sum of separable priors.

    Args:
        solution: What `infer` or `fit` returned.
        t_new: Times, shape (m,); those of the data if absent.
        r_new: Places, for a prior in space and time, as in `predict`.
        smoother: How the filter and the smoother are run.
    """
    solved = as_solution("components", solution)
    times = solved.data.t if t_new is None else t_new
    where = look_at("components", solved.prior, solved.data.locations, times, r_new)
    line = merge("components", solved, where)
    parts, found = _components(solved.prior, solved.data.locations, solved.sites, solved.start, line, where, smoother)
    terms = tuple(
        Component(part.latent, part.kernel, found.mean[..., i], found.cov[..., i, i]) for i, part in enumerate(parts)
    )
    return Components(terms, found.cov)


@eqx.filter_jit
def _components(prior, seen, sites, start, line, where, smoother):
    prior = prior.anchored(seen)
    centred, _ = prior.view(seen).centre(sites)
    split, parts = prior.split()
    # What a site says of a latent it says of every one of its terms.
    latents = jnp.array([part.latent for part in parts])
    of_terms = SiteState(centred.linear[..., latents], centred.precision[..., latents[:, None], latents])
    space, node_sites = line.nodes(split, seen, of_terms, start)
    posterior = smoother.smooth(smoother.filter(space, node_sites))
    view = split.view(where)
    nodes = Marginals(posterior.mean[line.new], posterior.cov[line.new])
    return parts, view.complete(jax.vmap(view.spread)(view.steps, nodes))
