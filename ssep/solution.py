"""What inference returns."""

from typing import Any, Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Int

from ssep.checks import require
from ssep.data import Data
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.priors.base import Prior
from ssep.results import RESULTS
from ssep.rules.base import Rule
from ssep.sites import SiteState
from ssep.statespace import Belief
from ssep.types import Scalar

PriorT = TypeVar("PriorT", bound=Prior)
LikelihoodT = TypeVar("LikelihoodT", bound=Likelihood)


class Solution(eqx.Module, Generic[PriorT, LikelihoodT]):
    """A model with its data, and the posterior that inference found: everything that prediction needs.

    Attributes:
        prior: The prior of the latents.
        likelihood: The likelihood of one observation.
        rule: How the sites were refreshed.
        data: The observations.
        posterior: Marginals of the latents at each observation, under the sites.
        sites: One Gaussian factor per observation.
        energy: The objective at these sites.
        num_sweeps: How many sweeps were run, those that were taken back included.
        num_skipped: How many observations could not be refreshed in the last sweep.
        change: How far the last sweep moved the marginals, per unit of damping, in posterior standard deviations.
        result: How it ended, one of `RESULTS`.
        start: What was known of the state before these data; None for the prior alone.
        end: What the filter knows of the state at the time of the last observation.
    """

    prior: PriorT
    likelihood: LikelihoodT
    rule: Rule
    data: Data
    posterior: Marginals
    sites: SiteState
    energy: Scalar
    num_sweeps: Int[Array, ""]
    num_skipped: Int[Array, ""]
    change: Scalar
    result: RESULTS
    start: Belief | None
    end: Belief


class Fit(eqx.Module, Generic[PriorT, LikelihoodT]):
    """A solution with learned hyperparameters, and how they were found.

    Attributes:
        solution: The posterior at the best hyperparameters.
        energies: The objective at each step of the optimiser.
        hyperparameters: The (prior, likelihood) at each step, every trained array with an axis for the steps in front.
    """

    solution: Solution[PriorT, LikelihoodT]
    energies: Float[Array, " steps"]
    hyperparameters: tuple[PriorT, LikelihoodT]

    @property
    def prior(self) -> PriorT:
        """The learned prior."""
        return self.solution.prior

    @property
    def likelihood(self) -> LikelihoodT:
        """The learned likelihood."""
        return self.solution.likelihood


def as_solution(call: str, value: object) -> Solution[Any, Any]:
    """The solution that a `Solution` or a `Fit` is or holds."""
    if isinstance(value, Fit):
        return value.solution
    require(
        isinstance(value, Solution),
        f"{call}(solution)",
        "takes what `infer` or `fit` returned",
        f"a `{type(value).__name__}`",
        "Run `ssep.infer(prior, lik, rule, data)` first.",
    )
    return value  # pyright: ignore[reportReturnType]
