"""What is to be known of a prediction, as plain arrays."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ssep.checks import require
from ssep.prediction import Prediction


class Summary(NamedTuple):
    """Statistics of observations and of latents, all with the same axes in front."""

    moments: dict[str, np.ndarray]
    """`mean` and `sd` of observations."""
    levels: tuple[float, ...]
    quantiles: np.ndarray
    """Of observations, with a last axis for the levels."""
    latents: dict[str, np.ndarray]
    """`f_mean` and `f_sd`, with a last axis for the latents."""

    def picked(self, pick: Callable[[np.ndarray], np.ndarray]) -> "Summary":
        """The same statistics with other axes in front."""
        moments, latents = (
            {name: pick(value) for name, value in part.items()} for part in (self.moments, self.latents)
        )
        return Summary(moments, self.levels, pick(self.quantiles), latents)

    @property
    def of_observations(self) -> dict[str, np.ndarray]:
        """One array per statistic of the observations, with the names of columns."""
        quantiles = {f"q{level:g}": self.quantiles[..., index] for index, level in enumerate(self.levels)}
        return {**self.moments, **quantiles}

    @property
    def of_latents(self) -> dict[str, np.ndarray]:
        """One array per statistic of each latent, with the names of columns: `f_mean`, or `f0_mean`, `f1_mean`, ..."""
        return {
            (name if value.shape[-1] == 1 else f"f{index}{name[1:]}"): value[..., index]
            for name, value in self.latents.items()
            for index in range(value.shape[-1])
        }


def summarise(prediction: Prediction, quantiles: Sequence[float], moments: bool, latents: bool) -> Summary:
    """The statistics that are asked for."""
    names = [f"{level:g}" for level in quantiles]
    remedy = "Levels that agree to six digits share a column."
    require(len(set(names)) == len(names), "Series.predict(quantiles)", "must be distinct", quantiles, remedy)
    shape = prediction.f_mean.shape[:-1]
    found = jnp.moveaxis(prediction.quantile(list(quantiles)), 0, -1) if quantiles else np.empty((*shape, 0))
    of_y = {"mean": np.asarray(prediction.y_mean), "sd": np.sqrt(np.asarray(prediction.y_var))} if moments else {}
    of_f = {"f_mean": np.asarray(prediction.f_mean), "f_sd": np.sqrt(np.asarray(prediction.f_var))} if latents else {}
    return Summary(of_y, tuple(map(float, quantiles)), np.asarray(found), of_f)
