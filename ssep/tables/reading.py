"""Read a table of pandas, polars or xarray."""

import sys
from typing import Any

from ssep.checks import require
from ssep.tables.base import Table
from ssep.tables.clock import clock_of
from ssep.tables.extras import check_extras
from ssep.tables.grid import Grid
from ssep.tables.layout import Layout
from ssep.tables.long import Long
from ssep.tables.pandas_table import PandasTable
from ssep.tables.polars_table import PolarsTable
from ssep.tables.series import Series
from ssep.tables.wide import Wide


def read(
    frame: Any,
    target: Any = None,
    *,
    time: Any = None,
    unit: Any = None,
    origin: Any = None,
    aux: Any = None,
    places: Any = None,
    fixed_places: Any = False,
    per_step: int | None = None,
) -> Series:
    """Read a table: rows in any order, times that are dates or numbers, gaps and repeated times.

    Args:
        frame: A `DataFrame` or `Series` of pandas, a `DataFrame` of polars, a `DataArray` or `Dataset` of xarray.
        target: The column with the observations, or a list of columns for several observations per time. What is
            missing there is missing. It may be left out where there is only one.
        time: The column with the times; by default the index of pandas, and the dimension `time` of xarray.
        unit: What one unit of time is, if times are dates: "day", "month", ... or a timedelta.
        origin: The date that is zero; by default the earliest.
        aux: The column with the extras of an observation (its exposure, say), or a pytree of columns.
        places: The columns with the places: each row is then one observation in space and time. Of xarray, the
            coordinates of the places along the other dimensions.
        fixed_places: As for `Data.from_records`: whether rows come from a set of stations.
        per_step: As for `Data.from_records`.
    """
    several = tuple(target) if isinstance(target, list | tuple) else target
    where = () if places is None else tuple(places) if isinstance(places, list | tuple) else (places,)
    layout = _grid(frame, several, time, where, aux) or _table_layout(
        frame, several, time, where, aux, fixed_places, per_step
    )
    clock = clock_of(layout.stamps(), unit, origin)
    return Series(layout.data(clock), clock, layout)


def _is(frame: Any, library: str, *names: str) -> bool:
    """Whether a value is of some class of a library, which is not imported for that."""
    module = sys.modules.get(library)
    return module is not None and isinstance(frame, tuple(getattr(module, name) for name in names))


def _table_layout(
    frame: Any, target: Any, time: Any, places: tuple[Any, ...], aux: Any, fixed_places: Any, per_step: int | None
) -> Layout:
    table, target = _table(frame, target, time)
    check_extras(aux, len(target) if isinstance(target, tuple) else None)
    if places:
        remedy = "Give one target with places, or several without."
        single = not isinstance(target, tuple)
        require(single, "tables.read(target)", "must be one column where there are places", target, remedy)
        return Long(table, target, places, aux, fixed_places, per_step)
    remedy = "Name the columns with the places: `places=('x', 'y')`."
    unplaced = fixed_places is False and per_step is None
    require(unplaced, "tables.read(fixed_places, per_step)", "are for places", "no places", remedy)
    return Wide(table, target, aux)


def _table(frame: Any, target: Any, time: Any) -> tuple[Table, Any]:
    if _is(frame, "pandas", "Series"):
        name = "value" if frame.name is None else frame.name
        return PandasTable(frame.to_frame(name), time), _only(target, [name], time)
    if _is(frame, "pandas", "DataFrame"):
        return PandasTable(frame, time), _only(target, list(frame.columns), time)
    kinds = "a table of pandas, polars or xarray"
    eager = _is(frame, "polars", "DataFrame")
    remedy = "Call `.collect()` first." if _is(frame, "polars", "LazyFrame") else "From arrays, `ssep.Data(t, y)`."
    require(eager, "tables.read(frame)", f"must be {kinds}", f"a `{type(frame).__name__}`", remedy)
    return PolarsTable(frame, time), _only(target, frame.columns, time)


def _grid(frame: Any, target: Any, time: Any, places: tuple[Any, ...], aux: Any) -> Grid | None:
    if not _is(frame, "xarray", "DataArray", "Dataset"):
        return None
    array = _is(frame, "xarray", "DataArray")
    dataset = frame.to_dataset(name="value" if frame.name is None else frame.name) if array else frame
    target = _only(target, [str(name) for name in dataset.data_vars], None)
    grid = Grid(dataset, target, "time" if time is None else time, places, aux)
    check_extras(aux, len(target) if isinstance(target, tuple) else grid.num_columns)
    return grid


def _only(target: Any, names: list[Any], time: Any) -> Any:
    """The target, or the only column that it can be."""
    if target is not None:
        return target
    others = [name for name in names if name != time]
    remedy = f"Name one of {others}." if others else "The table has no column besides the times."
    require(len(others) == 1, "tables.read(target)", "must be given", "None", remedy)
    return others[0]
