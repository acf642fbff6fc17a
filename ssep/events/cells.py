"""Equal cells of a rectangular region."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int

from ssep.checks import first_offender, require

# The most cells that are chosen without being asked for: the state of a field grows with their number.
_MAX_CELLS = 64


class Cells(eqx.Module):
    """A region divided equally along each dimension; cells are counted with the last dimension fastest."""

    region: Float[np.ndarray, "space 2"]
    counts: tuple[int, ...] = eqx.field(static=True)

    @property
    def size(self) -> Float[np.ndarray, " space"]:
        """The extent of a cell."""
        return np.diff(self.region, axis=1)[:, 0] / np.array(self.counts)

    @property
    def volume(self) -> float:
        """That of one cell."""
        return float(np.prod(self.size))

    @property
    def corners(self) -> Float[np.ndarray, "cell space"]:
        """The lowest corner of each cell."""
        steps = np.indices(self.counts).reshape(len(self.counts), -1).T
        return self.region[:, 0] + steps * self.size

    @property
    def centres(self) -> Float[np.ndarray, "cell space"]:
        """The middle of each cell."""
        return self.corners + self.size / 2

    def index(self, r: Float[np.ndarray, "event space"]) -> Int[np.ndarray, " event"]:
        """The cell of each place; the upper border belongs to the last ones."""
        steps = np.floor((r - self.region[:, 0]) / self.size).astype(int)
        steps = np.clip(steps, 0, np.array(self.counts) - 1)
        return np.asarray(np.ravel_multi_index(tuple(steps.T), self.counts))

    def draw(self, rng: np.random.Generator, index: Int[np.ndarray, " event"]) -> Float[np.ndarray, "event space"]:
        """Uniform places, each in its cell."""
        places = self.corners[index] + rng.uniform(size=(len(index), len(self.counts))) * self.size
        # Rounding must not carry a place out of the region.
        return np.minimum(places, self.region[:, 1])


def as_region(call: str, region: Any) -> Float[np.ndarray, "space 2"]:
    """A box as rows of low and high; on a line one pair will do."""
    try:
        array = np.atleast_2d(np.asarray(region, float))
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    fine = array.ndim == 2 and array.shape[1] == 2 and np.isfinite(array).all() and (array[:, 0] < array[:, 1]).all()
    remedy = "For two dimensions: `region=[(0, 10), (0, 5)]`."
    require(fine, call, "must be a sequence of (low, high), one per dimension, with low < high", repr(region), remedy)
    return array


def require_within(call: str, r: Float[np.ndarray, "event space"], region: Float[np.ndarray, "space 2"]) -> None:
    """Raise unless every place lies in the region; its border belongs to it."""
    inside = (r >= region[:, 0]) & (r <= region[:, 1])
    offender = "" if inside.all() else first_offender(r, inside)
    require(inside.all(), call, "must lie in the region", offender, "Widen the region, or drop events outside.")


def divide(call: str, region: Float[np.ndarray, "space 2"] | None, counts: Any) -> Cells | None:
    """So many cells along all dimensions, or along each; by default as many as make 64 or fewer in all."""
    if region is None:
        require(counts is None, call, "is for events with places", counts, "Leave it out.")
        return None
    dims = len(region)
    if counts is None:
        counts = max(1, int(_MAX_CELLS ** (1 / dims) + 1e-9))
    each = tuple(counts) if np.ndim(counts) else (counts,) * dims
    fine = len(each) == dims and all(isinstance(count, int | np.integer) and count > 0 for count in each)
    require(
        fine,
        call,
        f"must be a positive integer, or {dims} of them, one per dimension",
        repr(counts),
        "Cells should be shorter than the lengthscale of the field.",
    )
    return Cells(region, tuple(int(count) for count in each))
