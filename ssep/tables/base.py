"""What a table of any library must be able to do: give its times and its numbers, and make a table of its kind."""

import abc
import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ssep.checks import require
from ssep.tables.clock import Stamps


class Table(abc.ABC):
    """Rows of a library's frame, one of whose columns (or whose index) is the time."""

    @property
    @abc.abstractmethod
    def names(self) -> list[Any]:
        """The names of the columns."""

    @abc.abstractmethod
    def stamps(self) -> Stamps:
        """The times of the rows."""

    @abc.abstractmethod
    def numbers(self, name: Any) -> np.ndarray:
        """A column in double precision; NaN where it has nothing."""

    @abc.abstractmethod
    def like(self, frame: Any) -> "Table | None":
        """Another frame of the same kind, with its times in the same place; None if it is no such frame."""

    @abc.abstractmethod
    def stamps_of(self, times: Any) -> Stamps:
        """Times in any form that the library knows."""

    @abc.abstractmethod
    def own_frame(self, columns: dict[str, np.ndarray]) -> Any:
        """A frame with these rows' times, and index, and with other columns."""

    @abc.abstractmethod
    def new_frame(self, stamps: Stamps, columns: dict[str, np.ndarray]) -> Any:
        """A frame of the same kind at other times."""

    @abc.abstractmethod
    def declared_following(self, count: int) -> Stamps | None:
        """The times that follow, if the library itself knows how often these times come."""


def require_column(call: str, name: Any, names: Sequence[Any]) -> None:
    """Raise unless a column is there; name those that it may have meant."""
    close = difflib.get_close_matches(str(name), [str(each) for each in names], n=3, cutoff=0.5)
    hint = f"Do you mean {' or '.join(map(repr, close))}? " if close else ""
    shown = ", ".join(repr(each) for each in names[:12]) + (", ..." if len(names) > 12 else "")
    require(name in names, call, "must be a column of the table", repr(name), f"{hint}It has {shown or 'none'}.")


def as_stamps(call: str, values: np.ndarray, zone: Any, parse: str) -> Stamps:
    """Times from an array; raise, with the row, where one is missing."""
    kind = values.dtype.kind
    require(len(values) > 0, call, "must hold times", "none", "Check the selection.")
    require(
        kind in "Miuf",
        call,
        "must hold dates or numbers",
        f"values of type {values.dtype}",
        f"Convert them first: {parse}.",
    )
    known = ~np.isnat(values) if kind == "M" else np.isfinite(values)
    row = 0 if known.all() else int(np.argmin(known))
    require(known.all(), call, "must have a time in every row", f"{values[row]} in row {row}", "Drop rows without one.")
    return Stamps(values if kind == "M" else values.astype(float), zone)


def as_numbers(name: Any, values: np.ndarray) -> np.ndarray:
    """Numbers in double precision; raise, with the row, where one is infinite."""
    numbers = np.asarray(values, float)
    infinite = np.isinf(numbers)
    require(
        not infinite.any(),
        "tables.read(frame)",
        f"must be finite, or missing, in column {name!r}",
        f"{numbers[infinite.argmax()]} in row {infinite.argmax()}" if numbers.ndim == 1 else "an infinity",
        "Mark missing values as such.",
    )
    return numbers


def refuse_type(name: Any, kind: object) -> None:
    """Raise: a column that must hold numbers holds something else."""
    remedy = "Convert it first; labels to 0 and 1, or to 0, 1, 2, ..."
    require(False, "tables.read(frame)", f"must have numbers in column {name!r}", f"values of type {kind}", remedy)


def beside(keys: dict[Any, Any], columns: dict[str, np.ndarray]) -> dict[Any, Any]:
    """Columns of a result, behind those that say where and when; raise if they share a name."""
    shared = sorted(set(keys) & set(columns), key=str)
    remedy = "Rename that column of the table."
    require(not shared, "Series.predict", "must not have two columns of a name", ", ".join(map(repr, shared)), remedy)
    return {**keys, **columns}


def with_dtype(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Values in the type that others had, if that loses nothing."""
    if not isinstance(dtype, np.dtype) or dtype.kind not in "Miuf":
        return values
    cast = values.astype(dtype)
    return cast if (cast.astype(values.dtype) == values).all() else values
