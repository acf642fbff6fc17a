"""A row per observation, with columns that say where it was made."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ssep.checks import require
from ssep.data import Data
from ssep.records import group_records
from ssep.tables.base import Table, beside, require_column
from ssep.tables.clock import Clock, Stamps
from ssep.tables.extras import extras_at
from ssep.tables.layout import Layout, Question, Rows
from ssep.tables.summary import Summary
from ssep.types import Aux


class Long(Layout):
    """Records in space and time, as `Data.from_records` takes them."""

    def __init__(
        self, table: Table, target: Any, places: tuple[Any, ...], aux: Any, fixed_places: Any, per_step: int | None
    ):
        self.table, self.target, self.places, self.aux = table, target, places, aux
        self.fixed_places, self.per_step = fixed_places, per_step
        require_column("tables.read(target)", target, table.names)
        for name in places:
            require_column("tables.read(places)", name, table.names)

    def stamps(self) -> Stamps:
        """The times of the data's own rows."""
        return self.table.stamps()

    def observed(self) -> np.ndarray:
        """The values in the order of the rows; NaN where one is missing."""
        return self.table.numbers(self.target)

    def extras(self) -> Aux:
        """The extras in the order of the rows."""
        y = self.observed()
        return extras_at(self.aux, self.table.numbers, y.shape, ~np.isnan(y))

    def data(self, clock: Clock) -> Data:
        """Records sorted and grouped by time."""
        return Data.from_records(
            clock.numbers(self.stamps()),
            self._places(self.table.numbers),
            self.observed(),
            aux=self.extras(),
            fixed_places=self.fixed_places,
            per_step=self.per_step,
        )

    def own_rows(self) -> Rows:
        """The data's own rows."""
        return self._rows(self.table)

    def rows_of(self, frame: Any) -> Rows | None:
        """The rows of another frame of the same kind."""
        table = self.table.like(frame)
        return None if table is None else self._rows(table)

    def rows_at(self, times: Any, column: Callable[[Any], np.ndarray]) -> Rows:
        """Every fixed place at every time."""
        stations = self._stations()
        require(
            stations is not None,
            "Series.predict(at)",
            "must say where, because the places differ from time to time",
            "times alone",
            f"Give a table with the times and the columns {', '.join(self.places)}.",
        )
        assert stations is not None
        given = times if isinstance(times, Stamps) else self.table.stamps_of(times)
        stamps = Stamps(np.repeat(given.values, len(stations)), given.zone)
        where = dict(zip(self.places, np.tile(stations, (len(given.values), 1)).T, strict=True))

        def known(name: str) -> np.ndarray:
            return where[name] if name in where else np.repeat(column(name), len(stations))

        return Rows(stamps, known, lambda columns: self.table.new_frame(stamps, beside(where, columns)))

    def declared_following(self, count: int) -> Stamps | None:
        """Times repeat themselves, so that the table knows nothing."""
        return None

    def question(self, clock: Clock, rows: Rows, aux: Any) -> Question:
        """Rows are grouped as the data are, so that all places of one time are asked about at once."""
        times, places = clock.numbers(rows.stamps), self._places(rows.column)
        stations = self._stations()
        distinct = np.unique(places, axis=0)
        known = stations is not None and (distinct[:, None] == stations).all(-1).any(1).all()
        extras = extras_at(aux, rows.column, times.shape)
        numbers = np.arange(len(times), dtype=float)
        grouped = group_records(times, places, numbers, extras, stations if known else False, None)
        # What fills the rows up is asked about as well, and not looked at.
        where, r = np.empty((len(times), 2), int), grouped.r
        where[grouped.y[grouped.mask].astype(int)] = np.argwhere(grouped.mask)
        if not known:
            r = np.where(grouped.mask[..., None], r, places[0])
        filled = jax.tree.map(lambda extra, own: np.where(grouped.mask, extra, own[0]), grouped.aux, extras)
        return Question(grouped.t, r, filled, lambda values: values[where[:, 0], where[:, 1]])

    def answer(self, rows: Rows, summary: Summary) -> Any:
        """Columns for the time and the places, then `mean`, `sd`, ..."""
        return rows.frame({**summary.of_observations, **summary.of_latents})

    def _rows(self, table: Table) -> Rows:
        where = {name: table.numbers(name) for name in self.places}
        return Rows(table.stamps(), table.numbers, lambda columns: table.own_frame(beside(where, columns)))

    def _stations(self) -> np.ndarray | None:
        """The fixed places in the order of the data's columns; None if places differ from time to time."""
        if isinstance(self.fixed_places, bool):
            return np.unique(self._places(self.table.numbers), axis=0) if self.fixed_places else None
        named = np.asarray(self.fixed_places, float)
        return named[:, None] if named.ndim == 1 else named

    def _places(self, column: Callable[[Any], np.ndarray]) -> np.ndarray:
        places = np.stack([column(name) for name in self.places], 1)
        known = np.isfinite(places).all(1)
        remedy = "Drop rows without a place."
        row = 0 if known.all() else int(np.argmin(known))
        require(known.all(), "tables.read(places)", "must be known in every row", f"{places[row]} in row {row}", remedy)
        return places
