"""Variational inference with natural gradients."""

from typing import ClassVar

import jax
import jax.numpy as jnp

from ssep.cubature import Cubature, GaussHermite
from ssep.likelihoods.base import Likelihood
from ssep.linalg import symmetrise
from ssep.marginals import Marginals
from ssep.rules.base import CubatureRule
from ssep.sites import SiteState
from ssep.types import Aux, Scalar, ScalarLike


class CVI(CubatureRule):
    """Conjugate-computation variational inference: a natural gradient step on the evidence lower bound, [W20] eq. (17).

    The derivatives are taken in the mean and the covariance of the cubature sum itself (half the Hessian is the
    derivative in the covariance), so that the fixed point maximises exactly the bound that `FreeEnergy` reports.
    """

    alpha: ClassVar[float] = 0.0
    cubature: Cubature = GaussHermite(20)

    def update(
        self, likelihood: Likelihood, y: Scalar, aux: Aux, cavity: Marginals, alpha: ScalarLike
    ) -> SiteState:
        """Lam = -G and b = g + Lam m, with g and G the gradient and Hessian of E[log p] in the mean."""
        gradient = jax.grad(lambda marginal: self.expected_log(likelihood, y, aux, marginal))(cavity)
        precision = -2 * symmetrise(gradient.cov)
        return SiteState(gradient.mean + jnp.sum(precision * cavity.mean, -1), precision)
