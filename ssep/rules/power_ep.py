"""Power expectation propagation."""

import jax.numpy as jnp

from ssep.cubature import Cubature, GaussHermite
from ssep.likelihoods.base import Likelihood
from ssep.linalg import cholesky, congruence_lower_inverse, matmul, solve_lower, solve_lower_transposed
from ssep.marginals import Marginals
from ssep.rules.base import CubatureRule, Power, check_alpha
from ssep.sites import SiteState
from ssep.types import Aux, Scalar, ScalarLike


class PowerEP(CubatureRule):
    """Match the moments of cavity times likelihood^alpha: [W20] section 3.1, in natural parameters.

    alpha = 1 is expectation propagation; for alpha -> 0 it becomes `CVI`.
    """

    alpha: Power = 1.0
    cubature: Cubature = GaussHermite(20)

    def __check_init__(self) -> None:
        """Check the power."""
        check_alpha(self, includes_zero=False)

    def update(self, likelihood: Likelihood, y: Scalar, aux: Aux, cavity: Marginals, alpha: ScalarLike) -> SiteState:
        """Lam = -inv(I + G V) G / alpha and b = inv(I + G V) g / alpha + Lam mu, via the whitened I + L'G L."""
        tilted = likelihood.tilted(y, cavity, alpha, aux, self.cubature)
        factor = cholesky(cavity.cov)
        change = matmul(factor.T, matmul(tilted.hessian, factor))
        tilted_factor = cholesky(jnp.eye(change.shape[0], dtype=change.dtype) + change)

        def divide(right):
            return solve_lower_transposed(tilted_factor, solve_lower(tilted_factor, right))

        precision = -congruence_lower_inverse(factor, divide(change)) / alpha
        pull = divide(jnp.sum(factor.T * tilted.gradient, -1))
        gradient = solve_lower_transposed(factor, pull) / alpha
        return SiteState(gradient + jnp.sum(precision * cavity.mean, -1), precision)
