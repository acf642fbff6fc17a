"""The posterior of each term of a sum of kernels."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.kernels.base import Kernel
from ssep.sites import SiteState
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.timeline import merge


class Component(eqx.Module):
    """One term of a latent: a trend, a season.

    Attributes:
        latent: Of which latent it is a term.
        kernel: Its kernel.
        mean: Its posterior mean; the prior's mean function belongs to no term.
        var: Its posterior variance.
    """

    latent: int = eqx.field(static=True)
    kernel: Kernel
    mean: Float[Array, " new"]
    var: Float[Array, " new"]


class Components(eqx.Module):
    """The terms of all latents, in the order of the kernels, with their covariances.

    Attributes:
        terms: One per term of each sum; index and iterate as you would a list.
        cov: Covariances of the terms at each time: what one term gains another may lose.
    """

    terms: tuple[Component, ...]
    cov: Float[Array, "new term term"]

    def __getitem__(self, index: int) -> Component:
        """One term."""
        return self.terms[index]

    def __len__(self) -> int:
        """The number of terms."""
        return len(self.terms)


def components(solution: Solution | Fit, t_new: Any = None, *, smoother: Smoother = Sequential()) -> Components:
    """Split each latent into the terms of its kernel.

    Args:
        solution: What `infer` or `fit` returned.
        t_new: Times, shape (m,); those of the data if absent.
        smoother: How the filter and the smoother are run.
    """
    solved = as_solution("components", solution)
    line = merge("components", solved, solved.data.t if t_new is None else t_new)
    mean, cov = _components(solved.prior, line, solved.start, smoother)
    terms = tuple(
        Component(part.latent, part.kernel, mean[:, i], cov[:, i, i]) for i, part in enumerate(solved.prior.parts())
    )
    return Components(terms, cov)


@eqx.filter_jit
def _components(prior, line, start, smoother):
    state_space = prior.discretise(line.data, start)
    parts = prior.parts()
    # The terms are further latents, of which the sites say nothing.
    rows = jnp.stack([part.observation for part in parts]).astype(state_space.observation.dtype)
    wide = eqx.tree_at(
        lambda space: (space.observation, space.offset),
        state_space,
        (
            jnp.concatenate([state_space.observation, rows]),
            jnp.pad(state_space.offset, ((0, 0), (0, len(parts)))),
        ),
    )
    extra = (0, len(parts))
    sites = SiteState(
        jnp.pad(line.sites.linear, ((0, 0), extra)), jnp.pad(line.sites.precision, ((0, 0), extra, extra))
    )
    posterior = smoother.smooth(smoother.filter(wide, sites))
    latents = prior.num_latents
    return posterior.mean[line.places, latents:], posterior.cov[line.places, latents:, latents:]
