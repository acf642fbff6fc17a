"""Statistically linearised expectation propagation."""

import jax.numpy as jnp

from ssep.cubature import Cubature, GaussHermite
from ssep.likelihoods.base import Likelihood, require_moments
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
        found = likelihood.regression(cavity, aux, self.cubature)
        return LinearModel(found.slope, found.mean - jnp.sum(found.slope * cavity.mean), found.noise).site(y)

    def check_likelihood(self, likelihood: Likelihood) -> None:
        """The rule needs conditional moments."""
        require_moments(likelihood, type(self).__name__)
