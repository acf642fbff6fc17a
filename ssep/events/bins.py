"""Bins of time, or of time and space, of which windows let a part be seen."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int

from ssep.checks import require
from ssep.events.cells import Cells
from ssep.events.windows import CLOSE, as_length, window_of

DEGREE = 5
"""Nodes per dimension for integrals over a bin: exact for polynomials of degree nine."""
# The least number of bins of observed time, the number per event, and the most bins in all.
_LEAST, _PER_EVENT, _MOST = 200, 2, 20_000


class Nodes(NamedTuple):
    """Nodes of integration over pieces of bins, in one cell if there are cells."""

    t: Float[np.ndarray, "piece node"]
    r: Float[np.ndarray, "piece node space"] | None
    weights: Float[np.ndarray, "piece node"]


class Bins(eqx.Module):
    """Bins between edges, cut at the borders of windows into pieces, each in one bin and in one window."""

    edges: Float[np.ndarray, " edge"]
    windows: Float[np.ndarray, "window 2"]
    cells: Cells | None
    piece_start: Float[np.ndarray, " piece"]
    piece_length: Float[np.ndarray, " piece"]
    piece_bin: Int[np.ndarray, " piece"]

    @property
    def middles(self) -> Float[np.ndarray, " bin"]:
        """The middle of what can be seen of each bin; of the bin itself where that is all, or nothing."""
        left, width = self.edges[:-1], np.diff(self.edges)
        seen = self._per_bin(self.piece_length)
        offset = self.piece_start + self.piece_length / 2 - left[self.piece_bin]
        partial = (seen > 0) & (seen < (1 - CLOSE) * width)
        moment = self._per_bin(self.piece_length * offset)
        return np.where(partial, left + moment / np.where(partial, seen, 1), left + width / 2)

    def index(
        self, t: Float[np.ndarray, " event"], r: Float[np.ndarray, "event space"] | None
    ) -> Int[np.ndarray, "event axes"]:
        """The bin, and the cell, of each event.

        An edge belongs to the bin that begins there, unless the event's window ends there.
        """
        last = t == self.windows[window_of(t, self.windows), 1]
        bins = np.where(last, np.searchsorted(self.edges, t, "left"), np.searchsorted(self.edges, t, "right")) - 1
        return np.stack([bins] if self.cells is None or r is None else [bins, self.cells.index(r)], 1)

    def integrate(
        self, function: Callable[[np.ndarray, np.ndarray | None], np.ndarray], degree: int
    ) -> Float[np.ndarray, "bin *cell"]:
        """The integral of a function of times (and places) over what can be seen of each bin (and cell)."""

        def column(nodes: Nodes) -> Float[np.ndarray, " bin"]:
            places = None if nodes.r is None else nodes.r.reshape(-1, nodes.r.shape[-1])
            values = function(nodes.t.ravel(), places).reshape(nodes.t.shape)
            return self._per_bin(np.sum(nodes.weights * values, 1))

        columns = [column(nodes) for nodes in self.nodes(degree)]
        return columns[0] if self.cells is None else np.stack(columns, 1)

    def nodes(self, degree: int) -> Iterator[Nodes]:
        """Nodes and weights of a Gauss-Legendre product rule, cell by cell."""
        node, weight = np.polynomial.legendre.leggauss(degree)
        dims = 1 if self.cells is None else 1 + len(self.cells.counts)
        steps = np.indices((degree,) * dims).reshape(dims, -1).T
        # On the unit cube, with time as the first dimension.
        share, weight = (node[steps] + 1) / 2, np.prod(weight[steps] / 2, axis=1)
        t = self.piece_start[:, None] + self.piece_length[:, None] * share[:, 0]
        weights = self.piece_length[:, None] * weight
        if self.cells is None:
            yield Nodes(t, None, weights)
            return
        for corner in self.cells.corners:
            places = corner + self.cells.size * share[:, 1:]
            yield Nodes(t, np.broadcast_to(places, (*t.shape, dims - 1)), weights * self.cells.volume)

    def _per_bin(self, values: Float[np.ndarray, " piece"]) -> Float[np.ndarray, " bin"]:
        return np.bincount(self.piece_bin, values, len(self.edges) - 1)


def cut(edges: Float[np.ndarray, " edge"], windows: Float[np.ndarray, "window 2"], cells: Cells | None) -> Bins:
    """Bins between edges that cover the windows, in each of the cells."""
    edges = snapped(edges, windows)
    points = np.unique(np.concatenate([edges, windows.ravel()]))
    start, length = points[:-1], np.diff(points)
    window = window_of(start, windows)
    seen = (window >= 0) & (start < windows[window, 1])
    return Bins(edges, windows, cells, start[seen], length[seen], np.searchsorted(edges, start[seen], "right") - 1)


def snapped(edges: Float[np.ndarray, " edge"], windows: Float[np.ndarray, "window 2"]) -> Float[np.ndarray, " edge"]:
    """Edges that miss the border of a window by rounding, moved there.

    An event at that border would otherwise be all there is in a sliver without exposure.
    """
    borders, moved = windows.ravel(), edges.copy()
    right = np.clip(np.searchsorted(edges, borders), 1, len(edges) - 1)
    nearest = np.where(borders - edges[right - 1] < edges[right] - borders, right - 1, right)
    close = np.maximum(CLOSE * (edges[right] - edges[right - 1]), 8 * np.spacing(np.abs(borders)))
    near = np.abs(edges[nearest] - borders) <= close
    moved[nearest[near]] = borders[near]
    return moved


def given_edges(call: str, edges: Any, windows: Float[np.ndarray, "window 2"]) -> Float[np.ndarray, " edge"]:
    """Edges that a user gave, checked."""
    try:
        borders = np.asarray(edges, float)
    except (TypeError, ValueError):
        borders = np.empty(0)
    fine = borders.ndim == 1 and len(borders) > 1 and np.isfinite(borders).all() and (np.diff(borders) > 0).all()
    require(fine, f"{call}(edges)", "must be two or more increasing times", repr(edges), "Sort them first.")
    (first, *_, last), (start, end) = snapped(borders, windows), (windows[0, 0], windows[-1, 1])
    require(
        first <= start and last >= end,
        f"{call}(edges)",
        f"must cover all windows, {start} to {end}",
        f"{first} to {last}",
        "Add edges; bins of which nothing could be seen are fine.",
    )
    return borders


def edges_of_width(call: str, width: Any, windows: Float[np.ndarray, "window 2"]) -> Float[np.ndarray, " edge"]:
    """Edges so far apart, from the first window on; the last bin may reach beyond the last window."""
    start, extent = windows[0, 0], windows[-1, 1] - windows[0, 0]
    length = as_length(f"{call}(width)", width, extent)
    return start + length * np.arange(int(np.ceil(extent / length - CLOSE)) + 1)


def equal_edges(
    call: str, count: Any, num_events: float, windows: Float[np.ndarray, "window 2"]
) -> Float[np.ndarray, " edge"]:
    """Edges of a number of equal bins, or of the default number for so many events."""
    start, end = windows[0, 0], windows[-1, 1]
    if count is None:
        observed = np.sum(np.diff(windows))
        count = int(np.ceil(min(_MOST, max(_LEAST, _PER_EVENT * num_events) * (end - start) / observed)))
    whole = isinstance(count, int | np.integer) and count > 0
    require(whole, f"{call}(count)", "must be a positive integer", count, "Leave it out for a default.")
    return np.linspace(start, end, count + 1)
