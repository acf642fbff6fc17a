"""What a rule is: it turns one observation and one cavity into one site."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.checks import in_unit_interval, require
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.types import Aux, Latents, Scalar, ScalarLike

Power = int | float | Float[Array, ""]


class Rule(eqx.Module):
    """A way to approximate one likelihood term by a Gaussian site.

    `alpha` is the fraction of the old site that the cavity leaves out. A rule never sees time.
    """

    alpha: eqx.AbstractVar[Power]

    @property
    def first_alpha(self) -> Power:
        """The power of the first pass, in which there is no site to leave out yet."""
        return 1.0

    @property
    def definite(self) -> bool:
        """Whether all sites are positive semi-definite whatever the likelihood, so that no policy is needed."""
        return False

    @abc.abstractmethod
    def update(self, likelihood: Likelihood, y: Scalar, aux: Aux, cavity: Marginals, alpha: ScalarLike) -> SiteState:
        """The new site of one observation."""

    @abc.abstractmethod
    def log_expected_power(
        self, likelihood: Likelihood, y: Scalar, aux: Aux, marginal: Marginals, alpha: ScalarLike
    ) -> Scalar:
        """The logarithm of E[p(y|f)^alpha], with this rule's idea of p."""

    @abc.abstractmethod
    def expected_log(self, likelihood: Likelihood, y: Scalar, aux: Aux, marginal: Marginals) -> Scalar:
        """E[log p(y|f)], with this rule's idea of p."""

    def check_likelihood(self, likelihood: Likelihood) -> None:
        """Raise if the likelihood lacks what the rule needs."""


class CubatureRule(Rule):
    """A rule whose expectations are those of the likelihood itself, by cubature or in closed form."""

    cubature: eqx.AbstractVar[Cubature]

    def __check_init__(self) -> None:
        """Check the cubature."""
        require_cubature(type(self).__name__, self.cubature)

    def log_expected_power(
        self, likelihood: Likelihood, y: Scalar, aux: Aux, marginal: Marginals, alpha: ScalarLike
    ) -> Scalar:
        """The logarithm of E[p(y|f)^alpha]."""
        return likelihood.tilted(y, marginal, alpha, aux, self.cubature).log_normaliser

    def expected_log(self, likelihood: Likelihood, y: Scalar, aux: Aux, marginal: Marginals) -> Scalar:
        """E[log p(y|f)]."""
        return likelihood.expected_log_prob(y, marginal, aux, self.cubature)


class LinearModel(eqx.Module):
    """y ~ N(slope'f + intercept, noise): what the linearised rules make of a likelihood."""

    slope: Latents
    intercept: Scalar
    noise: Scalar

    def site(self, y: Scalar) -> SiteState:
        """The site that this model is, whatever the power: b = J'(y - c)/R and Lam = J'J/R."""
        # No noise is left where a likelihood saturates to rounding, or a rule with negative weights fails: no site.
        usable = self.noise > 0
        scaled = jnp.where(usable, self.slope / jnp.where(usable, self.noise, 1), 0)
        return SiteState(scaled * (y - self.intercept), scaled[:, None] * self.slope)


def require_cubature(name: str, cubature: Any) -> None:
    """Raise unless this is a cubature rule."""
    require(
        isinstance(cubature, Cubature),
        f"{name}(cubature)",
        "must be a cubature rule",
        repr(cubature),
        "Use `GaussHermite(20)`, `Adaptive(20)`, `Unscented3()` or `Unscented5()`.",
    )


def check_alpha(rule: Rule, includes_zero: bool) -> None:
    """Raise if a known alpha is out of range."""
    remedy = "For 0 the posterior, for 1 the full cavity is used." if includes_zero else "For the limit use `ssep.CVI`."
    interval = "[0, 1]" if includes_zero else "(0, 1]"
    valid = in_unit_interval(rule.alpha, includes_zero)
    require(valid, f"{type(rule).__name__}(alpha)", f"must lie in {interval}", rule.alpha, remedy)
