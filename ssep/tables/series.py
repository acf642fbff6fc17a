"""Data that were read from a table, and predictions as a table of the same kind."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ssep.checks import require
from ssep.data import Data
from ssep.likelihoods.base import Likelihood
from ssep.prediction import predict
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution
from ssep.tables.cadence import following
from ssep.tables.clock import Clock, Stamps
from ssep.tables.draws import to_arviz
from ssep.tables.extras import column_names
from ssep.tables.layout import Layout, Rows
from ssep.tables.summary import summarise


@dataclasses.dataclass(frozen=True)
class Series:
    """What `read` makes of a table.

    Attributes:
        data: The observations, for `infer` and `fit`.
        clock: How dates and numbers correspond.
        layout: Where in the table everything is.
    """

    data: Data
    clock: Clock
    layout: Layout

    def predict(
        self,
        solution: Solution | Fit,
        at: Any = None,
        *,
        horizon: int | None = None,
        step: Any = None,
        aux: Any = None,
        quantiles: float | Sequence[float] = (0.05, 0.5, 0.95),
        moments: bool = True,
        latents: bool = True,
        smoother: Smoother = Sequential(),
    ) -> Any:
        """Predictions as a table of the kind that was read: `mean`, `sd`, quantiles (`q0.05`, ...), `f_mean`, `f_sd`.

        Args:
            solution: What `infer` or `fit` made of `data`.
            at: Where: a table with the same column (or index) of times, and with the columns of places and extras if
                there are any; or times alone. None for the rows that were read, in their own order.
            horizon: Instead of `at`, a number of steps after the last time.
            step: Their length, in units of time or as a timedelta; by default that of the data.
            aux: Extras at new times, for those that `at` has no column for: a number, or one or several numbers per
                time for each column by name.
            quantiles: Levels of quantiles of the observations, one or several; () for none.
            moments: Whether to give means and standard deviations of the observations.
            latents: Whether to give means and standard deviations of the latents.
            smoother: How the filter and the smoother are run.
        """
        one = at is None or horizon is None
        require(one, "Series.predict(at, horizon)", "are two ways to say when", "both", "Leave one out.")
        rows = self._rows(self.future(horizon, step) if horizon is not None else at, aux)
        levels = np.atleast_1d(np.asarray(quantiles, float)).tolist()
        needed = self.layout.aux if moments or levels else None
        question = self.layout.question(self.clock, rows, needed)
        found = predict(solution, question.t, r_new=question.r, aux=question.aux, smoother=smoother)
        summary = summarise(found, levels, moments, latents)
        return self.layout.answer(rows, summary.picked(question.pick))

    def future(self, horizon: int, step: Any = None) -> Stamps:
        """The times that a horizon means.

        Args:
            horizon: The number of steps after the last time.
            step: Their length, in units of time or as a timedelta; by default that of the data.
        """
        whole = isinstance(horizon, int | np.integer) and horizon > 0
        require(whole, "Series.predict(horizon)", "must be a positive integer", horizon, "It counts steps.")
        stamps = self.layout.stamps()
        declared = self.layout.declared_following(int(horizon)) if step is None else None
        return declared or Stamps(following(self.clock, stamps.values, int(horizon), step), stamps.zone)

    def check_support(self, likelihood: Likelihood) -> None:
        """Raise, with the row of the table, unless every observation is possible under a likelihood."""
        y, extras = self.layout.observed(), self.layout.extras()

        def check(rows: slice) -> None:
            seen = ~np.isnan(y[rows])
            likelihood.check_observations(y[rows][seen], jax.tree.map(lambda extra: extra[rows][seen], extras))

        try:
            check(slice(None))
        except ValueError:
            for row, time in enumerate(self.layout.stamps().values):
                try:
                    check(slice(row, row + 1))
                except ValueError as error:
                    reason = str(error).replace("at position 0", f"in row {row}, at {time}")
                    raise ValueError(reason) from error
            raise

    def to_arviz(self, key: PRNGKeyArray, solution: Solution | Fit, *, num_samples: int = 1000) -> Any:
        """As `ssep.tables.to_arviz`, with dates as coordinates."""
        distinct, first = np.unique(self.clock.numbers(self.layout.stamps()), return_index=True)
        # The data may be in single precision: the nearest time is meant.
        middles = (distinct[1:] + distinct[:-1]) / 2
        own = first[np.searchsorted(middles, np.asarray(self.data.t, float))]
        return to_arviz(key, solution, num_samples=num_samples, times=self.layout.stamps().values[own])

    def _rows(self, at: Any, aux: Any) -> Rows:
        if at is None:
            require(aux is None, "Series.predict(aux)", "is for new times", "the data's own rows", "Leave it out.")
            return self.layout.own_rows()
        several = isinstance(at, Stamps) or (hasattr(at, "__len__") and not isinstance(at, str))
        remedy = "Put a single time into a list."
        require(several, "Series.predict(at)", "must be a table, or several times", repr(at), remedy)
        rows = None if isinstance(at, Stamps) else self.layout.rows_of(at)
        given = self._given(aux)
        if rows is None:
            count = len(at.values if isinstance(at, Stamps) else at)
            return self.layout.rows_at(at, lambda name: _column(given, name, count))
        count, column = len(rows.stamps.values), rows.column
        return rows._replace(column=lambda name: _column(given, name, count) if name in given else column(name))

    def _given(self, aux: Any) -> Mapping[str, Any]:
        names = column_names(self.layout.aux)
        if aux is None or isinstance(aux, Mapping):
            unknown = [name for name in aux or {} if name not in names]
            remedy = f"The data were read with {names or 'none'}."
            require(not unknown, "Series.predict(aux)", "must name columns of extras", unknown, remedy)
            return aux or {}
        remedy = f"Name them: aux={{{', '.join(f'{name!r}: ...' for name in names)}}}."
        require(len(names) == 1, "Series.predict(aux)", f"is for {len(names)} columns of extras", repr(aux), remedy)
        return {names[0]: aux}


def _column(given: Mapping[str, Any], name: str, count: int) -> np.ndarray:
    require(
        name in given,
        "Series.predict(aux)",
        f"must have {name!r}, which observations at new times need",
        sorted(given) or "None",
        f"Give aux={{{name!r}: ...}}; or the latents alone, with `moments=False, quantiles=()`.",
    )
    values = np.asarray(given[name], float)
    remedy = "Give a number, or one for each time."
    require(values.shape in ((), (count,)), "Series.predict(aux)", f"must have {count} numbers", values.shape, remedy)
    return np.broadcast_to(values, (count,))
