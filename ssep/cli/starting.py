"""Where learning starts: as the user says, and where nothing is said, on the scale of the data."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from ssep.checks import require
from ssep.data import Data
from ssep.expressions import format_likelihood, parse_likelihood
from ssep.expressions.starting import (
    is_left_open,
    starting_kernel,
    starting_latents,
    starting_lengthscale,
    starting_likelihood,
)
from ssep.likelihoods.base import Likelihood
from ssep.priors import SDEPrior

_REASONS = {
    "mean": "mean not given: latents at which observations have the mean of the data",
    "noise": "noise of the likelihood not given: a tenth of the variance of the data",
    "lengthscale": "lengthscale not given: a tenth of the time span",
    "variance": "variance not given: latents that move observations as far as the data vary",
}


class Start(NamedTuple):
    """A model to start from, and in words where its numbers come from."""

    prior: SDEPrior
    likelihood: Likelihood
    notes: list[str]


def starting_model(data: Data, likelihood: str, kernels: Sequence[str], mean: float | None) -> Start:
    """A prior and a likelihood for some data.

    Args:
        data: The observations.
        likelihood: An expression.
        kernels: Expressions, one for every latent or one for all.
        mean: The mean of the latents, if it was given.
    """
    seen = np.asarray(data.mask)
    y = np.asarray(data.y)[seen]
    require(len(y) > 0, "--target", "must have observations", "none", "Check the column.")
    written, lik = parse_likelihood(likelihood), starting_likelihood(likelihood, y)
    count = lik.num_latents or len(kernels)
    remedy = f"Give --kernel once, or {count} times."
    require(len(kernels) in (1, count), "--kernel", f"must be given for {count} latents", len(kernels), remedy)
    typical = jax.tree.map(lambda extra: np.mean(np.asarray(extra)[seen]), data.aux)
    latents = starting_latents(lik, y, count, typical)
    notes = {"mean"} if mean is None else set()
    if format_likelihood(lik) != format_likelihood(written):
        notes.add("noise")
    lengthscale, each = starting_lengthscale(np.asarray(data.t)), []
    for text, latent in zip([*kernels] * (count // len(kernels)), latents, strict=True):
        starts = {"lengthscale": lengthscale, "variance": latent.variance}
        each.append(starting_kernel(text, starts))
        notes |= {name for name in starts if is_left_open(text, starts, name)}
    means = tuple(float(latent.mean) if mean is None else mean for latent in latents)
    return Start(SDEPrior(tuple(each), mean=means), lik, [text for name, text in _REASONS.items() if name in notes])
