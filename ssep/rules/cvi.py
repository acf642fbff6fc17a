"""Variational inference with natural gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ssep.cubature import Cubature, GaussHermite
from ssep.likelihoods.base import Likelihood
from ssep.linalg import symmetrise
from ssep.marginals import Marginals
from ssep.rules.base import CubatureRule, Power
from ssep.sites import SiteState
from ssep.types import Aux, Scalar, ScalarLike


class CVI(CubatureRule):
    """Conjugate-computation variational inference: [W20] section 3.5.

    A full step is a natural gradient step of length one on the evidence lower bound.

    The derivatives are taken in the mean and the covariance of the cubature sum itself (half the Hessian is the
    derivative in the covariance), so that the fixed point maximises exactly the bound that `FreeEnergy` reports.
    """

    cubature: Cubature
    alpha: Power = eqx.field(static=True)

    def __init__(self, cubature: Cubature = GaussHermite(20)):
        self.cubature = cubature
        self.alpha = 0.0

    @property
    def first_alpha(self) -> Power:
        """There is no power."""
        return self.alpha

    def update(self, likelihood: Likelihood, y: Scalar, aux: Aux, cavity: Marginals, alpha: ScalarLike) -> SiteState:
        """Lam = -G and b = g + Lam m, with g and G the gradient and Hessian of E[log p] in the mean."""
        gradient = jax.grad(lambda marginal: self.expected_log(likelihood, y, aux, marginal))(cavity)
        precision = -2 * symmetrise(gradient.cov)
        return SiteState(gradient.mean + jnp.sum(precision * cavity.mean, -1), precision)
