"""Predictions of observations along time: one, or one for each column where columns differ."""

import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np

from ssep.plotting.columns import Columns, pick
from ssep.plotting.extras import Question
from ssep.prediction import Prediction, predict
from ssep.solution import Solution

_MOST = 12  # panels that a page can hold


class Forecast(NamedTuple):
    """The prediction of one panel, along time."""

    prediction: Prediction
    known: np.ndarray
    """Where its extras are known."""
    columns: list[int]
    """The columns of the observations that it is about."""
    name: str | None

    @property
    def discrete(self) -> bool:
        """Whether observations are integers."""
        first = jax.tree.map(lambda extra: extra[0], self.prediction.aux)
        return bool(np.all(self.prediction.likelihood.is_discrete(first)))


def forecasts(call: str, solved: Solution, asked: Question, r_new: Any, columns: Columns) -> list[Forecast]:
    """A forecast for each panel."""
    data = solved.data
    if data.r is not None:
        everywhere = predict(solved, asked.t, r_new=r_new, aux=asked.aux)
        shown = pick(call, columns, everywhere.f_mean.shape[1], _MOST)
        return [_named(_place(everywhere, column), column, _at(everywhere, column), asked) for column in shown]
    apart = _by_columns(asked, data.per_step, data.aux)
    shown = pick(call, columns, data.per_step, _MOST if apart else data.per_step or 1)
    if not apart:
        return [Forecast(predict(solved, asked.t, r_new=r_new, aux=asked.aux), asked.known, shown, None)]
    each = [jax.tree.map(lambda extra, j=column: extra[:, j], asked.aux) for column in shown]
    predictions = [predict(solved, asked.t, r_new=r_new, aux=extras) for extras in each]
    return [_named(f"column {column}", column, found, asked) for column, found in zip(shown, predictions, strict=True)]


def _by_columns(asked: Question, per_step: int | None, own: Any) -> bool:
    """Whether extras come for each column, as those of the data do; otherwise all columns are predicted alike."""
    leaves = jax.tree.leaves(asked.aux)
    same = all(np.ndim(leaf) == np.ndim(mine) for leaf, mine in zip(leaves, jax.tree.leaves(own), strict=False))
    return per_step is not None and bool(leaves) and same


def _named(name: str, column: int, prediction: Prediction, asked: Question) -> Forecast:
    known = asked.known if asked.known.ndim == 1 else asked.known[:, column]
    return Forecast(prediction, known, [column], name)


def _place(prediction: Prediction, column: int) -> str:
    """The number of a place, and where it is if it stays there."""
    if prediction.r is None or prediction.r.ndim == 3:
        return f"place {column}"
    return f"place {column}: " + ", ".join(f"{coordinate:.4g}" for coordinate in np.asarray(prediction.r)[column])


def _at(prediction: Prediction, column: int) -> Prediction:
    """The prediction at one place."""
    return dataclasses.replace(
        prediction,
        r=None,
        f_mean=prediction.f_mean[:, column],
        f_cov=prediction.f_cov[:, column],
        aux=jax.tree.map(lambda extra: extra[:, column], prediction.aux),
    )
