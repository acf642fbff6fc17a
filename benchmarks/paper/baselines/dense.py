"""Batch expectation propagation and the variational Gaussian, with full covariance matrices.

Nothing of the library's inference is used: the process at all inputs is one Gaussian, and sites are refreshed at once.
Sites may be indefinite, as long as the posterior and the cavities are proper: both methods end at their true fixed
points, where derivatives of the energies in the hyperparameters are those at fixed sites.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
TOLERANCE = 1e-6
SHORTEST = 1e-5
"""The damping at which an inference gives up."""

Integral = Callable[[Array, Array, Array], Array]
"""A function of an observation and of the mean and the covariance of its latents."""


class Model(NamedTuple):
    """The two integrals that a likelihood needs."""

    log_evidence: Integral
    """log E[p(y|f)]"""
    expected_log: Integral
    """E[log p(y|f)]"""


class Sites(NamedTuple):
    """exp(b'f - f'Lf/2) for each observation: b is (n, d), L is (n, d, d)."""

    linear: Array
    precision: Array


class State(NamedTuple):
    """What sites amount to."""

    sites: Sites
    mean: Array
    cov: Array
    """Marginal moments."""
    slope: Array
    """Derivative of the energy in the prior covariance (d, n, n), at a fixed point."""
    energy: Array
    target: Sites
    """The refreshed sites."""
    residual: Array
    """How far the sites are from there, without units."""


def one_latent(log_prob: Callable[[Array, Array], Array]) -> Model:
    """Gauss-Hermite for a likelihood of one latent."""

    def values(y: Array, mean: Array, cov: Array) -> Array:
        return log_prob(y, mean[0] + jnp.sqrt(cov[0, 0]) * NODES)

    return Model(
        lambda *arguments: jax.nn.logsumexp(LOG_WEIGHTS + values(*arguments)),
        lambda *arguments: jnp.exp(LOG_WEIGHTS) @ values(*arguments),
    )


def noise_and_mean() -> Model:
    """The model y ~ N(f, softplus(g - 1/2)^2): f in closed form given g, and Gauss-Hermite for g."""

    def given(mean: Array, cov: Array) -> tuple[Array, Array, Array]:
        g = mean[1] + jnp.sqrt(cov[1, 1]) * NODES
        gain = cov[0, 1] / cov[1, 1]
        return mean[0] + gain * (g - mean[1]), cov[0, 0] - gain * cov[0, 1], jax.nn.softplus(g - 0.5)

    def log_evidence(y: Array, mean: Array, cov: Array) -> Array:
        centre, spread, scale = given(mean, cov)
        return jax.nn.logsumexp(LOG_WEIGHTS + jax.scipy.stats.norm.logpdf(y, centre, jnp.sqrt(spread + scale**2)))

    def expected_log(y: Array, mean: Array, cov: Array) -> Array:
        centre, spread, scale = given(mean, cov)
        return jnp.exp(LOG_WEIGHTS) @ (jax.scipy.stats.norm.logpdf(y, centre, scale) - spread / (2 * scale**2))

    return Model(log_evidence, expected_log)


Refresh = Callable[[Model, Array, Array, Array, Sites], tuple[Sites, Array]]


def batch_ep(model: Model, y: Array, mean: Array, cov: Array, site: Sites) -> tuple[Sites, Array]:
    """The site that matches the moments of cavity times likelihood, and what the energy has of one observation."""
    eye = jnp.eye(len(mean))
    without = jnp.linalg.inv(eye - cov @ site.precision)
    cavity, spread = without @ (mean - cov @ site.linear), without @ cov
    spread = (spread + spread.T) / 2
    value, (gradient, half) = jax.value_and_grad(model.log_evidence, argnums=(1, 2))(y, cavity, spread)
    curvature = half + half.T - jnp.outer(gradient, gradient)
    grown = jnp.linalg.inv(eye + curvature @ spread)
    precision = -grown @ curvature
    pull, ratio = site.linear - site.precision @ cavity, eye + site.precision @ spread
    log_site = (
        site.linear @ cavity
        - cavity @ site.precision @ cavity / 2
        + pull @ spread @ jnp.linalg.solve(ratio, pull) / 2
        - jnp.log(jnp.linalg.det(ratio)) / 2
    )
    # A cavity that is not proper makes no sense of its site.
    proper = jnp.all(jnp.linalg.eigvalsh(spread) > 0)
    return Sites(grown @ gradient + precision @ cavity, precision), jnp.where(proper, value - log_site, jnp.nan)


def variational(model: Model, y: Array, mean: Array, cov: Array, site: Sites) -> tuple[Sites, Array]:
    """The site of a natural gradient step of length one, and what the energy has of one observation."""
    value, (gradient, half) = jax.value_and_grad(model.expected_log, argnums=(1, 2))(y, mean, cov)
    precision = -(half + half.T)
    expected = site.linear @ mean - jnp.sum(site.precision * (cov + jnp.outer(mean, mean))) / 2
    return Sites(gradient + precision @ mean, precision), value - expected


@jax.jit
def root(covariances: Array) -> Array:
    """A root (n, d, n d) of the prior covariance of d independent latents, given (d, n, n), which may be singular."""
    values, vectors = jnp.linalg.eigh(covariances)
    d, n, _ = covariances.shape
    return jnp.einsum("ikl,il,ij->kijl", vectors, jnp.sqrt(jnp.maximum(values, 0)), jnp.eye(d)).reshape(n, d, d * n)


@partial(jax.jit, static_argnums=(0, 1))
def look(refresh: Refresh, model: Model, factor: Array, y: Array, mask: Array, sites: Sites) -> State:
    """Posterior, energy and refreshed sites; the energy is NaN where the posterior or a cavity is not proper."""
    n, d = sites.linear.shape
    grown = jnp.eye(n * d) + jnp.einsum("kix,kij,kjy->xy", factor, sites.precision, factor)
    lower = jnp.linalg.cholesky(grown)
    # The joint covariance is half'half.
    half = jax.scipy.linalg.solve_triangular(lower, factor.reshape(n * d, -1).T, lower=True).reshape(-1, n, d)
    white = jnp.einsum("xki,ki->x", half, sites.linear)
    mean, cov = jnp.einsum("xki,x->ki", half, white), jnp.einsum("xki,xkj->kij", half, half)
    log_z = white @ white / 2 - jnp.sum(jnp.log(jnp.diag(lower)))

    target, local = jax.vmap(partial(refresh, model))(y, mean, cov, sites)
    linear, precision = jnp.where(mask[:, None], target.linear, 0), jnp.where(mask[:, None, None], target.precision, 0)
    energy = -log_z - jnp.sum(jnp.where(mask, local, 0))

    size = jnp.sqrt(jnp.einsum("kii->ki", cov))
    turn = (precision - sites.precision) * size[:, :, None] * size[:, None, :]
    pull = (linear - sites.linear - jnp.einsum("kij,kj->ki", precision - sites.precision, mean)) * size
    residual = jnp.sqrt(jnp.sum(turn**2) + jnp.sum(pull**2))

    # With a = b - L m and W = L - L cov L the derivative of log Z in the prior covariance is (a a' - W) / 2.
    force = sites.linear - jnp.einsum("kij,kj->ki", sites.precision, mean)
    seen = jnp.einsum("xki,kij->xkj", half, sites.precision)
    own = jnp.einsum("kii,kl->ikl", sites.precision, jnp.eye(n))
    slope = (own - jnp.einsum("ki,li->ikl", force, force) - jnp.einsum("xki,xli->ikl", seen, seen)) / 2
    return State(sites, mean, cov, slope, energy, Sites(linear, precision), residual)


def solve(glance: Callable[[Sites], State], sites: Sites, descends: bool, longest: float) -> tuple[State, int]:
    """Sites to their fixed point, by damped steps that halve where they would leave the proper ones or go astray.

    Args:
        glance: `look` at given sites.
        sites: Where to begin; shrunk until proper.
        descends: Whether the fixed point is a minimum of the energy.
        longest: The largest damping.

    Returns:
        The last state, and the number of looks that it took.
    """
    state, length, looks = glance(sites), longest, 1
    while not jnp.isfinite(state.energy) and looks < 50:
        sites = jax.tree.map(lambda x: x / 2, sites)
        state, looks = glance(sites), looks + 1
    while state.residual > TOLERANCE and length > SHORTEST and looks < 150 / longest:
        moved = jax.tree.map(lambda x, y, length=length: x + length * (y - x), state.sites, state.target)
        other, looks = glance(moved), looks + 1
        # Below the rounding of the energy, and where nothing descends, a residual that explodes is what tells.
        worst = state.energy + 1e-7 if descends else jnp.inf
        if jnp.isfinite(other.energy) and other.energy <= worst and other.residual <= 10 * state.residual:
            state, length = other, min(longest, 1.5 * length)
        else:
            length /= 2
    return state, looks
