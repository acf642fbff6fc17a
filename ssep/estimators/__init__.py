"""Estimators for scikit-learn (`pip install "ssep[sklearn]"`), which is imported when one is first asked for."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssep.estimators.classifier import TemporalGPClassifier as TemporalGPClassifier
    from ssep.estimators.regressor import TemporalGPRegressor as TemporalGPRegressor
    from ssep.estimators.scoring import log_density as log_density

_HOMES = {"TemporalGPClassifier": "classifier", "TemporalGPRegressor": "regressor", "log_density": "scoring"}


def __getattr__(name: str) -> Any:
    """What needs scikit-learn, once it is wanted."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        importlib.import_module("sklearn")
    except ImportError as error:
        raise ImportError(f'`estimators.{name}` needs scikit-learn: pip install "ssep[sklearn]".') from error
    return getattr(importlib.import_module(f"ssep.estimators.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """All names, also those that were not imported yet."""
    return sorted(_HOMES)
