"""Arrays of xarray: a dimension for the time, and perhaps others for places or targets."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ssep.checks import require
from ssep.data import Data
from ssep.tables.base import as_numbers, as_stamps, refuse_type, require_column, with_dtype
from ssep.tables.clock import Clock, Stamps
from ssep.tables.extras import extras_at
from ssep.tables.layout import Layout, Question, Rows
from ssep.tables.summary import Summary
from ssep.types import Aux

_CALL = "tables.read(frame)"


class Grid(Layout):
    """A `DataArray`, or variables of a `Dataset`, whose other dimensions are places (or targets, without places)."""

    def __init__(self, dataset: Any, target: Any, time: str, places: tuple[Any, ...], aux: Any):
        self.dataset, self.target, self.time, self.places, self.aux = dataset, target, time, places, aux
        names = [*map(str, dataset.data_vars), *map(str, dataset.coords)]
        for call, wanted in [("target", self._targets), ("time", (time,)), ("places", places)]:
            for name in wanted:
                require_column(f"tables.read({call})", name, names)
        remedy = "Times that vary along a dimension with the places are records: read `frame.to_dataframe()` instead."
        require(dataset[time].dims == (time,), _CALL, f"must have a dimension {time!r}", dataset[time].dims, remedy)
        dims = [dataset[name].dims for name in self._targets]
        alike = all(time in each and (len(dims) == 1 or each == (time,)) for each in dims)
        remedy = "Several targets must have no other dimension; use `to_dataarray` to make one of them."
        require(alike, _CALL, f"must have targets along {time!r}", dims, remedy)
        self.others = tuple(name for name in dims[0] if name != time)
        located = all(set(dataset[name].dims) <= set(self.others) for name in places)
        remedy = "Places are coordinates along the other dimensions."
        require(located, "tables.read(places)", f"must lie along {self.others}", places, remedy)

    @property
    def _targets(self) -> tuple[Any, ...]:
        return self.target if isinstance(self.target, tuple) else (self.target,)

    @property
    def _columns(self) -> tuple[int, ...]:
        """The axis for several observations of one time, if there is one."""
        if isinstance(self.target, tuple):
            return (len(self.target),)
        return (int(np.prod([self.dataset.sizes[name] for name in self.others])),) if self.others else ()

    @property
    def num_columns(self) -> int | None:
        """The number of observations per time; None if there is no axis for them."""
        return self._columns[0] if self._columns else None

    def stamps(self) -> Stamps:
        """The times of the data."""
        return self._stamps_of(self.dataset[self.time].values)

    def observed(self) -> np.ndarray:
        """The values in the order of the array; NaN where one is missing."""
        columns = [self._numbers(self.dataset, name) for name in self._targets]
        return np.stack(columns, 1) if isinstance(self.target, tuple) else columns[0]

    def extras(self) -> Aux:
        """The extras in the order of the array."""
        y = self.observed()
        return extras_at(self.aux, lambda name: self._numbers(self.dataset, name), y.shape, ~np.isnan(y))

    def data(self, clock: Clock) -> Data:
        """Times sorted; all places at each."""
        times = clock.numbers(self.stamps())
        order = np.argsort(times, kind="stable")
        extras = jax.tree.map(lambda extra: extra[order], self.extras())
        return Data(times[order], self.observed()[order], aux=extras, r=self._located())

    def own_rows(self) -> Rows:
        """The data's own times."""
        return self._rows(self.dataset)

    def rows_of(self, frame: Any) -> Rows | None:
        """The times of another `DataArray` or `Dataset`, with its extras."""
        import xarray as xr

        if not isinstance(frame, xr.DataArray | xr.Dataset):
            return None
        named = frame.to_dataset(name="values") if isinstance(frame, xr.DataArray) and frame.name is None else frame
        dataset = named.to_dataset() if isinstance(named, xr.DataArray) else named
        require_column("Series.predict(at)", self.time, list(dataset.coords))
        return self._rows(dataset)

    def rows_at(self, times: Any, column: Callable[[Any], np.ndarray]) -> Rows:
        """All places at each time."""
        stamps = times if isinstance(times, Stamps) else self._stamps_of(np.asarray(times))
        old = self.dataset[self.time]
        coordinate = (self.time, with_dtype(stamps.values, old.dtype), old.attrs)
        return Rows(stamps, column, lambda variables: self._made({self.time: coordinate}, variables))

    def declared_following(self, count: int) -> Stamps | None:
        """An array does not know how often times come."""
        return None

    def question(self, clock: Clock, rows: Rows, aux: Any) -> Question:
        """All places at each time; without places, as many equal times."""
        times = clock.numbers(rows.stamps)
        shape = (len(times), *self._columns)
        extras = extras_at(aux, rows.column, shape)
        if self.places or not self._columns:
            return Question(times, self._located(), extras, lambda values: values)
        flat, repeated = jax.tree.map(np.ravel, extras), np.repeat(times, shape[1])
        return Question(repeated, None, flat, lambda values: values.reshape(*shape, *values.shape[1:]))

    def answer(self, rows: Rows, summary: Summary) -> Any:
        """Variables `mean`, `sd`, `quantile`, `f_mean`, `f_sd`; the last two along `latent` if there are several."""
        grid = (self.time, *(("target",) if isinstance(self.target, tuple) else self.others))
        variables: dict[str, Any] = {name: (grid, self._spread(values)) for name, values in summary.moments.items()}
        if summary.levels:
            variables["quantile"] = ((*grid, "level"), self._spread(summary.quantiles))
        for name, values in summary.latents.items():
            # Without places, all targets of one time have their latents in common.
            own, dims = (values, grid) if self.places or not self._columns else (values[:, 0], grid[:1])
            own = self._spread(own) if len(dims) > 1 else own
            single = values.shape[-1] == 1
            variables[name] = (dims, own[..., 0]) if single else ((*dims, "latent"), own)
        made = rows.frame(variables)
        named = {"target": list(self.target)} if isinstance(self.target, tuple) else {}
        levels = {"level": list(summary.levels)} if summary.levels else {}
        return made.assign_coords({**named, **levels})

    def _made(self, times: dict[str, Any], variables: dict[str, Any]) -> Any:
        """A dataset with these times, and with the other coordinates of the data."""
        import xarray as xr

        kept = {name: value for name, value in self.dataset.coords.items() if set(value.dims) <= set(self.others)}
        dims = self.dataset[self._targets[0]].dims
        return xr.Dataset(variables, {**kept, **times}).transpose(*dims, ..., missing_dims="ignore")

    def _rows(self, dataset: Any) -> Rows:
        along = {name: value for name, value in dataset.coords.items() if value.dims == (self.time,)}
        return Rows(
            self._stamps_of(dataset[self.time].values),
            lambda name: self._numbers(dataset, name),
            lambda variables: self._made(along, variables),
        )

    def _stamps_of(self, times: np.ndarray) -> Stamps:
        parse = "dates by `pandas.to_datetime(...)`, a calendar of `cftime` by `convert_calendar`"
        return as_stamps(f"tables.read(time={self.time!r})", times, None, parse)

    def _numbers(self, dataset: Any, name: Any) -> np.ndarray:
        """A variable as (time,) or (time, columns)."""
        require_column("tables.read(aux)", name, [*dataset.data_vars, *dataset.coords])
        variable = dataset[name]
        if variable.dtype.kind not in "biuf":
            refuse_type(name, variable.dtype)
        inner = (self.time, *self.others)
        remedy = "Extras lie along the dimensions of the target."
        require(set(variable.dims) <= set(inner), _CALL, f"must have {name!r} along {inner}", variable.dims, remedy)
        sizes = {key: dataset.sizes.get(key, self.dataset.sizes[key]) for key in inner}
        spread = variable.broadcast_like(variable.expand_dims({k: sizes[k] for k in inner if k not in variable.dims}))
        columns = self._columns if self.others else ()
        return as_numbers(name, spread.transpose(*inner).values.reshape(sizes[self.time], *columns))

    def _located(self) -> np.ndarray | None:
        """The places of the columns, shape (columns, dimensions)."""
        if not self.places:
            return None
        template = self.dataset[self._targets[0]].isel({self.time: 0}, drop=True)
        spread = [self.dataset[name].broadcast_like(template).transpose(*self.others) for name in self.places]
        for name, each in zip(self.places, spread, strict=True):
            if each.dtype.kind not in "iuf":
                refuse_type(name, each.dtype)
        return np.stack([np.asarray(each.values, float).ravel() for each in spread], 1)

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """The columns along their dimensions again."""
        if not self.others:
            return values
        sizes = [self.dataset.sizes[name] for name in self.others]
        return values.reshape(values.shape[0], *sizes, *values.shape[2:])
