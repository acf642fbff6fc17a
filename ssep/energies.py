"""Energies: approximations of the negative log marginal likelihood, to be minimised by learning."""

import abc

import equinox as eqx
import jax.numpy as jnp

from ssep.checks import in_unit_interval, require
from ssep.conditioning import condition
from ssep.cubature import Cubature
from ssep.data import Data
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.rules.base import Power, Rule, require_cubature
from ssep.rules.power_ep import PowerEP
from ssep.sites import SiteState, remove
from ssep.smoothers.base import Filtered
from ssep.types import Aux, Scalar, ScalarLike


class Energy(eqx.Module):
    """An objective at given sites.

    For a Gaussian likelihood all of them are the exact negative log evidence where the nodes resolve the latents. With
    inducing places that leave a variance, `FreeEnergy` is a bound and `PowerEPEnergy(1)` the evidence of FITC.

    The posterior is that of the part of the latents which the nodes resolve, the one that sites and cavities are about.
    """

    @property
    def reads_posterior(self) -> bool:
        """Whether it depends on the posterior; one that does not may read `filtered.found` and the view alone."""
        return True

    @abc.abstractmethod
    def __call__(
        self, likelihood: Likelihood, rule: Rule, data: Data, sites: SiteState, filtered: Filtered, posterior: Marginals
    ) -> Scalar:
        """The energy."""


class FilterEnergy(Energy):
    """-sum_k log E[p(y_k|f_k)] under the filter's predictions: [W20] appendix G.

    Several observations of one step see each other: each is scored under the prediction updated with the sites of the
    others, and the sites' own joint normaliser accounts for their dependence.

    Attributes:
        cubature: How to integrate the likelihood itself. If absent, the rule does it, and `ExtendedEP` scores its
            linearised model: a Gaussian, which has no lowest energy for labels or counts that its mean can hit.
    """

    cubature: Cubature | None = None

    def __check_init__(self) -> None:
        """Check the cubature."""
        if self.cubature is not None:
            require_cubature("FilterEnergy", self.cubature)

    @property
    def reads_posterior(self) -> bool:
        """It is about predictions."""
        return False

    def __call__(
        self, likelihood: Likelihood, rule: Rule, data: Data, sites: SiteState, filtered: Filtered, posterior: Marginals
    ) -> Scalar:
        """The energy."""
        if self.cubature is not None:
            rule = PowerEP(cubature=self.cubature)
        if data.per_step is None:
            predicted = filtered.state_space.view.complete(filtered.predicted)
            return -(_log_expected_powers(likelihood, rule, data, predicted, 1.0) + filtered.correction)
        cavity = remove(filtered.updated, sites, 1.0)
        return -(filtered.log_normaliser + _log_ratios(likelihood, rule, data, filtered, cavity, sites, 1.0))


class PowerEPEnergy(Energy):
    """-[log Z(sites) + sum_k (log E_cav p^alpha - log E_cav site^alpha) / alpha].

    Stationary in the sites at a fixed point of `PowerEP`.

    Attributes:
        alpha: The power; that of the rule if absent.
    """

    alpha: Power | None = None

    def __check_init__(self) -> None:
        """Check the power."""
        if self.alpha is not None:
            valid = in_unit_interval(self.alpha)
            require(valid, "PowerEPEnergy(alpha)", "must lie in (0, 1]", self.alpha, "For 0 use `FreeEnergy`.")

    def __call__(
        self, likelihood: Likelihood, rule: Rule, data: Data, sites: SiteState, filtered: Filtered, posterior: Marginals
    ) -> Scalar:
        """The energy."""
        alpha = rule.alpha if self.alpha is None else self.alpha
        require(
            in_unit_interval(alpha),
            "PowerEPEnergy()",
            "needs a rule with alpha above 0",
            f"{type(rule).__name__} with alpha = {alpha}",
            "Give the energy its own power, for example `PowerEPEnergy(0.5)`, or use `FreeEnergy`.",
        )
        cavity = remove(posterior, sites, alpha)
        return -(filtered.log_normaliser + _log_ratios(likelihood, rule, data, filtered, cavity, sites, alpha) / alpha)


class FreeEnergy(Energy):
    """-[log Z(sites) + sum_k E_q(log p - log site)]: the negative evidence lower bound.

    Stationary in the sites at a fixed point of `CVI`.
    """

    def __call__(
        self, likelihood: Likelihood, rule: Rule, data: Data, sites: SiteState, filtered: Filtered, posterior: Marginals
    ) -> Scalar:
        """The energy."""

        def gain(y: Scalar, aux: Aux, marginal: Marginals, complete: Marginals, site: SiteState) -> Scalar:
            second = marginal.cov + jnp.outer(marginal.mean, marginal.mean)
            log_site = jnp.sum(site.linear * marginal.mean) - jnp.sum(site.precision * second) / 2
            return rule.expected_log(likelihood, y, aux, complete) - log_site

        complete = filtered.state_space.view.complete(posterior).loosened()
        gains = data.observations.map(gain, posterior, complete, sites)
        return -(filtered.log_normaliser + jnp.sum(gains))


def _log_expected_powers(
    likelihood: Likelihood, rule: Rule, data: Data, marginals: Marginals, alpha: ScalarLike
) -> Scalar:
    def log_expected(y: Scalar, aux: Aux, marginal: Marginals) -> Scalar:
        return rule.log_expected_power(likelihood, y, aux, marginal, alpha)

    return jnp.sum(data.observations.map(log_expected, marginals.loosened()))


def _log_ratios(
    likelihood: Likelihood,
    rule: Rule,
    data: Data,
    filtered: Filtered,
    cavity: Marginals,
    sites: SiteState,
    alpha: ScalarLike,
) -> Scalar:
    """Sum of log E_cav p^alpha - log E_cav site^alpha, the former with what the nodes do not resolve."""

    def log_site(y: Scalar, aux: Aux, marginal: Marginals, site: SiteState) -> Scalar:
        return condition(marginal.mean, marginal.cov, site.linear * alpha, site.precision * alpha).log_normaliser

    log_sites = jnp.sum(data.observations.map(log_site, cavity, sites))
    complete = filtered.state_space.view.complete(cavity)
    return _log_expected_powers(likelihood, rule, data, complete, alpha) - log_sites
