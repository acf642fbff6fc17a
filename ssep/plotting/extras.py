"""When and with which extras to predict observations, if the caller leaves that open."""

from typing import Any, NamedTuple

import jax
import numpy as np

from ssep.checks import as_aux, require
from ssep.data import Data
from ssep.plotting.horizon import grid_over
from ssep.timeline import check_times
from ssep.types import Aux


class Question(NamedTuple):
    """Times to predict at, with extras."""

    t: np.ndarray
    aux: Aux
    known: np.ndarray
    """Where the extras are known, shape (times,) or (times, columns)."""


def question(call: str, data: Data, t_new: Any, aux: Aux) -> Question:
    """What the caller asks for; else a grid of times, with the extras of the data if they never change.

    Extras that change are known at the data's own times only, and there only where something was observed.
    """
    remedy = "Give `t_new` too, with one entry of `aux` for each time."
    alone = aux is not None and t_new is None
    require(not alone, f"plotting.{call}(aux)", "belongs to new times", "no `t_new`", remedy)
    t = grid_over(np.asarray(data.t)) if t_new is None else np.asarray(check_times(f"plotting.{call}", t_new))
    always = np.ones(len(t), bool)
    if aux is not None or not jax.tree.leaves(data.aux):
        return Question(t, as_aux(aux), always)
    constant = jax.tree.map(lambda extra: _constant(np.asarray(extra), np.asarray(data.mask)), data.aux)
    if not any(np.isnan(value).any() for value in jax.tree.leaves(constant)):
        return Question(t, jax.tree.map(lambda value: np.broadcast_to(value, (len(t), *value.shape)), constant), always)
    remedy = "Give `aux` at these times, for example the exposure; without `t_new`, the data's own times are shown."
    requirement = "must be given with new times, because the extras of the data change"
    require(t_new is None, f"plotting.{call}(aux)", requirement, "None", remedy)
    return Question(np.asarray(data.t), data.aux, np.asarray(data.mask))


def _constant(extra: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The value that all observations of a column share; NaN where they differ, or there are none."""
    seen = np.where(mask.reshape(mask.shape + (1,) * (extra.ndim - mask.ndim)), extra, np.nan)
    low, high = np.fmin.reduce(seen), np.fmax.reduce(seen)
    # Lengths of bins differ by rounding.
    return np.where(np.isclose(low, high, rtol=1e-6, atol=0), low, np.nan)
