"""The derivative of a fixed point, by the implicit function theorem: no iteration is unrolled."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import gmres
from jaxtyping import PyTree

from ssep.marginals import Marginals
from ssep.sites import SiteState

Refreshed = Callable[[Any, SiteState], SiteState]


def attach_gradient(refreshed: Refreshed, model: PyTree, sites: SiteState, posterior: Marginals) -> SiteState:
    """The given sites, with the derivative in `model` of the solution of `refreshed(model, sites) = sites`.

    With F the refresh, a cotangent v of the sites becomes (dF/dmodel)' inv(I - dF/dsites)' v, found by GMRES with one
    transposed sweep per iteration. Reverse mode only; second derivatives are `jacrev` of `grad`.

    Args:
        refreshed: One full sweep; it closes over nothing that is traced.
        model: What it depends on.
        sites: Its fixed point.
        posterior: The marginals there; they set the scale of each unknown.
    """
    arrays, static = eqx.partition(model, eqx.is_array)
    leaves, structure = jax.tree.flatten(static)

    def pure(arrays: PyTree, sites: SiteState) -> SiteState:
        return refreshed(eqx.combine(arrays, jax.tree.unflatten(structure, leaves)), sites)

    return _root(pure, arrays, jax.lax.stop_gradient(sites), jax.lax.stop_gradient(posterior))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _root(refreshed: Refreshed, model: PyTree, sites: SiteState, posterior: Marginals) -> SiteState:
    return sites


def _root_forward(refreshed, model, sites, posterior):
    # The root again, not the sites: so that a second derivative finds its first.
    root = _root(refreshed, model, sites, posterior)
    return root, (model, root, posterior)


def _root_backward(refreshed, residuals, cotangent):
    model, root, posterior = residuals
    _, pull_back = jax.vjp(refreshed, model, root)
    to_local, from_local = _local_cotangents(posterior)

    def transposed(local: SiteState) -> SiteState:
        carried = to_local(pull_back(from_local(local))[1])
        return jax.tree.map(jnp.subtract, local, carried)

    tol = float(jnp.finfo(root.linear.dtype).eps) ** 0.5
    solved, _ = gmres(transposed, to_local(cotangent), tol=tol, restart=30, maxiter=20, solve_method="incremental")
    of_model = pull_back(from_local(solved))[0]
    return of_model, jax.tree.map(jnp.zeros_like, root), jax.tree.map(jnp.zeros_like, posterior)


_root.defvjp(_root_forward, _root_backward)


def _local_cotangents(posterior: Marginals):
    """Maps from cotangents of sites to numbers of order one and back, for a well-conditioned linear system.

    Locally a site is its gradient at the posterior mean, times the standard deviation, and its precision, times the
    variance; cotangents transform the other way.
    """
    mean = posterior.mean
    scale = jnp.sqrt(jnp.diagonal(posterior.cov, axis1=-2, axis2=-1))
    area = scale[..., :, None] * scale[..., None, :]

    def to_local(cotangent: SiteState) -> SiteState:
        shared = cotangent.linear[..., :, None] * mean[..., None, :]
        return SiteState(cotangent.linear / scale, (cotangent.precision + shared) / area)

    def from_local(local: SiteState) -> SiteState:
        linear = local.linear * scale
        return SiteState(linear, local.precision * area - linear[..., :, None] * mean[..., None, :])

    return to_local, from_local
