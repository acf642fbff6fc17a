"""Events: when and where they were, and when and where they could have been seen."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ssep.checks import first_offender, is_concrete, require
from ssep.data import Data
from ssep.events.bins import DEGREE, Bins, cut, edges_of_width, equal_edges, given_edges
from ssep.events.cells import as_region, divide, require_within
from ssep.events.windows import as_windows, require_inside
from ssep.types import ScalarLike


class Events(eqx.Module):
    """Points in time, or in time and space, with the windows in which they could be seen.

    Everything is kept as NumPy arrays in double precision, whatever that of JAX.

    Args:
        t: Times of the events, shape (N,), in any order; equal times are fine. With windows, N may be 0.
        windows: Pairs (start, end), in order and apart, in which events could be seen; both ends belong to them. By
            default one window from the first to the last event: with an event at either end, intensities then come out
            too large, by a share of about 2 / N.
        r: Optional places, shape (N, R), or (N,) on a line.
        region: The box in which events could be seen, a pair (low, high) per dimension; needed with places.
        exposure: Optional function of times, shape (m,), or of times and places, shapes (m,) and (m, R), to m
            non-negative numbers: how much there was to see (population, effort). Intensities refer to an exposure of
            one. Zero where nothing could be seen.

    Attributes:
        t: The times, in increasing order.
        windows: The windows, shape (w, 2).
        r: The places in the order of the times, shape (N, R), or None.
        region: The region, shape (R, 2), or None.
        exposure: The exposure, or None.
    """

    t: Float[np.ndarray, " event"]
    windows: Float[np.ndarray, "window 2"]
    r: Float[np.ndarray, "event space"] | None
    region: Float[np.ndarray, "space 2"] | None
    exposure: Callable[..., Any] | None

    def __init__(self, t: Any, windows: Any = None, *, r: Any = None, region: Any = None, exposure: Any = None):
        times = _numbers("Events(t)", t)
        require(
            times.ndim == 1, "Events(t)", "must have shape (N,)", f"shape {times.shape}", "Give one time per event."
        )
        order = np.argsort(times, kind="stable")
        self.t = times[order]
        self.windows = as_windows("Events(windows)", _extent(self.t) if windows is None else windows)
        require_inside("Events(t)", self.t, self.windows)
        require(
            (r is None) == (region is None),
            "Events(r, region)",
            "go together",
            "places without a region" if region is None else "a region without places",
            "The region is the box in which events could be seen, beyond those that were.",
        )
        self.region = None if region is None else as_region("Events(region)", region)
        self.r = None if self.region is None else _places(r, len(order), self.region)[order]
        require(
            exposure is None or callable(exposure),
            "Events(exposure)",
            "must be a function",
            repr(exposure),
            "For numbers at some times: `lambda t: np.interp(t, times, numbers)`.",
        )
        self.exposure = exposure
        seen = self.exposure_at(self.t, self.r) > 0
        offender = "" if seen.all() else f"zero at the event {first_offender(self.t, seen)}"
        require(seen.all(), "Events(exposure)", "must be positive at every event", offender, "Check its domain.")

    @property
    def mean_intensity(self) -> float:
        """The number of events per unit of exposure: of time, and of volume where there are places."""
        return len(self.t) / float(np.sum(self._exposures(self._bins("Events.mean_intensity"))))

    def exposure_at(self, t: Any, r: Any = None) -> Float[np.ndarray, " point"]:
        """The exposure at some times, or times and places; one if none was given."""
        times = np.asarray(t, float)
        if self.exposure is None or times.size == 0:
            return np.ones(times.shape)
        values = np.asarray(self.exposure(times) if r is None else self.exposure(times, r), float)
        return _checked("Events(exposure)", values, times.shape, zero=True)

    def binned(
        self, *, width: ScalarLike | None = None, count: int | None = None, edges: Any = None, cells: Any = None
    ) -> Data:
        """Counts in bins, with the exposure of each as `aux`: data for a `Poisson` likelihood.

        The time of a bin is the middle of what could be seen of it. Its exposure is the integral of the exposure over
        that, and over the cell: intensities are per unit of time (and of volume) whatever the bins. Bins of which
        nothing could be seen are missing.

        At most one of `width`, `count` and `edges` may be given. By default there are two bins per event (of an average
        cell), since events cannot tell of changes much faster than they come; at least 200 bins of observed time, since
        bins are cheap; and at most 20,000 bins.

        Args:
            width: The width of the bins, the first of which begins with the first window.
            count: The number of equal bins from the beginning of the first window to the end of the last.
            edges: Increasing times between bins, that cover all windows.
            cells: With places: the number of cells along each dimension, or a tuple of such numbers; by default as many
                as make 64 in all, or fewer. Then y has shape (n, J), and r has the centres of the J cells.
        """
        bins = self._bins("Events.binned", width, count, edges, cells)
        exposures = self._exposures(bins)
        counts, seen = np.zeros(exposures.shape), exposures > 0
        np.add.at(counts, tuple(bins.index(self.t, self.r).T), 1)
        require(
            not counts[~seen].any(),
            "Events(exposure)",
            "must not vanish at all nodes of a bin with events",
            "zero",
            "Use narrower bins, or a smoother exposure.",
        )
        centres = None if bins.cells is None else bins.cells.centres
        return Data(bins.middles, np.where(seen, counts, np.nan), aux=np.where(seen, exposures, 1.0), r=centres)

    def log_prob(self, intensity: Callable[[np.ndarray], Any], *, count: int | None = None) -> float:
        """The log density of the events under an intensity: the sum of its logarithms less its integral, with exposure.

        Args:
            intensity: A function of times, shape (m,), to as many positive numbers, for example
                `lambda t: ssep.intensity(fit, t).mean`. It is called once.
            count: The number of bins, as in `binned`, for the integral: five nodes each.
        """
        require(
            self.region is None,
            "Events.log_prob",
            "is for events in time alone",
            "events with places",
            "Score counts instead: `ssep.nlpd(solution, events.binned(...))`.",
        )
        (nodes,) = self._bins("Events.log_prob", count=count).nodes(DEGREE)
        times = np.concatenate([self.t, nodes.t.ravel()])
        values = np.asarray(intensity(times), float)
        values = _checked("Events.log_prob(intensity)", values, times.shape, zero=False)
        at_events, at_nodes = np.split(self.exposure_at(times) * values, [len(self.t)])
        return float(np.sum(np.log(at_events)) - np.sum(nodes.weights.ravel() * at_nodes))

    def _exposures(self, bins: Bins) -> Float[np.ndarray, "bin *cell"]:
        # A constant needs one node.
        return bins.integrate(self.exposure_at, 1 if self.exposure is None else DEGREE)

    def _bins(self, call: str, width: Any = None, count: Any = None, edges: Any = None, cells: Any = None) -> Bins:
        given = {"width": width, "count": count, "edges": edges}
        names = [name for name, value in given.items() if value is not None]
        require(len(names) <= 1, call, "takes one of `width`, `count` and `edges`", " and ".join(names), "Choose one.")
        divided = divide(f"{call}(cells)", self.region, cells)
        if edges is not None:
            borders = given_edges(call, edges, self.windows)
        elif width is not None:
            borders = edges_of_width(call, width, self.windows)
        else:
            columns = 1 if divided is None else np.prod(divided.counts)
            borders = equal_edges(call, count, len(self.t) / columns, self.windows)
        return cut(borders, self.windows, divided)


def _numbers(call: str, values: Any) -> np.ndarray:
    """Known, finite numbers in double precision."""
    require(is_concrete(values), call, "must be known", "a traced value", "Make events outside `jit`.")
    array = np.asarray(values)
    remedy = "Convert dates to numbers first."
    real = array.size == 0 or (np.issubdtype(array.dtype, np.number) and not np.iscomplexobj(array))
    require(real, call, "must be real numbers", array.dtype, remedy)
    array = array.astype(float)
    finite = np.isfinite(array)
    offender = "" if finite.all() else first_offender(array, finite)
    require(finite.all(), call, "must be finite", offender, "Drop those events.")
    return array


def _extent(t: np.ndarray) -> list[tuple[float, float]]:
    """From the first to the last event."""
    require(
        len(t) > 0 and t[0] < t[-1],
        "Events(windows)",
        "must be given unless there are events at two or more times",
        f"{len(t)} events" if len(t) == 0 else f"all events at {t[0]}",
        "Give the time in which they could be seen: `windows=[(start, end)]`.",
    )
    return [(float(t[0]), float(t[-1]))]


def _places(r: Any, count: int, region: np.ndarray) -> np.ndarray:
    """Places as an array (N, R), inside the region."""
    places = _numbers("Events(r)", r)
    places = places[:, None] if places.ndim == 1 and len(region) == 1 else places
    shape = (count, len(region))
    require(
        places.shape == shape,
        "Events(r)",
        f"must have shape {shape}, a row per event and a column per dimension of the region",
        f"shape {places.shape}",
        "On a line, (N,) will do.",
    )
    require_within("Events(r)", places, region)
    return places


def _checked(call: str, values: np.ndarray, shape: tuple[int, ...], zero: bool) -> np.ndarray:
    """What a user's function returned: one positive number for each time, or also zeros."""
    right, what = values.shape == shape, "non-negative" if zero else "positive"
    fine = right and bool(np.all(((values > 0) | (zero & (values == 0))) & np.isfinite(values)))
    got = f"values from {values.min()} to {values.max()}" if right else f"shape {values.shape}"
    require(fine, call, f"must return finite, {what} numbers of shape {shape}", got, "It is called with all at once.")
    return values
