"""How many events to expect per unit of exposure, with bands."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from ssep.checks import require
from ssep.cubature import finest_gauss_hermite
from ssep.likelihoods import NegativeBinomial, Poisson
from ssep.links import Link
from ssep.marginals import Marginals
from ssep.prediction import predict
from ssep.quantiles import as_levels
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.types import Scalar


class Intensity(eqx.Module):
    """The intensity link(f) at new times and places: a positive function with a distribution of its own.

    Without places all arrays begin with the number of new times; with places, with the numbers of times and of places.

    Attributes:
        t: The new times.
        r: The places, or None.
        f_mean: Means of the latent.
        f_var: Variances of the latent.
        link: From the latent to the intensity.
    """

    t: Float[Array, " new"]
    r: Float[Array, "*places space"] | None
    f_mean: Float[Array, "*new"]
    f_var: Float[Array, "*new"]
    link: Link

    @property
    def mean(self) -> Float[Array, "*new"]:
        """Its mean: in closed form for the exponential link, by cubature for others."""
        return _mean(self)

    def quantile(self, q: Any) -> Float[Array, "*q_and_new"]:
        """Its quantiles, exactly: the link of those of the latent, with which it grows."""
        levels = as_levels("Intensity.quantile(q)", q)
        levels = levels.reshape(*levels.shape, *(1,) * self.f_mean.ndim)
        return self.link(self.f_mean + jnp.sqrt(self.f_var) * ndtri(levels))


def intensity(
    solution: Solution | Fit, t_new: Any, *, r_new: Any = None, smoother: Smoother = Sequential()
) -> Intensity:
    """The posterior of the intensity of events at new times: between, before or after the data, in any order.

    It is per unit of exposure; for data from `Events.binned` that is per unit of time (and of volume) where the
    exposure is one. `predict` has the counts of bins instead.

    Args:
        solution: What `infer` or `fit` returned, with a `Poisson` likelihood; or a `NegativeBinomial` one, whose extra
            variance belongs to its bins: the intensity is that of the mean.
        t_new: Times, shape (m,).
        r_new: Places, as in `predict`.
        smoother: How the filter and the smoother are run.
    """
    lik = as_solution("intensity", solution).likelihood
    require(
        isinstance(lik, Poisson | NegativeBinomial),
        "intensity(solution)",
        "needs a likelihood with a rate, `Poisson` or `NegativeBinomial`",
        f"`{type(lik).__name__}`",
        "Use `ssep.predict` for the mean of observations.",
    )
    found = predict(solution, t_new, r_new=r_new, smoother=smoother)
    return Intensity(found.t, found.r, found.f_mean[..., 0], found.f_var[..., 0], lik.link)


@eqx.filter_jit
def _mean(found: Intensity) -> Array:
    counts, cubature = Poisson(found.link), finest_gauss_hermite(1)

    def of_one(mean: Scalar, variance: Scalar) -> Scalar:
        # That of a count with an exposure of one.
        return counts.predictive_moments(Marginals(mean[None], variance[None, None]), None, cubature)[0]

    for _ in range(found.f_mean.ndim):
        of_one = jax.vmap(of_one)
    return of_one(found.f_mean, found.f_var)
