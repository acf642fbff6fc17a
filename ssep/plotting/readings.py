"""Sites as readings: a number with an error, for each observation and latent."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.marginals import Marginals
from ssep.sites import remove
from ssep.solution import Solution
from ssep.unseen import as_sites_see


class Readings(NamedTuple):
    """What observations say of one latent, in the order of their times."""

    t: np.ndarray
    mean: np.ndarray
    """NaN where the precision is zero."""
    precision: np.ndarray
    """Zero where an observation is missing."""
    missing: np.ndarray
    gaps: np.ndarray
    """Times at which nothing was observed."""
    posterior_mean: np.ndarray
    posterior_variance: np.ndarray


def readings_of(solved: Solution, latent: int, column: int | None) -> Readings:
    """The readings of a latent, in all columns or one."""
    data = solved.data
    linear, precision = _alone(solved, latent)
    posterior = solved.posterior
    parts = (linear, precision, ~data.mask, posterior.mean[..., latent], posterior.cov[..., latent, latent])
    per_column = [np.asarray(part).reshape(len(data.t), -1) for part in parts]
    chosen = slice(None) if column is None else slice(column, column + 1)
    b, weight, missing, mean, variance = (part[:, chosen].ravel() for part in per_column)
    gone = per_column[2][:, chosen]
    t = np.repeat(np.asarray(data.t), gone.shape[1])
    reading = np.divide(b, weight, out=np.full_like(b, np.nan), where=weight != 0)
    return Readings(t, reading, weight, missing, np.asarray(data.t)[gone.all(1)], mean, variance)


def _alone(solved: Solution, latent: int) -> tuple[Float[Array, "*obs"], Float[Array, "*obs"]]:
    """The site of one latent, with the others integrated out under the cavity: marginal over cavity marginal."""
    if solved.prior.num_latents == 1:
        return solved.sites.linear[..., 0], solved.sites.precision[..., 0, 0]
    resolved, _ = as_sites_see(solved)

    def of_latent(marginals: Marginals) -> tuple[Array, Array]:
        precision = 1 / marginals.cov[..., latent, latent]
        return precision * marginals.mean[..., latent], precision

    with_site, without = of_latent(resolved), of_latent(remove(resolved, solved.sites, 1.0))
    return jnp.subtract(with_site[0], without[0]), jnp.subtract(with_site[1], without[1])
