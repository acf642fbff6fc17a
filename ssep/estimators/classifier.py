"""Classification: labels in time."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ssep.checks import require
from ssep.estimators.base import TemporalGP
from ssep.estimators.models import as_likelihood, refuse_dates


class TemporalGPClassifier(ClassifierMixin, TemporalGP):
    """Classification by time, or by time and place.

    The first column of X is time, in any order and with repetitions; further columns are places. `score` is the
    accuracy, as for all classifiers of scikit-learn; `log_score` is minus the mean log loss.

    Args:
        kernel: As for `TemporalGPRegressor`.
        likelihood: A likelihood of labels, numbered from 0 in the order of `classes_`, or its text. If absent,
            `Bernoulli()` for two classes, and `Categorical` with a latent for each class for more.
        rule: As for `TemporalGPRegressor`.
        spatial_kernel: As for `TemporalGPRegressor`.
        num_inducing: As for `TemporalGPRegressor`.
        mean: As for `TemporalGPRegressor`.
        num_steps: As for `TemporalGPRegressor`.
        optimiser: As for `TemporalGPRegressor`.
        objective: As for `TemporalGPRegressor`.

    Attributes:
        classes_: The labels, sorted.
        solution_: The posterior, as for `TemporalGPRegressor`, whose labels are numbers.
        prior_: The learned prior.
        likelihood_: The learned likelihood.
        energies_: The objective at each step of the optimiser.
        n_features_in_: The number of columns of X.
    """

    def fit(self, X: Any, y: Any) -> "TemporalGPClassifier":
        """Learn the model.

        Args:
            X: Times and places, shape (n, 1) or (n, 1 + R), in any order.
            y: Labels of any kind, shape (n,).
        """
        refuse_dates(X)
        rows, labels = map(np.asarray, validate_data(self, X, y, dtype=np.float64))
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        count = len(self.classes_)
        got = f"{count} class"
        require(count > 1, "TemporalGPClassifier.fit(y)", "must have two classes or more", got, "Check the labels.")
        usual = "bernoulli" if count == 2 else f"categorical({count})"
        numbers = self._encode(labels)
        likelihood = as_likelihood(usual if self.likelihood is None else self.likelihood, numbers)
        got, remedy = type(likelihood).__name__, f"Leave it out: {usual} is the default here."
        requirement = "must be one of labels, which have probabilities"
        require(likelihood.discrete, "TemporalGPClassifier(likelihood)", requirement, got, remedy)
        self._learn(rows, numbers, likelihood)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (n, number of classes).

        Args:
            X: Times and places, in any order.
        """
        prediction = self._at(X)
        shape = prediction.f_mean.shape[:-1]
        columns = [prediction.log_prob(np.full(shape, float(k))) for k in range(len(self.classes_))]
        return np.exp(np.stack([np.asarray(column).reshape(-1) for column in columns], 1))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable classes.

        Args:
            X: Times and places, in any order.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, 1)]

    def _encode(self, y: np.ndarray) -> np.ndarray:
        known = np.isin(y, self.classes_)
        got = "" if known.all() else repr(y[~known].tolist()[0])
        remedy = "Fit to data with all classes."
        require(known.all(), f"{type(self).__name__}", "knows only the classes it was fitted to", got, remedy)
        return np.searchsorted(self.classes_, y).astype(float)
