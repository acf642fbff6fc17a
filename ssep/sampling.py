"""Joint paths of latents and observations, from the prior and from the posterior."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ssep.checks import is_concrete, require
from ssep.data import Data
from ssep.likelihoods.base import Likelihood
from ssep.linalg import root_psd
from ssep.prediction import check_aux
from ssep.priors.base import Prior
from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.statespace import StateSpace
from ssep.timeline import check_times, merge
from ssep.types import Aux

_BATCH = 256


class Paths(eqx.Module):
    """Joint draws: along a path the values at all times belong together.

    Attributes:
        f: Paths of the latents.
        y: An observation at each time of each path; None where no likelihood was given, it cannot draw, or the data
            came with extras and `aux` was not given.
    """

    f: Float[Array, "sample new latent"]
    y: Float[Array, "sample new"] | None


def sample(
    key: PRNGKeyArray,
    source: Solution | Fit | Prior,
    t_new: Any,
    num_samples: int = 1,
    *,
    lik: Likelihood | None = None,
    aux: Aux = None,
    smoother: Smoother = Sequential(),
) -> Paths:
    """Draw joint paths at any times, from a posterior or from a prior.

    Args:
        key: A JAX random key; every path and every time has its own numbers.
        source: What `infer` or `fit` returned, for posterior paths; or a prior.
        t_new: Times, shape (m,), in any order; equal times see equal latents.
        num_samples: The number of paths.
        lik: The likelihood of observations along paths of a prior; a solution has its own.
        aux: Extras of the observations to draw, as in `Data(aux=...)`.
        smoother: How the filter and the smoother are run.
    """
    whole = isinstance(num_samples, int | np.integer) and num_samples > 0
    require(whole, "sample(num_samples)", "must be a positive integer", num_samples, "Ask for one path or more.")
    key_f, key_y = jax.random.split(key)
    if isinstance(source, Prior):
        times = check_times("sample", t_new)
        order = jnp.argsort(times, stable=True)
        data = Data(times[order], jnp.full(times.shape, jnp.nan, times.dtype))
        f = _sample_prior(key_f, source, data, jnp.argsort(order, stable=True), num_samples)
    else:
        solved = as_solution("sample", source)
        require(
            lik is None, "sample(lik)", "is for paths of a prior", "a solution with its own likelihood", "Leave it out."
        )
        lik = solved.likelihood
        line = merge("sample", solved, t_new)
        check_definite("sample", line.sites)
        f = _sample_posterior(key_f, solved.prior, line, solved.start, num_samples, smoother)
        if aux is None and jax.tree.leaves(solved.data.aux):
            lik = None  # without the extras that the data came with, an observation cannot be drawn
    extras = check_aux("sample", aux, f.shape[1:2])
    return Paths(f, None if lik is None or not _can_draw(lik) else _observe(key_y, lik, f, extras))


def _can_draw(lik: Likelihood) -> bool:
    return type(lik).sample is not Likelihood.sample or type(lik).measurement is not Likelihood.measurement


def check_definite(call: str, sites: SiteState) -> None:
    """Raise unless all precisions are positive semi-definite, as far as they are known."""
    if is_concrete(sites):
        smallest = np.min(np.linalg.eigvalsh(np.asarray(sites.precision)))
        largest = np.max(np.abs(np.asarray(sites.precision)))
        require(
            smallest >= -1e-6 * largest,
            f"{call}(solution)",
            "needs sites with positive semi-definite precisions",
            f"an eigenvalue of {smallest:.3g}",
            "Infer with `ClipEigenvalues()`.",
        )


@eqx.filter_jit
def _sample_prior(key, prior, data, places, count):
    state_space = prior.discretise(data)
    paths = in_batches(key, count, prior_paths(state_space), lambda g: g)
    return (paths + state_space.offset)[:, places]


@eqx.filter_jit
def _sample_posterior(key, prior, line, start, count, smoother):
    filtered = smoother.filter(prior.discretise(line.data, start), line.sites)
    return in_batches(key, count, posterior_paths(smoother, filtered, line.sites), lambda path: path[line.places])


def in_batches(
    key: PRNGKeyArray, count: int, draw: Callable[[PRNGKeyArray, int], Array], keep: Callable[[Array], PyTree[Array]]
) -> PyTree[Array]:
    """Draw paths a few hundred at a time and keep a function of each: memory is that of one batch and what is kept."""
    size = min(count, _BATCH)
    keys = jax.random.split(key, -(-count // size))
    batches = jax.lax.map(lambda each: jax.vmap(keep)(draw(each, size)), keys)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], batches)


def posterior_paths(
    smoother: Smoother, filtered: Filtered, sites: SiteState
) -> Callable[[PRNGKeyArray, int], Float[Array, "sample time latent"]]:
    """A function that draws posterior paths.

    Durbin and Koopman (2002), in natural parameters: with g a path of the prior without its mean and e ~ N(0, Lam),
    g plus the posterior mean under linear parts b - Lam g - e has the posterior's distribution.
    """
    draw = prior_paths(filtered.state_space)
    collected = filtered.state_space.collect(sites)
    roots = jax.vmap(root_psd)(collected.precision)

    def correct(g: Float[Array, "time latent"], normal: Float[Array, "time latent"]) -> Float[Array, "time latent"]:
        noise = jnp.einsum("kij,kj->ki", roots, normal)
        linear = collected.linear - jnp.einsum("kij,kj->ki", collected.precision, g) - noise
        return g + smoother.mean(filtered, SiteState(linear, collected.precision))

    def paths(key: PRNGKeyArray, count: int) -> Float[Array, "sample time latent"]:
        key_path, key_noise = jax.random.split(key)
        g = draw(key_path, count)
        return jax.vmap(correct)(g, jax.random.normal(key_noise, g.shape, g.dtype))

    return paths


def prior_paths(state_space: StateSpace) -> Callable[[PRNGKeyArray, int], Float[Array, "sample time latent"]]:
    """A function that draws paths of the latents without their means."""
    start = root_psd(state_space.initial_cov)
    noises = jax.vmap(root_psd)(state_space.noises)

    def path(normal: Float[Array, "draws state"]) -> Float[Array, "time latent"]:
        def forward(state, inputs):
            gap, draws = inputs
            state = state_space.carry(gap, state) + noises[gap] @ draws
            return state, state_space.read(state)

        return jax.lax.scan(forward, start @ normal[0], (state_space.gap_index, normal[1:]))[1]

    def paths(key: PRNGKeyArray, count: int) -> Float[Array, "sample time latent"]:
        shape = (count, state_space.gap_index.shape[0] + 1, start.shape[0])
        return jax.vmap(path)(jax.random.normal(key, shape, start.dtype))

    return paths


@eqx.filter_jit
def _observe(key, lik, f, aux):
    keys = jax.random.split(key, f.shape[:2])
    along = jax.vmap(lambda key, latents, extra: jnp.reshape(lik.sample(key, latents, extra), ()))
    return jax.vmap(along, (0, 0, None))(keys, f, aux)
