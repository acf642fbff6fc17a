"""What a likelihood is: `log_prob`, and what follows from it."""

import abc
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ssep.checks import require
from ssep.constraints import check_fields
from ssep.cubature import Cubature, Dense, GaussHermite, Points
from ssep.linalg import congruence_lower_inverse, solve_lower_transposed
from ssep.marginals import Marginals
from ssep.types import Aux, LatentMatrix, Latents, Scalar, ScalarLike

_NOISE_RULE = GaussHermite(20)


class Tilted(eqx.Module):
    """log E[p(y|f)^alpha] under a Gaussian of f, with its gradient and Hessian in the Gaussian's mean."""

    log_normaliser: Scalar
    gradient: Latents
    hessian: LatentMatrix


class Regression(eqx.Module):
    """The best linear prediction of y from the latents under a Gaussian: y ~ N(mean + slope'(f - E[f]), noise)."""

    mean: Scalar
    slope: Latents
    noise: Scalar


class Likelihood(eqx.Module):
    """The distribution of one observation `y` (a number) given its latents `f` (a vector).

    A new likelihood is a subclass with `log_prob`; that serves `PowerEP` and `CVI`. The linearised rules need one of
    `conditional_moments` and `measurement`. `tilted` and `expected_log_prob` use cubature unless a subclass knows a
    closed form. Declare `num_latents` to have it checked against the prior.
    """

    num_latents: ClassVar[int | None] = None
    discrete: ClassVar[bool] = False
    """Whether all observations are integers."""

    def __check_init__(self) -> None:
        """Check the declared constraints."""
        check_fields(self)

    @abc.abstractmethod
    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density (or mass) of y given the latents."""

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]; from `measurement` unless overridden."""
        noise = _NOISE_RULE.points(Marginals(jnp.zeros(1, f.dtype), jnp.eye(1, dtype=f.dtype)))
        values = noise.evaluate(lambda sigma: self.measurement(f, sigma[0], aux))
        mean = noise.expect(values)
        return mean, noise.expect((values - mean) ** 2)

    def measurement(self, f: Latents, sigma: Scalar, aux: Aux) -> Scalar:
        """h(f, sigma) with sigma standard normal: E[y|f] + sqrt(Var[y|f]) sigma unless overridden."""
        mean, variance = self.conditional_moments(f, aux)
        # A variance that underflows has no scale, and must not have an infinite slope either.
        positive = variance > 0
        return mean + jnp.where(positive, jnp.sqrt(jnp.where(positive, variance, 1)), 0) * sigma

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """Log E[p^alpha] and its derivatives, from the moments of the tilted distribution in log space."""
        return tilted_by_cubature(self, y, marginal, alpha, aux, cubature)

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """E[log p(y|f)]."""
        points = cubature.points(marginal)
        return points.expect(self._log_prob_at(y, points, aux))

    def regression(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> Regression:
        """What `StatLinEP` makes of the likelihood; by cubature unless overridden."""
        points = cubature.points(marginal)
        means, variances = (
            jnp.reshape(moment, points.weights.shape)
            for moment in jax.vmap(lambda f: self.conditional_moments(f, aux))(points.f)
        )
        mean = points.expect(means)
        # In whitened coordinates the slope is E[z E[y|f]]; what it leaves unexplained is noise.
        slope = jnp.sum(points.weights[:, None] * points.z * means[:, None], 0)
        residual = means - mean - jnp.sum(points.z * slope, -1)
        return Regression(mean, solve_lower_transposed(points.factor, slope), points.expect(variances + residual**2))

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents; from `measurement` unless overridden."""
        require(
            type(self).measurement is not Likelihood.measurement,
            f"{type(self).__name__}.sample(key, f, aux)",
            "is needed to draw observations",
            "a likelihood without it",
            "Write the method; paths of the latents need no likelihood.",
        )
        return self.measurement(f, jax.random.normal(key, (), f.dtype), aux)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents; needed for quantiles only."""
        require(
            False,
            f"{type(self).__name__}.cdf(y, f, aux)",
            "is needed for quantiles of the observations",
            "a likelihood without it",
            "Write the method, or take quantiles of `ssep.sample(...).y`.",
        )
        return y

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """The log density of y with the latents integrated out; by cubature unless overridden.

        One latent gets many nodes, for likelihoods much narrower than what is known of it.
        """
        points = (Dense() if marginal.mean.shape[0] == 1 else cubature).points(marginal)
        return logsumexp(self._log_prob_at(y, points, aux), b=points.weights)

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """E[y] and Var[y] with the latents integrated out; by cubature unless overridden."""
        points = cubature.points(marginal)
        means, variances = (
            jnp.reshape(moment, points.weights.shape)
            for moment in jax.vmap(lambda f: self.conditional_moments(f, aux))(points.f)
        )
        mean = points.expect(means)
        return mean, points.expect(variances + (means - mean) ** 2)

    def predictive_cdf(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """P(observation <= y) with the latents integrated out; by cubature unless overridden."""
        points = cubature.points(marginal)
        return points.expect(points.evaluate(lambda f: self.cdf(y, f, aux)))

    def predictive_cdf_ends(
        self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature
    ) -> tuple[Scalar, Scalar]:
        """P(observation < y) and P(observation <= y): they differ where y has a probability of its own."""
        after = self.predictive_cdf(y, marginal, aux, cubature)
        discrete = self.is_discrete(aux)
        if discrete is False:
            return after, after
        return jnp.where(discrete, self.predictive_cdf(y - 1, marginal, aux, cubature), after), after

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Raise unless the observed values lie in the support; called with known values only."""

    def check_extras(self, aux: Aux) -> None:
        """Raise unless the extras of observations to come are possible; NaN is unknown, and no mistake."""

    def check_moments(self) -> None:
        """Raise unless the conditional moments exist for the parameters' known values."""

    def check_predictive_moments(self, call: str) -> None:
        """Raise unless observations have a mean and a variance, given the latents or with them integrated out."""
        if type(self).predictive_moments is Likelihood.predictive_moments:
            require_moments(self, call)
        else:
            self.check_moments()

    def is_discrete(self, aux: Aux) -> bool | Bool[Array, ""]:
        """Whether an observation with these extras is an integer: `discrete`, unless overridden."""
        return self.discrete

    def node_dims(self, count: int) -> int:
        """For how many of so many latents nodes are needed: all, unless overridden."""
        return count

    def stand_in(self, aux: Aux) -> tuple[float, Aux]:
        """A possible observation and its extras, for `Outputs` to compute with where one is of another likelihood.

        One, and ones for all extras, unless overridden.
        """
        return 1.0, jax.tree.map(lambda extra: 1.0, aux)

    def _log_prob_at(self, y: Scalar, points: Points, aux: Aux) -> Float[Array, " points"]:
        return points.evaluate(lambda f: as_scalar(self, self.log_prob(y, f, aux)))


def tilted_by_cubature(
    likelihood: Likelihood, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature
) -> Tilted:
    """The general case of `Likelihood.tilted`, for any power."""

    def log_power(f: Latents) -> Scalar:
        return jnp.multiply(alpha, as_scalar(likelihood, likelihood.log_prob(y, f, aux)))

    points, log_ratio = cubature.around(marginal, log_power)
    log_normaliser, posterior = normalise(points.evaluate(log_power) + log_ratio, points.weights)
    # Mean and covariance of z under the tilted distribution; z is standard normal under the Gaussian itself.
    mean = jnp.sum(posterior[:, None] * points.z, 0)
    centred = points.z - mean
    cov = jnp.sum(posterior[:, None, None] * centred[:, :, None] * centred[:, None, :], 0)
    return tilted_from_moments(log_normaliser, mean, cov, points.factor)


def normalise(
    log_values: Float[Array, " points"], weights: Float[Array, " points"]
) -> tuple[Scalar, Float[Array, " points"]]:
    """The logarithm of a weighted sum of exponentials, and the share of each in it."""
    # Negative weights (Unscented5 beyond four latents) can outweigh the others; without them the sum is positive.
    _, sign = logsumexp(log_values, b=weights, return_sign=True)
    weights = jnp.where(sign > 0, weights, jnp.maximum(weights, 0))
    log_normaliser = logsumexp(log_values, b=weights)
    return log_normaliser, weights * jnp.exp(log_values - log_normaliser)


def tilted_from_moments(log_normaliser: Scalar, mean: Latents, cov: LatentMatrix, factor: LatentMatrix) -> Tilted:
    """From the mean and covariance of the whitened latents under the tilted distribution."""
    hessian = congruence_lower_inverse(factor, cov - jnp.eye(mean.shape[0], dtype=mean.dtype))
    return Tilted(log_normaliser, solve_lower_transposed(factor, mean), hessian)


def tilted_by_derivatives(log_normaliser: Callable[[Scalar], Scalar], marginal: Marginals) -> Tilted:
    """For one latent and a log normaliser in closed form, as a function of the mean."""
    slope = jax.grad(log_normaliser)
    mean = marginal.mean[0]
    return Tilted(log_normaliser(mean), slope(mean)[None], jax.grad(slope)(mean)[None, None])


def closed_at_one(
    closed: Tilted,
    likelihood: Likelihood,
    y: Scalar,
    marginal: Marginals,
    alpha: ScalarLike,
    aux: Aux,
    cubature: Cubature,
) -> Tilted:
    """A closed form that holds for alpha = 1, and cubature for other powers."""
    if isinstance(alpha, float | int):
        return closed if alpha == 1 else tilted_by_cubature(likelihood, y, marginal, alpha, aux, cubature)
    general = tilted_by_cubature(likelihood, y, marginal, alpha, aux, cubature)
    return jax.tree.map(lambda exact, approximate: jnp.where(alpha == 1, exact, approximate), closed, general)


def as_scalar(likelihood: Likelihood, value: Array) -> Scalar:
    """Accept one number of any shape from a user's `log_prob`."""
    require(
        jnp.size(value) == 1,
        f"{type(likelihood).__name__}.log_prob(y, f, aux)",
        "must return one number",
        f"shape {jnp.shape(value)}",
        "f has shape (latents,): index it, or sum over it.",
    )
    return jnp.reshape(value, ())


def require_moments(likelihood: Likelihood, rule: str) -> None:
    """Raise unless the likelihood has what the linearised rules need."""
    name = type(likelihood).__name__
    has_moments = type(likelihood).conditional_moments is not Likelihood.conditional_moments
    has_measurement = type(likelihood).measurement is not Likelihood.measurement
    require(
        has_moments or has_measurement,
        rule,
        "needs `conditional_moments(f, aux)` or `measurement(f, sigma, aux)` from its likelihood",
        f"`{name}`, which has neither",
        f"Add one to `{name}`, or use `PowerEP` or `CVI`.",
    )
    likelihood.check_moments()
