"""Filter and smoother in roots of covariances."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from ssep.checks import require
from ssep.conditioning import condition
from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Forward, Record, Smoother
from ssep.smoothers.stepwise import Stepwise, filter_steps
from ssep.statespace import Closing, Dynamics, StateSpace, pack
from ssep.types import StateMatrix


class SquareRoot(Smoother):
    """Covariances as products of roots, P = S S': nothing is subtracted, so variances keep their leading digits.

    For single precision where observations are very precise; `Sequential` is many times faster. Sites must be positive
    semi-definite: otherwise the normaliser is NaN. Every step keeps a root of the state's covariance, n s s numbers.
    Derivatives are those of `Sequential`.
    """

    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass."""
        require(
            state_space.dynamics.flat is None,
            "SquareRoot()",
            "needs a prior for every constant",
            "one without (`Flat`), whose removal no root expresses",
            "Use `Sequential()`, or `Constant` with a variance.",
        )
        centred, constant = state_space.view.centre(sites)
        done, roots = _forward(state_space, centred)
        return Filtered.of(state_space, done, constant, Rootwise(done.record, centred, jax.lax.stop_gradient(roots)))


class Rootwise(Record):
    """What the filter kept of each step."""

    kept: Record
    sites: SiteState
    roots: Float[Array, "time state state"]
    """Of the covariance of the state, given the sites up to each step."""

    def smooth(self, state_space: StateSpace, closing: Closing) -> Marginals:
        """Posterior marginals of each observation, without means."""
        return _smooth(state_space, self.sites, self.kept, self.roots)

    def means(self, state_space: StateSpace, sites: SiteState, closing: Closing) -> Float[Array, "time *obs latent"]:
        """Posterior means under sites with other linear parts."""
        return self.kept.means(state_space, sites, closing)


@eqx.filter_custom_jvp
def _forward(state_space: StateSpace, sites: SiteState) -> tuple[Forward, Float[Array, "time state state"]]:
    noise_root = _noise_root(state_space.dynamics)

    def forward(belief: Any, inputs: Any) -> Any:
        gap, step, site = inputs
        mean, root = belief
        mean = state_space.carry(step, mean)
        root = _compress(jnp.concatenate([state_space.dynamics.advance(step[0], root), noise_root(gap)], 1))
        reading = state_space.read(step, root)
        target_mean = state_space.read(step, mean[:, None])[:, 0]
        collected = state_space.collect(step, site)
        seen = pack(target_mean, reading @ root.T)
        grown = _grow(_site_root(collected.precision).T @ reading)
        updated_root, updated_reading = _divide(root, grown), _divide(reading, grown)
        # With the updated covariance P: the mean moves by P H'(b - Lam mu).
        slope = collected.linear - collected.precision @ target_mean
        moved = updated_reading.T @ slope
        log_normaliser = jnp.sum(target_mean * (collected.linear + slope)) / 2 + jnp.sum(moved**2) / 2
        log_normaliser -= jnp.sum(jnp.log(jnp.abs(jnp.diagonal(grown))))
        met = condition(target_mean, reading @ reading.T, collected.linear, collected.precision)
        kept = (
            _spread(state_space, step, target_mean, reading),
            _spread(state_space, step, target_mean + updated_reading @ moved, updated_reading),
            *(log_normaliser, seen, met.shift, met.shrink, updated_root),
        )
        return (mean + updated_root @ moved, updated_root), kept

    mean, cov = state_space.start()
    inputs = (state_space.gaps.index, state_space.steps, sites)
    last, kept = jax.lax.scan(forward, (mean, _site_root(cov)), inputs)
    predicted, updated, log_normalisers, seen, shift, shrink, roots = kept
    record = Stepwise(updated, seen, shift, shrink)
    return Forward(predicted, updated, jnp.sum(log_normalisers), record, (last[0], last[1] @ last[1].T)), roots


@_forward.def_jvp
def _forward_jvp(primals: Any, tangents: Any) -> Any:
    found, roots = _forward(*primals)
    _, change = eqx.filter_jvp(filter_steps, primals, tangents)
    return (found, roots), (change, jnp.zeros_like(roots))


@eqx.filter_custom_jvp
def _smooth(
    state_space: StateSpace, sites: SiteState, kept: Stepwise, roots: Float[Array, "time state state"]
) -> Marginals:
    noise_root = _noise_root(state_space.dynamics)

    def backward(later: Any, inputs: Any) -> Any:
        vector, root = later
        gap, step, site, seen, shift, shrink, updated = inputs
        # Later sites say exp(-x' N N' x / 2) of the shape of the state after this step, and move it by P a.
        reading = state_space.read(step, updated)
        known = _divide(reading, _grow(root.T @ updated))
        gained = _spread(state_space, step, reading @ (updated.T @ vector), known)
        cross = seen[:, :-1]
        vector = vector + state_space.lift(step, (shift - shrink @ (cross @ vector))[:, None])[:, 0]
        site_root = _site_root(state_space.collect(step, site).precision)
        root = _compress(jnp.concatenate([root, state_space.lift(step, site_root)], 1))
        root = _divide(root, _grow(noise_root(gap).T @ root))
        return (state_space.carry_back(step, vector), state_space.dynamics.retreat(step[0], root)), gained

    mean, cov = state_space.start()
    inputs = (state_space.gaps.index, state_space.steps, sites, kept.seen, kept.shift, kept.shrink, roots)
    _, gained = jax.lax.scan(backward, (jnp.zeros_like(mean), jnp.zeros_like(cov)), inputs, reverse=True)
    return Marginals(kept.updated.mean + gained.mean, gained.cov)


@_smooth.def_jvp
def _smooth_jvp(primals: Any, tangents: Any) -> Any:
    def plainly(state_space: StateSpace, sites: SiteState) -> Marginals:
        done = filter_steps(state_space, sites)
        return done.record.smooth(state_space, state_space.close(done.last))

    return _smooth(*primals), eqx.filter_jvp(plainly, primals[:2], tangents[:2])[1]


def _spread(state_space: StateSpace, step: Any, mean: Array, root: Array) -> Marginals:
    """Marginals of a step's observations, given the mean of its targets and a root of their covariance."""
    return Marginals(state_space.spread_mean(step, mean), state_space.spread_product(step, root, root))


def _compress(root: Float[Array, "rows columns"]) -> Float[Array, "rows rows"]:
    """A square root of the same product R R'."""
    return jnp.linalg.qr(root.T, mode="r").T


def _grow(root: Float[Array, "rows columns"]) -> Float[Array, "columns columns"]:
    """The upper triangular T with T'T = I + R'R."""
    return jnp.linalg.qr(jnp.concatenate([jnp.eye(root.shape[1], dtype=root.dtype), root]), mode="r")


def _divide(root: Float[Array, "rows columns"], grown: Float[Array, "columns columns"]) -> Float[Array, "rows columns"]:
    """R inv(T)."""
    return solve_triangular(grown, root.T, trans="T").T


def _site_root(precision: StateMatrix) -> StateMatrix:
    """A root of a positive semi-definite matrix; NaN for others."""
    values, vectors = jnp.linalg.eigh(precision)
    rounding = 100 * jnp.finfo(precision.dtype).eps * jnp.abs(values).max()
    return vectors * jnp.sqrt(jnp.where(values < -rounding, jnp.nan, jnp.maximum(values, 0)))


def _noise_root(dynamics: Dynamics) -> Any:
    """Roots of the process noise, by gap."""
    make, identity = dynamics.noise_root(), jnp.eye(dynamics.initial_mean.shape[0], dtype=dynamics.initial_cov.dtype)

    def root(gap: Int[Array, ""]) -> StateMatrix:
        return jax.vmap(lambda normal: make(gap, normal), 1, 1)(identity)

    return root
