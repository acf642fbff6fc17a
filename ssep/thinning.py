"""New events, drawn from paths of the intensity by thinning."""

from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ssep.checks import require
from ssep.events import Events
from ssep.events.cells import Cells, divide
from ssep.events.log_linear import LogLinear
from ssep.events.windows import as_length, grid
from ssep.likelihoods import Poisson
from ssep.likelihoods.base import Likelihood
from ssep.priors.base import Prior
from ssep.sampling import sample
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.types import ScalarLike

# The least number of segments of the default grid.
_SEGMENTS = 1000
# How far the exposure may rise above its largest value on the grid.
_MARGIN = 2.0
# The most events that a sample may be expected to have.
_MOST = 10_000_000


def simulate_events(
    key: PRNGKeyArray,
    source: Solution | Fit | Prior,
    where: Any,
    num_samples: int = 1,
    *,
    lik: Likelihood | None = None,
    resolution: ScalarLike | None = None,
    cells: Any = None,
    smoother: Smoother = Sequential(),
) -> tuple[Events, ...]:
    """Draw new events from a posterior or from a prior: a path of the intensity for each sample, and events given it.

    The logarithm of a path is taken at the times of a grid, and linear in between; for a field, also constant within
    cells, at the value of their centres. From there on nothing is approximated: events come by thinning under the
    maximum of that function, and with the exposure as it is.

    Args:
        key: A JAX random key; the same one gives the same events.
        source: What `infer` or `fit` returned, with a `Poisson` likelihood; or a prior.
        where: Windows, or `Events` whose windows, region and exposure are meant, whatever the events.
        num_samples: The number of samples.
        lik: The likelihood along paths of a prior; a solution has its own.
        resolution: The largest distance between times of the grid; by default a thousandth of the windows, or the mean
            distance between times of the data if that is shorter. A tenth of the lengthscale is fine.
        cells: The numbers of cells of a region, as in `Events.binned`.
        smoother: How the filter and the smoother are run.
    """
    scope = where if isinstance(where, Events) else Events(np.empty(0), where)
    link = _likelihood(source, lik, scope).link
    divided = divide("simulate_events(cells)", scope.region, cells)
    times, left = grid(scope.windows, _resolution(source, scope.windows, resolution))
    path_key, event_key = jax.random.split(key)
    centres = None if divided is None else divided.centres
    paths = sample(path_key, source, times, num_samples, r_new=centres, smoother=smoother)
    bound = _exposure_bound(scope, times, divided)
    # The number of events varies, and with it shapes: NumPy has nothing to compile.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(event_key)))
    return tuple(
        _draw(rng, LogLinear(times[left], times[left + 1], values[left], values[left + 1]), bound, scope, divided)
        for values in np.asarray(link.log(paths.f[..., 0]), float)
    )


def _likelihood(source: Solution | Fit | Prior, lik: Likelihood | None, scope: Events) -> Poisson:
    """The likelihood of the counts, which says how an intensity follows from a latent."""
    if not isinstance(source, Prior):
        solved = as_solution("simulate_events", source)
        require(lik is None, "simulate_events(lik)", "is for a prior", "a solution with its own", "Leave it out.")
        require(
            scope.region is not None or solved.data.r is None,
            "simulate_events(where)",
            "must have a region, because the data have places",
            "windows alone",
            "Give `Events([], windows, r=np.empty((0, R)), region=...)`.",
        )
        lik = solved.likelihood
    require(
        isinstance(lik, Poisson),
        "simulate_events(source)" if lik is not None else "simulate_events(lik)",
        "needs a `Poisson` likelihood, with which given the intensity events know nothing of one another",
        f"`{type(lik).__name__}`",
        "Counts in bins of other likelihoods come from `ssep.sample(...).y`.",
    )
    return lik  # pyright: ignore[reportReturnType]


def _resolution(source: Solution | Fit | Prior, windows: np.ndarray, resolution: ScalarLike | None) -> float:
    if resolution is not None:
        return as_length("simulate_events(resolution)", resolution)
    finest = float(np.sum(np.diff(windows))) / _SEGMENTS
    if isinstance(source, Prior):
        return finest
    t = np.asarray(as_solution("simulate_events", source).data.t, float)
    spacing = float(t[-1] - t[0]) / max(len(t) - 1, 1)
    return min(finest, spacing) if spacing > 0 else finest


def _exposure_bound(scope: Events, times: np.ndarray, cells: Cells | None) -> float:
    """What the exposure does not exceed: with a margin, because only its values on the grid are known."""
    if scope.exposure is None:
        return 1.0
    if cells is None:
        return _MARGIN * float(np.max(scope.exposure_at(times)))
    at_cells = [scope.exposure_at(times, np.broadcast_to(r, (len(times), len(r)))) for r in cells.centres]
    return _MARGIN * float(np.max(at_cells))


def _draw(rng: np.random.Generator, path: LogLinear, bound: float, scope: Events, cells: Cells | None) -> Events:
    """Events of one path: those that the intensity brings, and of these what the exposure lets be seen."""
    scale = bound if cells is None else bound * cells.volume
    expected = scale * float(np.sum(path.integral))
    require(
        expected < _MOST,
        "simulate_events",
        f"draws at most {_MOST:.0e} events a sample",
        f"{expected:.3g}",
        "Check the units of the intensity, and the variance of the prior.",
    )
    t, (_, *cell) = path.draw(rng, scale)
    r = None if cells is None else cells.draw(rng, cell[0])
    exposure = scope.exposure_at(t, r)
    require(
        (exposure <= bound).all(),
        "simulate_events(resolution)",
        f"must resolve the exposure, which is at most {bound:.3g} if it does",
        f"an exposure of {np.max(exposure, initial=0):.3g}",
        "Use a finer resolution, or smaller cells.",
    )
    seen = rng.uniform(size=len(t)) * bound < exposure
    places = None if r is None else r[seen]
    return Events(t[seen], scope.windows, r=places, region=scope.region, exposure=scope.exposure)
