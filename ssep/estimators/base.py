"""What the estimators share: one model, from a table to a posterior."""

import abc
from typing import Any

import numpy as np
import optax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from ssep.checks import require
from ssep.energies import Energy, FilterEnergy
from ssep.estimators.models import (
    Kernels,
    as_data,
    as_likelihood,
    as_rule,
    make_prior,
    refuse_dates,
    spread_places,
    starts_for,
)
from ssep.inference import infer
from ssep.learning import fit
from ssep.likelihoods import Likelihood
from ssep.prediction import Prediction, predict
from ssep.priors import Prior
from ssep.rules import Rule
from ssep.solution import Solution


class TemporalGP(BaseEstimator):
    """A Gaussian process in time, the first column of X, and in space, the others, if there are any."""

    def __init__(
        self,
        kernel: Kernels = "matern52",
        likelihood: str | Likelihood | None = None,
        rule: str | Rule = "power_ep(alpha=0.5)",
        *,
        spatial_kernel: Kernels = "matern52",
        num_inducing: int = 30,
        mean: Any = None,
        num_steps: int = 100,
        optimiser: optax.GradientTransformation | None = None,
        objective: Energy | None = None,
    ):
        self.kernel = kernel
        self.likelihood = likelihood
        self.rule = rule
        self.spatial_kernel = spatial_kernel
        self.num_inducing = num_inducing
        self.mean = mean
        self.num_steps = num_steps
        self.optimiser = optimiser
        self.objective = objective

    def _learn(self, X: np.ndarray, y: np.ndarray, likelihood: Any) -> None:
        """Fit the model to checked arrays."""
        name = type(self).__name__
        whole = isinstance(self.num_steps, int | np.integer) and self.num_steps >= 0
        requirement, remedy = "must be a non-negative integer", "0 learns nothing."
        require(whole, f"{name}(num_steps)", requirement, self.num_steps, remedy)
        whole = isinstance(self.num_inducing, int | np.integer) and self.num_inducing >= 1
        require(whole, f"{name}(num_inducing)", "must be a positive integer", self.num_inducing, "30 is the default.")
        times, places = X[:, 0], X[:, 1:]
        lik, rule = as_likelihood(likelihood, y), as_rule(self.rule)
        inducing = spread_places(places, self.num_inducing) if places.shape[1] else None
        starts = starts_for(lik, self.kernel, y)
        prior = make_prior(self.kernel, self.spatial_kernel, self.mean, times, places, inducing, starts)
        data = as_data(times, places, y, at_stations=inducing is None)
        objective = FilterEnergy() if self.objective is None else self.objective
        self.energies_ = np.zeros(0)
        if self.num_steps == 0:
            self.solution_: Solution = infer(prior, lik, rule, data, objective=objective)
            return
        learned = fit(
            prior,
            lik,
            rule,
            data,
            optimiser=optax.adam(0.1) if self.optimiser is None else self.optimiser,
            num_steps=int(self.num_steps),
            trainable=None if inducing is None else _all_but_places,
            objective=objective,
        )
        self.solution_ = learned.solution
        self.energies_ = np.asarray(learned.energies)

    def _at(self, X: Any) -> Prediction:
        """The predictive distribution at rows of X: arrays with an axis for the rows, and one of one place if any."""
        check_is_fitted(self)
        refuse_dates(X)
        rows = np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        return predict(self.solution_, rows[:, 0], r_new=rows[:, None, 1:] if rows.shape[1] > 1 else None)

    @abc.abstractmethod
    def fit(self, X: Any, y: Any) -> "TemporalGP":
        """Learn the model from rows of times and places, in any order, and what was observed there."""

    def log_score(self, X: Any, y: Any) -> float:
        """The mean log predictive density (or mass) of observations: the larger, the better the whole distribution."""
        prediction = self._at(X)
        observed = self._encode(np.asarray(column_or_1d(y)))
        check_consistent_length(X, observed)
        return float(np.mean(prediction.log_prob(observed.reshape(prediction.f_mean.shape[:-1]))))

    @abc.abstractmethod
    def _encode(self, y: np.ndarray) -> np.ndarray:
        """Observations as numbers."""

    @property
    def prior_(self) -> Prior:
        """The learned prior."""
        return self.solution_.prior

    @property
    def likelihood_(self) -> Likelihood:
        """The learned likelihood."""
        return self.solution_.likelihood


def _all_but_places(prior: Any, likelihood: Any) -> Any:
    return [(term.temporal, term.spatial, term.mean) for term in prior.terms], likelihood
