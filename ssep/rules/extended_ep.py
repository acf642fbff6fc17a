"""Extended expectation propagation."""

import jax
import jax.numpy as jnp

from ssep.likelihoods.base import Likelihood, require_moments
from ssep.likelihoods.gaussian import log_normal, log_normal_power
from ssep.marginals import Marginals
from ssep.rules.base import LinearModel, Power, Rule, check_alpha
from ssep.sites import SiteState
from ssep.types import Aux, Scalar, ScalarLike


class ExtendedEP(Rule):
    """Linearise the measurement model by its derivatives at the cavity mean: [W20] section 3.2.

    The first sweep with alpha = 1 is the extended Kalman filter; alpha = 0 iterates the extended Kalman smoother.
    """

    alpha: Power = 1.0

    def __check_init__(self) -> None:
        """Check the power."""
        check_alpha(self, includes_zero=True)

    @property
    def definite(self) -> bool:
        """A linear model with noise is a positive semi-definite site."""
        return True

    def update(self, likelihood: Likelihood, y: Scalar, aux: Aux, cavity: Marginals, alpha: ScalarLike) -> SiteState:
        """The site of the linearised model; alpha only moves the point of linearisation."""
        return _linearise(likelihood, aux, cavity).site(y)

    def log_expected_power(
        self, likelihood: Likelihood, y: Scalar, aux: Aux, marginal: Marginals, alpha: ScalarLike
    ) -> Scalar:
        """The logarithm of E[p(y|f)^alpha] of the linearised model."""
        model = _linearise(likelihood, aux, marginal)
        return log_normal_power(y, *_predict(model, marginal), model.noise, alpha)

    def expected_log(self, likelihood: Likelihood, y: Scalar, aux: Aux, marginal: Marginals) -> Scalar:
        """E[log p(y|f)] of the linearised model."""
        model = _linearise(likelihood, aux, marginal)
        mean, spread = _predict(model, marginal)
        return log_normal(y, mean, model.noise) - spread / (2 * model.noise)

    def check_likelihood(self, likelihood: Likelihood) -> None:
        """The rule needs a measurement model."""
        require_moments(likelihood, type(self).__name__)


def _linearise(likelihood: Likelihood, aux: Aux, marginal: Marginals) -> LinearModel:
    zero = jnp.zeros((), marginal.mean.dtype)

    def measurement(f, sigma):
        return jnp.reshape(likelihood.measurement(f, sigma, aux), ())

    value, (slope, scale) = jax.value_and_grad(measurement, argnums=(0, 1))(marginal.mean, zero)
    # A saturated likelihood has no noise left; a floor whose powers do not overflow keeps energy and gradient finite.
    noise = jnp.maximum(scale**2, float(jnp.finfo(scale.dtype).tiny) ** 0.25)
    return LinearModel(slope, value - jnp.sum(slope * marginal.mean), noise)


def _predict(model: LinearModel, marginal: Marginals) -> tuple[Scalar, Scalar]:
    spread = jnp.sum(model.slope[:, None] * marginal.cov * model.slope)
    return jnp.sum(model.slope * marginal.mean) + model.intercept, spread
