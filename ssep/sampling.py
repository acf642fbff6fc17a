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
from ssep.locations import Locations
from ssep.prediction import check_aux
from ssep.priors.base import Prior
from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.statespace import Shared, StateSpace, View
from ssep.timeline import look_at, merge
from ssep.types import Aux

# The most paths, and about the most numbers, that are drawn at once.
_BATCH = 256
_NUMBERS = 2**25


class Paths(eqx.Module):
    """Joint draws: along a path the values at all times and places belong together.

    Attributes:
        f: Paths of the latents.
        y: An observation at each time of each path; None where no likelihood was given, it cannot draw, or the data
            came with extras and `aux` was not given.
    """

    f: Float[Array, "sample *new latent"]
    y: Float[Array, "sample *new"] | None


def sample(
    key: PRNGKeyArray,
    source: Solution | Fit | Prior,
    t_new: Any,
    num_samples: int = 1,
    *,
    r_new: Any = None,
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
        r_new: Places, for a prior in space and time, as in `predict`.
        lik: The likelihood of observations along paths of a prior; a solution has its own.
        aux: Extras of the observations to draw, as in `Data(aux=...)`.
        smoother: How the filter and the smoother are run.
    """
    whole = isinstance(num_samples, int | np.integer) and num_samples > 0
    require(whole, "sample(num_samples)", "must be a positive integer", num_samples, "Ask for one path or more.")
    key_f, key_y = jax.random.split(key)
    if isinstance(source, Prior):
        where = look_at("sample", source, None, t_new, r_new)
        f = _sample_prior(key_f, source, where, num_samples)
    else:
        solved = as_solution("sample", source)
        require(
            lik is None, "sample(lik)", "is for paths of a prior", "a solution with its own likelihood", "Leave it out."
        )
        lik = solved.likelihood
        where = look_at("sample", solved.prior, solved.data.locations, t_new, r_new)
        line = merge("sample", solved, where)
        check_definite("sample", solved.sites)
        f = _sample_posterior(
            key_f, solved.prior, solved.data.locations, solved.sites, solved.start, line, where, num_samples, smoother
        )
        if aux is None and jax.tree.leaves(solved.data.aux):
            lik = None  # without the extras that the data came with, an observation cannot be drawn
    extras = check_aux("sample", lik, aux, where.shape)
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
def _sample_prior(key, prior, where, count):
    # A prior without inducing places is exact wherever it is drawn.
    own = prior.anchored(where)
    view = own.view(where)
    nodes_key, rest_key = jax.random.split(key)
    each = (where.t.shape[0] + 1) * own.sizes(where)[0]
    drawn = in_batches(nodes_key, count, each, _at_times(own, where.t), _reader(view))
    return _with_rest(rest_key, own, where, drawn, count)


@eqx.filter_jit
def _sample_posterior(key, prior, seen, sites, start, line, where, count, smoother):
    prior = prior.anchored(seen)
    space, node_sites = line.nodes(prior, seen, sites, start)
    filtered = smoother.filter(space, node_sites)
    old, new = prior.view(seen), prior.view(where)
    noise = _site_noise(sites)

    def node_noise(key: PRNGKeyArray) -> Float[Array, "line node"]:
        return line.scatter(_writer(old)(noise(key)))

    paths = posterior_paths(smoother, filtered, node_sites, node_noise)
    path_key, rest_key = jax.random.split(key)
    read = _reader(new)
    each = (line.data.t.shape[0] + 1) * filtered.closing.mean.shape[0]
    drawn = in_batches(path_key, count, each, paths, lambda path: read(path[line.new]))
    return _with_rest(rest_key, prior, where, drawn, count)


def _reader(view: View) -> Callable[[Array], Array]:
    """From nodes at all steps to latents of all observations, with their means."""
    read = jax.vmap(lambda step, nodes: view.read(step, nodes[:, None])[..., 0])
    return lambda nodes: view.with_means(read(view.steps, nodes))


def _writer(view: View) -> Callable[[Array], Array]:
    """The adjoint of reading."""
    write = jax.vmap(lambda step, latents: view.write(step, latents[..., None])[:, 0])
    return lambda latents: write(view.steps, latents)


def _at_times(prior: Prior, times: Float[Array, " new"]) -> Callable[[PRNGKeyArray, int], Float[Array, "..."]]:
    """A function that draws paths of the nodes of an anchored prior, at times in any order."""
    order = jnp.argsort(times, stable=True)
    data = Data(times[order], jnp.full(times.shape, jnp.nan, times.dtype))
    dynamics = prior.dynamics(data)
    require(
        dynamics.flat is None,
        "sample(source)",
        "must be a solution, or a prior that is a distribution",
        "a prior with a `Flat` number",
        "Give the number a variance: `Constant`, `Polynomial`, `Regression`.",
    )
    draw = prior_paths(StateSpace(dynamics, Shared(dynamics.num_nodes), data.gaps))
    return lambda key, size: draw(key, size)[:, jnp.argsort(order, stable=True)]


def _with_rest(key: PRNGKeyArray, prior: Prior, where: Locations, drawn: Array, count: int) -> Array:
    """Add what the nodes do not resolve: a field of its own, drawn exactly at all places that occur."""
    rest = prior.residual()
    if rest is None or prior.view(where).unresolved is None:
        return drawn
    places = where.places.reshape(-1, where.places.shape[-1])
    fixed = Locations(where.t, places, places.shape[0], own=True)
    anchored = rest.anchored(fixed)
    read, times = _reader(anchored.view(fixed)), where.t.shape[0]

    def keep(nodes: Float[Array, "new node"]) -> Float[Array, "*new latent"]:
        path = read(nodes)
        if not where.moving:
            return path
        own = jnp.arange(times)
        return path.reshape(times, *where.shape, path.shape[-1])[own, own]

    each = (times + 1) * anchored.sizes(fixed)[0]
    return drawn + in_batches(key, count, each, _at_times(anchored, where.t), keep)


def in_batches(
    key: PRNGKeyArray,
    count: int,
    each: int,
    draw: Callable[[PRNGKeyArray, int], Array],
    keep: Callable[[Array], PyTree[Array]],
) -> PyTree[Array]:
    """Draw paths some at a time and keep a function of each: memory is that of one batch and what is kept.

    `each` is how many numbers it takes to draw one path.
    """
    size = min(count, _BATCH, max(1, _NUMBERS // each))
    keys = jax.random.split(key, -(-count // size))
    batches = jax.lax.map(lambda each: jax.vmap(keep)(draw(each, size)), keys)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], batches)


def _site_noise(sites: SiteState) -> Callable[[PRNGKeyArray], Float[Array, "*obs latent"]]:
    """A function that draws e ~ N(0, Lam) for every site."""
    size = sites.linear.shape[-1]
    roots = jax.vmap(root_psd)(sites.precision.reshape(-1, size, size)).reshape(sites.precision.shape)

    def draw(key: PRNGKeyArray) -> Float[Array, "*obs latent"]:
        normal = jax.random.normal(key, sites.linear.shape, sites.linear.dtype)
        return jnp.einsum("...ij,...j->...i", roots, normal)

    return draw


def posterior_paths(
    smoother: Smoother,
    filtered: Filtered,
    sites: SiteState,
    noise: Callable[[PRNGKeyArray], Float[Array, "time *obs latent"]] | None = None,
) -> Callable[[PRNGKeyArray, int], Float[Array, "sample time *obs latent"]]:
    """A function that draws posterior paths, without the means of the prior.

    Durbin and Koopman (2002), in natural parameters: with g a path of the prior and e ~ N(0, Lam), g plus the posterior
    mean under linear parts b - Lam g - e has the posterior's distribution. The sites have had their means taken out;
    `noise` draws e, if there is a cheaper way than from the sites themselves.
    """
    draw = prior_paths(filtered.state_space)
    disturb = _site_noise(sites) if noise is None else noise

    def correct(g: Float[Array, "time *obs latent"], key: PRNGKeyArray) -> Float[Array, "time *obs latent"]:
        linear = sites.linear - jnp.einsum("...ij,...j->...i", sites.precision, g) - disturb(key)
        return g + smoother.mean(filtered, SiteState(linear, sites.precision))

    def paths(key: PRNGKeyArray, count: int) -> Float[Array, "sample time *obs latent"]:
        key_path, key_noise = jax.random.split(key)
        return jax.vmap(correct)(draw(key_path, count), jax.random.split(key_noise, count))

    return paths


def prior_paths(state_space: StateSpace) -> Callable[[PRNGKeyArray, int], Float[Array, "sample time *obs latent"]]:
    """A function that draws paths of the latents without their means."""
    mean, cov = state_space.start()
    start, noise = root_psd(cov), state_space.dynamics.noise_root()

    def path(normal: Float[Array, "draws state"]) -> Float[Array, "time *obs latent"]:
        def forward(state, inputs):
            step, gap, draws = inputs
            state = state_space.carry(step, state) + noise(gap, draws)
            return state, state_space.spread_mean(step, state_space.read(step, state[:, None])[:, 0])

        return jax.lax.scan(forward, start @ normal[0], (state_space.steps, state_space.gaps.index, normal[1:]))[1]

    def paths(key: PRNGKeyArray, count: int) -> Float[Array, "sample time *obs latent"]:
        shape = (count, state_space.gaps.index.shape[0] + 1, mean.shape[0])
        return jax.vmap(path)(jax.random.normal(key, shape, mean.dtype))

    return paths


@eqx.filter_jit
def _observe(key, lik, f, aux):
    keys = jax.random.split(key, f.shape[:-1])

    def draw(key, latents, extra):
        return jnp.reshape(lik.sample(key, latents, extra), ())

    for _ in range(f.ndim - 2):
        draw = jax.vmap(draw)
    return jax.vmap(draw, (0, 0, None))(keys, f, aux)
