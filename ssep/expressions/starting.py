"""Where learning starts, from the size of the data: for texts that leave numbers open."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ssep.checks import require
from ssep.expressions.reading import parse_kernel, parse_likelihood
from ssep.kernels import Kernel
from ssep.likelihoods import Likelihood
from ssep.likelihoods.base import require_moments
from ssep.types import Aux

# The share of the variance of observations that is taken for noise.
_NOISE = 0.1
_FARTHEST = 1e12


class Start(NamedTuple):
    """A mean and a variance for a latent."""

    mean: float
    variance: float


def starting_likelihood(text: str, y: np.ndarray) -> Likelihood:
    """As `parse_likelihood`, but noise that the text leaves open starts at a tenth of the variance of y.

    Only for likelihoods of any real numbers: the parameters of others have other units.
    """
    likelihood = parse_likelihood(text)
    spread = float(np.std(y))
    try:
        likelihood.check_observations(np.array([-_FARTHEST, _FARTHEST]), None)
    except ValueError:
        return likelihood
    if not spread > 0:
        return likelihood
    return parse_likelihood(text, defaults={"variance": _NOISE * spread**2, "scale": np.sqrt(_NOISE) * spread})


def starting_kernel(text: str, starts: Mapping[str, Any]) -> Kernel:
    """As `parse_kernel`, with starts for what the text leaves open; raise if that is a period, which has none.

    Args:
        text: The expression.
        starts: Lengthscale and variance.
    """
    kernel, remedy = parse_kernel(text, defaults=starts), "Write it in units of time, as in `periodic(period=7)`."
    known = not is_left_open(text, starts, "period")
    require(known, "kernel", "must give the period of a pattern, which the data do not tell", repr(text), remedy)
    return kernel


def is_left_open(text: str, starts: Mapping[str, Any], name: str) -> bool:
    """Whether the text of a kernel leaves the number of some name to its default."""
    one, other = (parse_kernel(text, defaults={**starts, name: value}) for value in (1.0, 2.0))
    return not eqx.tree_equal(one, other)


def starting_lengthscale(points: np.ndarray, parts: float = 10.0) -> float:
    """A part of the range of some points on a line; one if they coincide."""
    span = float(np.ptp(points))
    return span / parts if span > 0 else 1.0


def starting_latents(likelihood: Likelihood, y: np.ndarray, count: int, aux: Aux = None) -> list[Start]:
    """A mean and a variance for each latent.

    With the first at its mean, observations have the mean of y, and a standard deviation more moves that by the
    standard deviation of y as far as it is not noise. For the others, observations have a tenth of the variance of y,
    and a standard deviation more makes it four times as much. Zero and one where a latent does no such thing.

    Args:
        likelihood: The likelihood.
        y: The observations, without missing ones.
        count: The number of latents.
        aux: The extras of a typical observation, such as the mean of the exposures.
    """
    try:
        require_moments(likelihood, "starting_latents(likelihood)")
    except ValueError:
        return [Start(0.0, 1.0)] * count
    values = np.asarray(y, float)
    level, spread = float(values.mean()), float(values.std())
    if likelihood.discrete:
        # Neither zero nor the largest, which no latent reaches.
        level = (float(values.sum()) + 0.5) / (len(values) + 1)
    latents = np.zeros(count)

    def moment(number: int, index: int) -> Callable[[float], float]:
        def at(latent: float) -> float:
            moved = jnp.asarray(np.where(np.arange(count) == index, latent, latents))
            return float(jnp.reshape(likelihood.conditional_moments(moved, aux)[number], ()))

        return at

    noise = _NOISE * spread**2
    latents[0] = _solve(moment(0, 0), level) or 0.0
    signal = np.sqrt(np.fmax(spread**2 - moment(1, 0)(latents[0]), noise))
    first = Start(latents[0], _squared(latents[0], _solve(moment(0, 0), level + signal)))
    others = [_between(moment(1, index), noise, 4 * noise) for index in range(1, count)]
    return [first, *others]


def _between(function: Callable[[float], float], low: float, high: float) -> Start:
    """Where an increasing function has one value, and how far it is to another."""
    begin = _solve(function, low)
    return Start(0.0, 1.0) if begin is None else Start(begin, _squared(begin, _solve(function, high)))


def _squared(begin: float, end: float | None) -> float:
    """A distance squared, one if there is none."""
    return (end - begin) ** 2 if end is not None and end > begin else 1.0


def _solve(function: Callable[[float], float], target: float) -> float | None:
    """Where an increasing function has a value, by bisection; None if it has not."""
    low, high = -1.0, 1.0
    while function(high) < target and high < _FARTHEST:
        high *= 4
    while function(low) > target and low > -_FARTHEST:
        low *= 4
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < target else (low, middle)
    reached = abs(function(high) - target) <= 1e-3 * max(abs(target), 1e-3)
    return high if reached else None
