"""Maps of fields in space and time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ssep.checks import as_float, require
from ssep.plotting.dates import Times
from ssep.plotting.horizon import Horizon
from ssep.plotting.panels import panels, put_legend
from ssep.prediction import Prediction, predict
from ssep.priors import SpatioTemporalPrior
from ssep.solution import Fit, Solution, as_solution

_CALL = "plotting.field"
_TIMES, _LINE, _SIDE = 200, 60, 50  # times and places of a line, and places along a side of the plane
_MARKER = {"linestyle": "", "markersize": 5, "color": "white", "markeredgecolor": "black", "markeredgewidth": 0.6}


def field(
    solution: Solution | Fit,
    at: float | None = None,
    *,
    t_new: Any = None,
    grid: Any = None,
    quantity: Callable[[Prediction], Any] | None = None,
    label: str | None = None,
    times: Times | None = None,
    ax: Any = None,
) -> Any:
    """Draw a field: on a line over time, or on the plane at one time; with the places of the data.

    On the plane the places are those of the data's time nearest to the map's, and crossed where nothing was observed.

    Args:
        solution: What `infer` or `fit` returned, with a prior in space and time.
        at: The time of a map of the plane; None for a field on a line.
        t_new: Times of a field on a line, shape (m,); from the first observation to the last if absent.
        grid: Where to draw: coordinates on a line, or a pair of arrays of coordinates along the sides of a rectangle;
            a little farther than the data's places if absent.
        quantity: What to draw, as a function of the prediction, for example `lambda p: p.y_mean`; the posterior mean
            of the first latent if absent.
        label: What the colour bar says of it.
        times: A function from times to dates, for the horizontal axis of a field on a line.
        ax: Axes to draw on; those of a new figure if absent.

    Returns:
        The axes.
    """
    solved = as_solution(_CALL, solution)
    prior = solved.prior
    remedy = "For a prior in time see `plotting.latents`."
    fits = isinstance(prior, SpatioTemporalPrior)
    require(fits, f"{_CALL}(solution)", "needs a prior in space and time", f"`{type(prior).__name__}`", remedy)
    places, dimensions = _places(solved), solved.data.locations.places.shape[-1]
    remedy = "Draw `predict(solution, t_new, r_new=...)` along a line or a plane that you choose."
    require(dimensions <= 2, _CALL, "draws one or two dimensions of space", dimensions, remedy)
    if quantity is None:
        quantity, label = _first_latent, label or f"posterior mean of f{'' if prior.num_latents == 1 else '[0]'}"
    remedy = "Give a time for a map of the plane, and none for a field on a line."
    require((at is None) == (dimensions == 1), f"{_CALL}(at)", f"does not fit {dimensions} dimensions", at, remedy)
    (panel,) = panels("field", 1, ax, size=(7.0, 3.5) if dimensions == 1 else (5.0, 4.0))
    if dimensions == 1:
        _draw_line(panel, Horizon("field", times), solved, places, t_new, grid, quantity, label)
    else:
        require(t_new is None, f"{_CALL}(t_new)", "is for fields on a line", "a plane", "Give `at`.")
        _draw_plane(panel, solved, places, at, grid, quantity, label)
    return panel


def _first_latent(prediction: Prediction) -> Any:
    return prediction.f_mean[..., 0]


def _places(solved: Solution) -> np.ndarray:
    """Of every observation, shape (*y.shape, R)."""
    locations = solved.data.locations
    return np.broadcast_to(np.asarray(locations.places), (*locations.shape, locations.places.shape[-1]))


def _draw_line(ax, horizon, solved, places, t_new, grid, quantity, label) -> None:
    t, mask = np.asarray(solved.data.t), np.asarray(solved.data.mask)
    seen = places[mask][:, 0]
    line = _side(seen, _LINE) if grid is None else _coordinates(grid)
    over = np.linspace(t[0], t[-1], _TIMES) if t_new is None else np.sort(np.asarray(t_new, float))
    values = _values(quantity, predict(solved, over, r_new=line[:, None]))
    _draw_colours(ax, horizon(over), line, values.T, label)
    when = np.broadcast_to(t.reshape(-1, *(1,) * (mask.ndim - 1)), mask.shape)[mask]
    ax.plot(horizon(when), seen, marker="o", label="observed", **(_MARKER | {"markersize": 2.5}))
    put_legend(ax)
    ax.set_ylabel("r")
    horizon.label(ax)


def _draw_plane(ax, solved, places, at, grid, quantity, label) -> None:
    t, mask = np.asarray(solved.data.t), np.asarray(solved.data.mask)
    known = places[mask]
    if grid is None:
        across, up = (_side(known[:, axis], _SIDE) for axis in range(2))
    else:
        require(
            len(grid) == 2, f"{_CALL}(grid)", "must be a pair of arrays on the plane", len(grid), "Give both sides."
        )
        across, up = (_coordinates(side) for side in grid)
    points = np.stack(np.meshgrid(across, up), -1)
    values = _values(quantity, predict(solved, [at], r_new=points.reshape(-1, 2)))
    _draw_colours(ax, across, up, values.reshape(len(up), len(across)), label)
    nearest = np.argmin(np.abs(t - at))
    here, there = places[nearest].reshape(-1, 2), mask[nearest].reshape(-1)
    ax.plot(*here[there].T, marker="o", label="observed", **_MARKER)
    if not there.all():
        ax.plot(*here[~there].T, marker="X", label="missing", **_MARKER)
    put_legend(ax)
    ax.set_aspect("equal")
    ax.set_xlabel("r[0]")
    ax.set_ylabel("r[1]")
    ax.set_title(f"t = {at:g}", fontsize="medium", loc="left")


def _side(seen: np.ndarray, count: int) -> np.ndarray:
    margin = 0.05 * np.ptp(seen)
    return np.linspace(seen.min() - margin, seen.max() + margin, count)


def _coordinates(given: Any) -> np.ndarray:
    side = np.sort(np.asarray(as_float(given)))
    fine = side.ndim == 1 and len(side) > 1
    require(fine, f"{_CALL}(grid)", "must hold coordinates, shape (m,)", f"shape {side.shape}", "`np.linspace` helps.")
    return side


def _values(quantity: Callable[[Prediction], Any], prediction: Prediction) -> np.ndarray:
    values, shape = np.asarray(quantity(prediction)), prediction.f_mean.shape[:-1]
    remedy = "For example `quantity=lambda p: p.f_var[..., 0]`."
    require(values.shape == shape, f"{_CALL}(quantity)", f"must give shape {shape}", f"shape {values.shape}", remedy)
    return values


def _draw_colours(ax: Any, x: np.ndarray, y: np.ndarray, values: np.ndarray, label: str | None) -> None:
    mesh = ax.pcolormesh(x, y, values, shading="gouraud", cmap="viridis", rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label=label or "")
