"""Regression: numbers and counts in time."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from ssep.checks import require
from ssep.estimators.base import TemporalGP
from ssep.estimators.models import refuse_dates


class TemporalGPRegressor(RegressorMixin, TemporalGP):
    """Regression on time, or on time and place, with any likelihood of numbers or counts.

    The first column of X is time, in any order and with repetitions; further columns are places. `score` is the
    coefficient of determination of the predicted means, as for all regressors of scikit-learn; `log_score` scores the
    whole predictive distribution.

    Args:
        kernel: A kernel in time, or its text as for `ssep.expressions.parse_kernel`; a tuple has one for each latent.
            Numbers that a text leaves open start at the size of the data.
        likelihood: A likelihood, or its text as for `ssep.expressions.parse_likelihood`; Gaussian if absent.
        rule: How sites are refreshed, or its text as for `ssep.expressions.parse_rule`.
        spatial_kernel: A kernel in space, if X has more columns than one.
        num_inducing: With more distinct places than so many, as many of them carry the field.
        mean: That of the latents: a number or a function of time (and place), or one per latent. If absent, a number
            that is learned and starts at the level of the data.
        num_steps: Steps of the optimiser; 0 learns nothing.
        optimiser: An optax optimiser; Adam with steps of 0.1 if absent.
        objective: The energy that is minimised; `ssep.FilterEnergy()` if absent.

    Attributes:
        solution_: The posterior, for `ssep.predict`, `ssep.sample`, `ssep.components` and all others.
        prior_: The learned prior.
        likelihood_: The learned likelihood.
        energies_: The objective at each step of the optimiser.
        n_features_in_: The number of columns of X.
    """

    def fit(self, X: Any, y: Any) -> "TemporalGPRegressor":
        """Learn the model.

        Args:
            X: Times and places, shape (n, 1) or (n, 1 + R), in any order.
            y: Observations, shape (n,).
        """
        refuse_dates(X)
        rows, values = map(np.asarray, validate_data(self, X, y, dtype=np.float64, y_numeric=True))
        self._learn(rows, self._encode(values), "gaussian" if self.likelihood is None else self.likelihood)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Means of observations, and their standard deviations if asked for: those of new observations, with noise.

        Args:
            X: Times and places, in any order.
            return_std: Whether to return a pair of both.
        """
        prediction = self._at(X)
        mean = np.asarray(prediction.y_mean).reshape(-1)
        return (mean, np.sqrt(np.asarray(prediction.y_var)).reshape(-1)) if return_std else mean

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles of observations, shape (n, number of quantiles).

        Args:
            X: Times and places, in any order.
            quantiles: Fractions between 0 and 1.
        """
        levels = np.atleast_1d(np.asarray(quantiles, float))
        return np.asarray(self._at(X).quantile(levels)).reshape(len(levels), -1).T

    def _encode(self, y: np.ndarray) -> np.ndarray:
        values = y.astype(float)
        remedy = "Leave out what is missing, or use `ssep.Data`, which takes NaN."
        require(np.isfinite(values).all(), f"{type(self).__name__}", "needs finite observations", "others", remedy)
        return values
