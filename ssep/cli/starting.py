"""Where learning starts, if the user does not say: values that the data suggest."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import require
from ssep.data import Data
from ssep.expressions import format_kernel, parse_kernel
from ssep.likelihoods.base import Likelihood
from ssep.priors import SDEPrior

_VARIANCES = {
    True: "variance not given: that of the data, whose mean the latent is",
    False: "variance not given: 1, for a latent on the scale of a logarithm",
}
_GOLDEN = (5**0.5 - 1) / 2


class Start(NamedTuple):
    """A model to start from, and in words where its numbers come from."""

    prior: SDEPrior
    likelihood: Likelihood
    notes: list[str]


def starting_model(data: Data, likelihood: Likelihood, bare: bool, kernels: Sequence[str], mean: float | None) -> Start:
    """A prior and a likelihood for some data.

    Args:
        data: The observations.
        likelihood: As it was written.
        bare: Whether it was written without numbers, so that the size of its noise may come from the data.
        kernels: As they were written, one for every latent or one for all.
        mean: The mean of the latents, if it was given.
    """
    count = likelihood.num_latents or len(kernels)
    remedy = f"Give --kernel once, or {count} times."
    require(len(kernels) in (1, count), "--kernel", f"must be given for {count} latents", len(kernels), remedy)
    notes = []
    seen = np.asarray(data.y)[np.asarray(data.mask)]
    require(len(seen) > 0, "--target", "must have observations", "none", "Check the column.")
    spread = float(np.var(seen)) or 1.0
    direct = _is_mean(likelihood, data)
    if bare and direct:
        likelihood, noise = _with_noise(likelihood, spread)
        notes += noise
    centre = constant_latents(likelihood, data, count) if mean is None else np.full(count, mean)
    if mean is None:
        notes.append("mean not given: the constant under which the data are most probable")
    span = float(data.t[-1] - data.t[0]) or 1.0
    each, used = [], set()
    for index, text in enumerate(kernels if len(kernels) == count else [*kernels] * count):
        # A further latent, such as the size of the noise, stays far from zero at first, on whatever scale it is.
        variance = (spread if index == 0 else max(1.0, (centre[index] / 8) ** 2)) if direct else 1.0
        starts = {"lengthscale": span / 10, "variance": variance}
        each.append(parse_kernel(text, defaults=starts))
        used |= {name for name in starts if _matters(text, starts, name)}
    reasons = {"lengthscale": "lengthscale not given: a tenth of the time span", "variance": _VARIANCES[direct]}
    notes += [reason for name, reason in reasons.items() if name in used]
    return Start(SDEPrior(tuple(each), mean=tuple(map(float, centre))), likelihood, notes)


def _matters(text: str, starts: dict[str, float], name: str) -> bool:
    """Whether an expression leaves a value to its default."""
    one, other = (parse_kernel(text, defaults={**starts, name: value}) for value in (1.0, 2.0))
    return format_kernel(one) != format_kernel(other)


def constant_latents(likelihood: Likelihood, data: Data, count: int) -> np.ndarray:
    """The latents, the same at all times, under which the data are most probable: one after the other, three rounds."""

    @jax.jit
    def log_prob(f: Float[Array, " latent"]) -> Float[Array, ""]:
        observations = data.observations
        return jnp.sum(observations.map(lambda y, aux: jnp.reshape(likelihood.log_prob(y, f, aux), ())))

    best = np.zeros(count)
    for _ in range(3 if count > 1 else 1):
        for index in range(count):

            def along(value: float, index: int = index) -> float:
                moved = best.copy()
                moved[index] = value
                found = float(log_prob(jnp.asarray(moved)))
                return found if np.isfinite(found) else -np.inf

            best[index] = _maximum(along, best[index])
    return best


def _maximum(function: Callable[[float], float], start: float) -> float:
    """Where a function with one peak is largest: beyond it on both sides, then by golden sections."""
    low, high = (_beyond(function, start, sign) for sign in (-1.0, 1.0))
    for _ in range(60):
        inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, outer) if function(inner) >= function(outer) else (inner, high)
    return (low + high) / 2


def _beyond(function: Callable[[float], float], start: float, sign: float) -> float:
    """A place beyond the peak on one side."""
    reached, step = function(start), sign
    # Where the data are all alike, the best latent may be infinite: enough is enough.
    while abs(step) < 2.0**40 and (further := function(start + step)) > reached:
        reached, step = further, 2 * step
    return start + step


def _is_mean(likelihood: Likelihood, data: Data) -> bool:
    """Whether the first latent is the mean of an observation, so that both have one scale."""
    if likelihood.num_latents is None:
        return False
    extras = jax.tree.map(lambda extra: extra.reshape(-1)[0], data.aux)
    try:
        likelihood.check_predictive_moments("ssep fit")
        probes = [jnp.zeros(likelihood.num_latents).at[0].set(value) for value in (0.0, 1.0, -3.0)]
        means = [float(likelihood.conditional_moments(probe, extras)[0]) for probe in probes]
    except ValueError:  # no moments
        return False
    return bool(np.allclose(means, (0.0, 1.0, -3.0)))


def _with_noise(likelihood: Any, spread: float) -> tuple[Likelihood, list[str]]:
    """Noise of half the standard deviation of the data."""
    for name, value in {"variance": spread / 4, "scale": spread**0.5 / 2}.items():
        if hasattr(likelihood, name):
            changed = eqx.tree_at(lambda each, name=name: getattr(each, name), likelihood, jnp.asarray(value))
            return changed, [f"{name} of the likelihood not given: noise of half the data's standard deviation"]
    return likelihood, []
