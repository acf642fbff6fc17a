"""Scores of whole distributions, for scikit-learn's model selection."""

from typing import Any

from sklearn.pipeline import Pipeline


def log_density(estimator: Any, X: Any, y: Any) -> float:
    """The mean log predictive density of an estimator, for `cross_val_score(..., scoring=ssep.estimators.log_density)`.

    Args:
        estimator: An estimator of this package, or a pipeline that ends with one.
        X: Times and places.
        y: Observations.
    """
    if isinstance(estimator, Pipeline):
        return log_density(estimator[-1], estimator[:-1].transform(X), y)
    return estimator.log_score(X, y)
