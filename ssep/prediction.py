"""Latents and observations at new times and places."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import as_aux, as_float, is_concrete, require
from ssep.cubature import Dense, finest_gauss_hermite
from ssep.data import Observations
from ssep.likelihoods.base import Likelihood
from ssep.locations import Locations
from ssep.marginals import Marginals
from ssep.quantiles import as_levels, quantile_of
from ssep.sites import SiteState
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.timeline import look_at, merge
from ssep.types import Aux, Scalar


class Prediction(eqx.Module):
    """The predictive distribution at new times and places, of the latents f and of observations y.

    Without places all arrays begin with the number of new times; with places, with the numbers of times and of places.

    Attributes:
        t: The new times.
        r: The places, or None.
        f_mean: Means of the latents.
        f_cov: Covariances of the latents of one observation.
        f_joint_cov: Covariances of the latents of all pairs of observations, if they were asked for.
        likelihood: The likelihood of an observation there.
        aux: The extras of an observation there.
    """

    t: Float[Array, " new"]
    r: Float[Array, "*places space"] | None
    f_mean: Float[Array, "*new latent"]
    f_cov: Float[Array, "*new latent latent"]
    f_joint_cov: Float[Array, "..."] | None
    likelihood: Likelihood
    aux: Aux
    _aux_missing: bool = eqx.field(static=True)

    @property
    def f_var(self) -> Float[Array, "*new latent"]:
        """Variances of the latents."""
        return jnp.diagonal(self.f_cov, axis1=-2, axis2=-1)

    @property
    def y_mean(self) -> Float[Array, "*new"]:
        """Means of observations."""
        self.likelihood.check_predictive_moments("Prediction.y_mean")
        return _moments(self._for_observations())[0]

    @property
    def y_var(self) -> Float[Array, "*new"]:
        """Variances of observations."""
        self.likelihood.check_predictive_moments("Prediction.y_var")
        return _moments(self._for_observations())[1]

    def log_prob(self, y: Any) -> Float[Array, "*new"]:
        """Log predictive density (or mass) of each observation; NaN in y is missing and gives NaN."""
        values = as_float(y)
        require(
            values.shape == self.f_mean.shape[:-1],
            "Prediction.log_prob(y)",
            f"must have one value per time and place, shape {self.f_mean.shape[:-1]}",
            f"shape {values.shape}",
            "Predict at the times and places of y first.",
        )
        if is_concrete(values, self.aux):
            seen = ~np.isnan(np.asarray(values))
            extras = jax.tree.map(lambda extra: np.asarray(extra)[seen], self.aux)
            self.likelihood.check_observations(np.asarray(values)[seen], extras)
        return _log_prob(self._for_observations(), values)

    def quantile(self, q: Any) -> Float[Array, "*q_and_new"]:
        """Quantiles of observations: the smallest y up to which at least the fraction q lies."""
        levels = as_levels("Prediction.quantile(q)", q)
        return _quantile(self._for_observations(), levels)

    def _for_observations(self) -> "Prediction":
        require(
            not self._aux_missing,
            "predict(aux)",
            "must be given to predict observations, because the data came with it",
            "None",
            "Give `aux=` at the new times, for example the exposure; the latents need none.",
        )
        return self

    @property
    def _marginals(self) -> Marginals:
        return Marginals(self.f_mean, self.f_cov)


def predict(
    solution: Solution | Fit,
    t_new: Any,
    *,
    r_new: Any = None,
    aux: Aux = None,
    joint: bool = False,
    smoother: Smoother = Sequential(),
) -> Prediction:
    """The predictive distribution at new times: between, before or after the data, in any order.

    A second call with as many new times and places compiles nothing.

    Args:
        solution: What `infer` or `fit` returned.
        t_new: Times, shape (m,).
        r_new: Places, for a prior in space and time: shape (J, R) for the same ones at every time, (m, J, R) for others
            at each; the fixed places of the data if absent.
        aux: Extras of the observations to predict, as in `Data(aux=...)`: arrays that begin with the shape of the
            predicted observations, (m,) or (m, J).
        joint: Whether to compute covariances between all pairs as well; work and memory grow with their number squared.
        smoother: How the filter and the smoother are run.
    """
    solved = as_solution("predict", solution)
    where = look_at("predict", solved.prior, solved.data.locations, t_new, r_new)
    extras = check_aux("predict", solved.likelihood, aux, where.shape)
    marginals, joint_cov = posterior_at("predict", solved, where, smoother, joint)
    return Prediction(
        t=where.t,
        r=where.r,
        f_mean=marginals.mean,
        f_cov=marginals.cov,
        f_joint_cov=joint_cov,
        likelihood=solved.likelihood,
        aux=extras,
        _aux_missing=aux is None and bool(jax.tree.leaves(solved.data.aux)),
    )


def posterior_at(
    call: str, solved: Solution, where: Locations, smoother: Smoother, joint: bool = False
) -> tuple[Marginals, Array | None]:
    """Marginals of the latents at new times and places, and covariances of all pairs if they are asked for."""
    line = merge(call, solved, where)
    return _predict(solved.prior, solved.data.locations, solved.sites, solved.start, line, where, smoother, joint)


def check_aux(call: str, likelihood: Likelihood | None, aux: Aux, shape: tuple[int, ...]) -> Aux:
    """Extras as arrays of floats, one entry per new observation, that the likelihood can do with."""
    aux = as_aux(aux)
    for leaf in jax.tree.leaves(aux):
        require(
            np.shape(leaf)[: len(shape)] == shape,
            f"{call}(aux)",
            f"must begin with the shape of the new observations, {shape}",
            f"shape {np.shape(leaf)}",
            "Give one entry per new observation (`np.broadcast_to` helps).",
        )
    extras = jax.tree.map(as_float, aux)
    if likelihood is not None and is_concrete(extras):
        likelihood.check_extras(jax.tree.map(np.asarray, extras))
    return extras


@eqx.filter_jit
def _predict(prior, seen, sites, start, line, where, smoother, joint):
    prior = prior.anchored(seen)
    space, node_sites = line.nodes(prior, seen, sites, start)
    filtered = smoother.filter(space, node_sites)
    posterior = smoother.smooth(filtered)
    nodes = Marginals(posterior.mean[line.new], posterior.cov[line.new])
    view = prior.view(where)
    marginals = jax.vmap(view.spread)(view.steps, nodes)
    marginals = view.complete(Marginals(view.with_means(marginals.mean), marginals.cov))
    if not joint:
        return marginals, None

    # The posterior mean is linear in the sites' linear part, and its derivative there is the covariance.
    def means(linear):
        written = jax.vmap(lambda step, values: view.write(step, values[..., None])[:, 0])(view.steps, linear)
        moved = node_sites.linear.at[line.new].add(written)
        found = smoother.mean(filtered, SiteState(moved, node_sites.precision))[line.new]
        return jax.vmap(lambda step, values: view.read(step, values[:, None])[..., 0])(view.steps, found)

    joint_cov = jax.jacfwd(means)(jnp.zeros_like(marginals.mean))
    rest = prior.residual()
    if rest is None or view.unresolved is None:
        return marginals, joint_cov
    return marginals, joint_cov + rest.covariance(where)


def _for_each(prediction: Prediction, function):
    for _ in range(prediction.f_mean.ndim - 1):
        function = jax.vmap(function)
    return function(prediction._marginals, prediction.aux)


@eqx.filter_jit
def _moments(prediction: Prediction) -> tuple[Array, Array]:
    cubature = finest_gauss_hermite(prediction.likelihood.node_dims(prediction.f_mean.shape[-1]))
    return _for_each(prediction, lambda f, aux: prediction.likelihood.predictive_moments(f, aux, cubature))


@eqx.filter_jit
def _log_prob(prediction: Prediction, y: Array) -> Array:
    seen = ~jnp.isnan(y)
    observations = Observations(jnp.where(seen, y, 0), seen, prediction.aux)
    return log_predictive(prediction.likelihood, observations, prediction._marginals)


def log_predictive(lik: Likelihood, observations: Observations, marginals: Marginals) -> Float[Array, "*obs"]:
    """The log of E[p(y|f)] for every observation; NaN where one is missing."""
    cubature = finest_gauss_hermite(lik.node_dims(marginals.mean.shape[-1]))

    def log_density(y: Scalar, aux: Aux, marginal: Marginals) -> Scalar:
        return lik.predictive_log_prob(y, marginal, aux, cubature)

    return jnp.where(observations.mask, observations.map(log_density, marginals), jnp.nan)


@eqx.filter_jit
def _quantile(prediction: Prediction, q: Array) -> Array:
    lik = prediction.likelihood

    def one(level: Scalar) -> Array:
        def of_one(marginal: Marginals, aux: Aux) -> Scalar:
            discrete = lik.is_discrete(aux)
            return quantile_of(lambda y: lik.predictive_cdf(y, marginal, aux, Dense()), level, discrete)

        return _for_each(prediction, of_one)

    return jax.vmap(one)(q.ravel()).reshape(*q.shape, *prediction.f_mean.shape[:-1])
