"""Statistically linearised expectation propagation."""

import jax
import jax.numpy as jnp

from ssep.cubature import Cubature, GaussHermite
from ssep.likelihoods.base import Likelihood, require_moments
from ssep.linalg import solve_lower_transposed
from ssep.marginals import Marginals
from ssep.rules.base import CubatureRule, LinearModel, Power, check_alpha
from ssep.sites import SiteState
from ssep.types import Aux, Scalar, ScalarLike


class StatLinEP(CubatureRule):
    """Linearise by regressing the measurement on the latents under the cavity: [W20] section 3.3.

    The first sweep with alpha = 1 is the unscented (or Gauss-Hermite) Kalman filter; alpha = 0 iterates posterior
    linearisation.
    """

    alpha: Power = 1.0
    cubature: Cubature = GaussHermite(20)

    def __check_init__(self) -> None:
        """Check the power."""
        check_alpha(self, includes_zero=True)

    @property
    def definite(self) -> bool:
        """A linear model with noise is a positive semi-definite site."""
        return True

    def update(self, likelihood: Likelihood, y: Scalar, aux: Aux, cavity: Marginals, alpha: ScalarLike) -> SiteState:
        """The site of the regression y ~ N(J f + c, R); alpha only moves the distribution of the regression."""
        points = self.cubature.points(cavity)
        means, variances = (
            jnp.reshape(moment, points.weights.shape)
            for moment in jax.vmap(lambda f: likelihood.conditional_moments(f, aux))(points.f)
        )
        mean = points.expect(means)
        # In whitened coordinates the slope is E[z E[y|f]]; what it leaves unexplained is noise.
        slope = jnp.sum(points.weights[:, None] * points.z * means[:, None], 0)
        residual = means - mean - jnp.sum(points.z * slope, -1)
        noise = points.expect(variances + residual**2)
        slope = solve_lower_transposed(points.factor, slope)
        return LinearModel(slope, mean - jnp.sum(slope * cavity.mean), noise).site(y)

    def check_likelihood(self, likelihood: Likelihood) -> None:
        """The rule needs conditional moments."""
        require_moments(likelihood, type(self).__name__)
