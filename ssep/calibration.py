"""Whether predictions are as certain as they should be."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ssep.cubature import Dense
from ssep.data import Data, Observations
from ssep.likelihoods.base import Likelihood
from ssep.marginals import Marginals
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, Solution, as_solution
from ssep.types import Aux, Scalar
from ssep.unseen import latents_left_out, latents_of_new


def pit(
    key: PRNGKeyArray, solution: Solution | Fit, data: Data | None = None, *, smoother: Smoother = Sequential()
) -> Float[Array, "*obs"]:
    """Probability integral transforms: where each observation lies in its predictive distribution, between 0 and 1.

    Under the right model they are uniform. Where the distribution function jumps, as that of counts does, a number is
    drawn between its values before and after the jump; so it is for a reading of which only bounds are known.

    Args:
        key: A JAX random key, for observations that have a probability of their own.
        solution: What `infer` or `fit` returned.
        data: Observations that it has not seen, with their own `aux`; if absent, each observation of its own is
            predicted from all others, as in `leave_one_out`.
        smoother: How the filter and the smoother are run.

    Returns:
        One number per observation; NaN where one is missing.
    """
    solved = as_solution("pit", solution)
    if data is None:
        return _transform(key, solved.likelihood, solved.data.observations, latents_left_out(solved))
    return _transform(key, solved.likelihood, data.observations, latents_of_new("pit", solved, data, smoother))


@eqx.filter_jit
def _transform(key: PRNGKeyArray, lik: Likelihood, observations: Observations, marginals: Marginals) -> Array:
    def ends(y: Scalar, aux: Aux, marginal: Marginals) -> tuple[Scalar, Scalar]:
        return lik.predictive_cdf_ends(y, marginal, aux, Dense())

    before, after = observations.map(ends, marginals)
    share = jax.random.uniform(key, before.shape, before.dtype)
    # Sums of many weights can exceed one by rounding.
    values = jnp.clip(before + share * (after - before), 0, 1)
    return jnp.where(observations.mask, values, jnp.nan)
