"""A row per time, a column per target."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ssep.data import Data
from ssep.tables.base import Table, require_column
from ssep.tables.clock import Clock, Stamps
from ssep.tables.extras import extras_at
from ssep.tables.layout import Layout, Question, Rows
from ssep.tables.summary import Summary
from ssep.types import Aux


class Wide(Layout):
    """One target, or several side by side, without places."""

    def __init__(self, table: Table, target: Any, aux: Any):
        self.table, self.target, self.aux = table, target, aux
        for name in self._targets:
            require_column("tables.read(target)", name, table.names)

    @property
    def _targets(self) -> tuple[Any, ...]:
        return self.target if isinstance(self.target, tuple) else (self.target,)

    def stamps(self) -> Stamps:
        """The times of the data's own rows."""
        return self.table.stamps()

    def observed(self) -> np.ndarray:
        """The values in the order of the rows; NaN where one is missing."""
        columns = [self.table.numbers(name) for name in self._targets]
        return np.stack(columns, 1) if isinstance(self.target, tuple) else columns[0]

    def extras(self) -> Aux:
        """The extras in the order of the rows."""
        y = self.observed()
        return extras_at(self.aux, self.table.numbers, y.shape, ~np.isnan(y))

    def data(self, clock: Clock) -> Data:
        """Rows sorted by time; those of equal times keep their order."""
        times = clock.numbers(self.stamps())
        order = np.argsort(times, kind="stable")
        return Data(times[order], self.observed()[order], aux=jax.tree.map(lambda extra: extra[order], self.extras()))

    def own_rows(self) -> Rows:
        """The data's own rows."""
        return _rows(self.table)

    def rows_of(self, frame: Any) -> Rows | None:
        """The rows of another frame of the same kind."""
        table = self.table.like(frame)
        return None if table is None else _rows(table)

    def rows_at(self, times: Any, column: Callable[[Any], np.ndarray]) -> Rows:
        """One row per time."""
        stamps = times if isinstance(times, Stamps) else self.table.stamps_of(times)
        return Rows(stamps, column, lambda columns: self.table.new_frame(stamps, columns))

    def declared_following(self, count: int) -> Stamps | None:
        """The times that follow, if the table itself knows how often these times come."""
        return self.table.declared_following(count)

    def question(self, clock: Clock, rows: Rows, aux: Any) -> Question:
        """Several targets of one time are asked about at as many equal times."""
        times = clock.numbers(rows.stamps)
        if not isinstance(self.target, tuple):
            return Question(times, None, extras_at(aux, rows.column, times.shape), lambda values: values)
        shape = (len(times), len(self.target))
        flat = jax.tree.map(np.ravel, extras_at(aux, rows.column, shape))
        return Question(
            np.repeat(times, shape[1]), None, flat, lambda values: values.reshape(*shape, *values.shape[1:])
        )

    def answer(self, rows: Rows, summary: Summary) -> Any:
        """Columns `mean`, `sd`, ...; with several targets `<target>_mean`, ...; the latents are common to all."""
        if not isinstance(self.target, tuple):
            return rows.frame({**summary.of_observations, **summary.of_latents})
        columns = {
            f"{name}_{statistic}": values[:, index]
            for index, name in enumerate(self.target)
            for statistic, values in summary.of_observations.items()
        }
        return rows.frame({**columns, **{name: values[:, 0] for name, values in summary.of_latents.items()}})


def _rows(table: Table) -> Rows:
    return Rows(table.stamps(), table.numbers, table.own_frame)
