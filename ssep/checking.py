"""How good a model is: on new data, on each observation left out, and against exact importance weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ssep.checks import is_concrete, require
from ssep.cubature import finest_gauss_hermite
from ssep.data import Data
from ssep.likelihoods.base import as_scalar
from ssep.marginals import Marginals
from ssep.prediction import log_predictive
from ssep.sampling import check_definite, in_batches, posterior_paths
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.types import Scalar
from ssep.unseen import latents_left_out, latents_of_new


def nlpd(solution: Solution | Fit, data: Data, *, smoother: Smoother = Sequential()) -> Scalar:
    """The negative log predictive density of new data, averaged over the observations that are there.

    Args:
        solution: What `infer` or `fit` returned.
        data: Observations that it has not seen, with their own `aux`.
        smoother: How the filter and the smoother are run.
    """
    solved = as_solution("nlpd", solution)
    marginals = latents_of_new("nlpd", solved, data, smoother)
    density = _log_predictive(solved.likelihood, data.observations, marginals)
    return -jnp.sum(jnp.where(data.mask, density, 0)) / jnp.sum(data.mask)


class LeaveOneOut(eqx.Module):
    """Log predictive densities of each observation given all others.

    Attributes:
        pointwise: One per observation; NaN where one is missing.
        mask: Which observations are there.
    """

    pointwise: Float[Array, "*obs"]
    mask: Bool[Array, "*obs"]

    @property
    def total(self) -> Scalar:
        """Their sum over the observations that are there: the larger, the better the model."""
        return jnp.sum(jnp.where(self.mask, self.pointwise, 0))

    @property
    def standard_error(self) -> Scalar:
        """The standard error of the sum."""
        count = jnp.sum(self.mask)
        deviation = jnp.where(self.mask, self.pointwise - self.total / count, 0)
        return jnp.sqrt(count / jnp.maximum(count - 1, 1) * jnp.sum(deviation**2))


def leave_one_out(solution: Solution | Fit) -> LeaveOneOut:
    """Score each observation under its cavity, which is the posterior without its site: no refit, no sweep.

    Exact for a Gaussian likelihood; otherwise the other sites stay as they are, though they would move a little.
    """
    solved = as_solution("leave_one_out", solution)
    cavity = latents_left_out(solved)
    return LeaveOneOut(_log_predictive(solved.likelihood, solved.data.observations, cavity), solved.data.mask)


_log_predictive = eqx.filter_jit(log_predictive)


class Importance(eqx.Module):
    """The approximate posterior as an importance distribution for the exact one.

    Attributes:
        paths: Draws of the latents of each observation from the approximate posterior; of a prior with inducing places,
            of the part that these resolve.
        log_weights: Unnormalised log weights, likelihood over sites, one per path.
        log_evidence: The corrected log marginal likelihood; exp of it is unbiased.
        effective_sample_size: How many independent exact draws the paths are worth.
        pareto_k: The tail index of the weights (below 0.7 is good); None unless ArviZ (`arviz-stats`) is installed.
    """

    paths: Float[Array, "sample *obs latent"]
    log_weights: Float[Array, " sample"]
    log_evidence: Scalar
    effective_sample_size: Scalar
    pareto_k: float | None = eqx.field(static=True)

    @property
    def weights(self) -> Float[Array, " sample"]:
        """Normalised weights."""
        return jax.nn.softmax(self.log_weights)

    @property
    def posterior(self) -> Marginals:
        """Corrected means and covariances of what the paths draw, for each observation."""
        mean = jnp.einsum("s,s...d->...d", self.weights, self.paths)
        centred = self.paths - mean
        return Marginals(mean, jnp.einsum("s,s...i,s...j->...ij", self.weights, centred, centred))


def importance_correct(
    key: PRNGKeyArray, solution: Solution | Fit, num_samples: int = 1000, *, smoother: Smoother = Sequential()
) -> Importance:
    """Draw paths from the approximate posterior and weight them by likelihood over sites.

    Args:
        key: A JAX random key.
        solution: What `infer` or `fit` returned.
        num_samples: The number of paths.
        smoother: How the filter and the smoother are run.
    """
    solved = as_solution("importance_correct", solution)
    whole = isinstance(num_samples, int | np.integer) and num_samples > 1
    require(whole, "importance_correct(num_samples)", "must be an integer above 1", num_samples, "Take a thousand.")
    check_definite("importance_correct", solved.sites)
    paths, log_weights, log_normaliser = _weigh(key, num_samples, solved, smoother)
    weights = jax.nn.softmax(log_weights)
    return Importance(
        paths=paths,
        log_weights=log_weights,
        log_evidence=log_normaliser + logsumexp(log_weights) - jnp.log(num_samples),
        effective_sample_size=1 / jnp.sum(weights**2),
        pareto_k=_pareto_k(np.asarray(log_weights)) if is_concrete(log_weights) else None,
    )


@eqx.filter_jit
def _weigh(key, count, solved, smoother):
    state_space = solved.prior.discretise(solved.data, solved.start)
    view = state_space.view
    filtered = smoother.filter(state_space, solved.sites)
    cubature = finest_gauss_hermite(solved.likelihood.node_dims(view.num_latents))

    def log_ratio(y, aux, f, site, unresolved):
        log_site = jnp.sum(site.linear * f) - jnp.sum(f[:, None] * site.precision * f) / 2
        if unresolved is None:
            return as_scalar(solved.likelihood, solved.likelihood.log_prob(y, f, aux)) - log_site
        return solved.likelihood.predictive_log_prob(y, Marginals(f, jnp.diag(unresolved)), aux, cubature) - log_site

    def weigh(path):
        f = view.with_means(path)
        return f, jnp.sum(solved.data.observations.map(log_ratio, f, solved.sites, view.unresolved))

    draw = posterior_paths(smoother, filtered, view.centre(solved.sites)[0])
    each = (solved.data.t.shape[0] + 1) * filtered.closing.mean.shape[0]
    paths, log_weights = in_batches(key, count, each, draw, weigh)
    return paths, log_weights, filtered.log_normaliser


def _pareto_k(log_weights: np.ndarray) -> float | None:
    try:
        from arviz_stats.base.array import array_stats
    except ImportError:
        return None
    if np.ptp(log_weights) < 1e-6:
        return -np.inf  # equal weights have no tail
    # ArviZ takes log likelihoods of observations to leave out: the weights with the opposite sign.
    return float(array_stats.psislw(-log_weights)[1])
