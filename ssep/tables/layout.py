"""How observations lie in a table, and how predictions go back into one."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ssep.data import Data
from ssep.tables.clock import Clock, Stamps
from ssep.tables.summary import Summary
from ssep.types import Aux


class Rows(NamedTuple):
    """Where to predict: the rows of a frame, or new ones."""

    stamps: Stamps
    column: Callable[[Any], np.ndarray]
    """Gives a column of numbers: places, extras."""
    frame: Callable[[Any], Any]
    """Makes the frame that is given back."""


class Question(NamedTuple):
    """What `predict` is asked, and how its answer is brought into the order of the rows."""

    t: np.ndarray
    r: np.ndarray | None
    aux: Aux
    pick: Callable[[np.ndarray], np.ndarray]


class Layout(abc.ABC):
    """Observations in a table of some kind."""

    aux: Any
    """The columns with their extras, as in `read`."""

    @abc.abstractmethod
    def stamps(self) -> Stamps:
        """The times of the data's own rows."""

    @abc.abstractmethod
    def data(self, clock: Clock) -> Data:
        """The observations in the order of time."""

    @abc.abstractmethod
    def observed(self) -> np.ndarray:
        """The values in the order of the rows; NaN where one is missing."""

    @abc.abstractmethod
    def extras(self) -> Aux:
        """The extras in the order of the rows."""

    @abc.abstractmethod
    def own_rows(self) -> Rows:
        """The data's own rows."""

    @abc.abstractmethod
    def rows_of(self, frame: Any) -> Rows | None:
        """The rows of another frame of the same kind; None if it is no such frame."""

    @abc.abstractmethod
    def rows_at(self, times: Any, column: Callable[[Any], np.ndarray]) -> Rows:
        """Rows at new times, given as they are or as stamps."""

    @abc.abstractmethod
    def declared_following(self, count: int) -> Stamps | None:
        """The times that follow, if the library itself knows how often these times come."""

    @abc.abstractmethod
    def question(self, clock: Clock, rows: Rows, aux: Any) -> Question:
        """What to ask of `predict` for these rows; `aux` as in `read`, or None if extras are not needed."""

    @abc.abstractmethod
    def answer(self, rows: Rows, summary: Summary) -> Any:
        """A frame with what is to be known of the observations and the latents at some rows."""
