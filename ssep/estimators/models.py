"""From what an estimator is told to a prior, a likelihood and data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ssep.checks import require
from ssep.data import Data
from ssep.expressions.reading import parse_rule
from ssep.expressions.starting import (
    Start,
    starting_kernel,
    starting_latents,
    starting_lengthscale,
    starting_likelihood,
)
from ssep.kernels import Kernel
from ssep.likelihoods import Likelihood
from ssep.priors import Prior, SDEPrior, SpatioTemporalPrior
from ssep.rules import Rule

Kernels = str | Kernel | Sequence[str | Kernel]
"""A kernel or its text, or one per latent."""


def as_likelihood(likelihood: Any, y: np.ndarray) -> Likelihood:
    """A likelihood, made from its text if it is one."""
    found = starting_likelihood(likelihood, y) if isinstance(likelihood, str) else likelihood
    known, remedy = isinstance(found, Likelihood), 'For example "poisson", or `ssep.likelihoods.Poisson()`.'
    require(known, "TemporalGP(likelihood)", "must be a likelihood or its text", repr(found), remedy)
    return found


def as_rule(rule: str | Rule) -> Rule:
    """A rule, made from its text if it is one."""
    return parse_rule(rule) if isinstance(rule, str) else rule


def refuse_dates(X: Any) -> None:
    """Raise if there are dates among the columns, whose numbers would count nanoseconds or the like."""
    kinds = getattr(X, "dtypes", None)
    kinds = [getattr(X, "dtype", None)] if kinds is None else list(kinds)
    found = [kind for kind in kinds if getattr(kind, "kind", "") in ("m", "M") or str(kind).startswith("Datetime")]
    remedy = "Count units: `(dates - dates.min()) / np.timedelta64(1, 'D')`, or read them with `ssep.tables`."
    require(not found, "TemporalGP(X)", "must have times as numbers", f"dates ({', '.join(map(str, found))})", remedy)


def as_data(times: np.ndarray, places: np.ndarray, y: np.ndarray, at_stations: bool) -> Data:
    """Records in any order as data."""
    if places.shape[1] == 0:
        order = np.argsort(times, kind="stable")
        return Data(times[order], y[order])
    return Data.from_records(times, places, y, fixed_places=at_stations)


def make_prior(
    kernel: Kernels,
    spatial_kernel: Kernels,
    mean: Any,
    times: np.ndarray,
    places: np.ndarray,
    inducing: np.ndarray | None,
    starts: Sequence[Start],
) -> Prior:
    """A prior in time, or in space and time if there are places; texts take what they leave open from the data."""
    level = tuple(start.mean for start in starts) if mean is None else mean
    lengthscale = starting_lengthscale(times)
    temporal = _kernels(kernel, [{"lengthscale": lengthscale, "variance": start.variance} for start in starts])
    if places.shape[1] == 0:
        return SDEPrior(temporal, level)
    sides = [starting_lengthscale(column, 5.0) for column in places.T]
    # One number on a line; one for each dimension elsewhere, because their units may differ.
    in_space = {"lengthscale": sides[0] if len(sides) == 1 else np.array(sides), "variance": 1.0}
    spatial = _kernels(spatial_kernel, [in_space] * len(starts))
    return SpatioTemporalPrior(temporal, spatial, inducing, mean=level)


def starts_for(likelihood: Likelihood, kernel: Kernels, y: np.ndarray) -> list[Start]:
    """Where each latent starts: as many as there are kernels, or as the likelihood has."""
    one = isinstance(kernel, str | Kernel)
    known = one or (isinstance(kernel, Sequence) and all(isinstance(each, str | Kernel) for each in kernel))
    remedy = 'For example "matern52 + periodic(period=7)".'
    require(known, "TemporalGP(kernel)", "must be a kernel or its text, or several", repr(kernel), remedy)
    return starting_latents(likelihood, y, likelihood.num_latents or 1 if one else len(kernel))


def spread_places(places: np.ndarray, count: int) -> np.ndarray | None:
    """As many places as asked for, far from each other; None if there are no more than that.

    Each next one is the farthest from those before, with every dimension scaled to its range.
    """
    distinct = np.unique(places, axis=0)
    if len(distinct) <= count:
        return None
    span = np.ptp(distinct, axis=0)
    scaled = distinct / np.where(span > 0, span, 1)
    chosen = [int(np.argmin(np.sum((scaled - scaled.mean(0)) ** 2, 1)))]
    distance = np.full(len(distinct), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.sum((scaled - scaled[chosen[-1]]) ** 2, 1))
        chosen.append(int(np.argmax(distance)))
    return distinct[np.sort(chosen)]


def _kernels(kernel: Kernels, defaults: Sequence[Mapping[str, Any]]) -> tuple[Kernel, ...]:
    """A kernel for each latent: one for all, or one for each."""
    given = [kernel] * len(defaults) if isinstance(kernel, str | Kernel) else list(kernel)
    requirement, remedy = f"must be one, or one for each of {len(defaults)} latents", "Give one for all."
    require(len(given) == len(defaults), "TemporalGP(kernel, spatial_kernel)", requirement, len(given), remedy)
    return tuple(
        starting_kernel(each, values) if isinstance(each, str) else each
        for each, values in zip(given, defaults, strict=True)
    )
