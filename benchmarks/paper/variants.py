"""What the table's settings are worth: one thing changed at a time, everything else as in the table."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import ssep
from paper.experiments import Experiment
from paper.methods import Method
from paper.protocols import learn_ours
from ssep.sites import SiteState

# Of a hyperparameter's logarithm.
_DEVIATION = 1.0


class WithoutCrossTerms(ssep.Definiteness):
    """A precision per latent: what is known of one latent says nothing about another, unless the prior says so."""

    def aim(self, target: SiteState, expansion: Float[Array, "*obs latent"]) -> SiteState:
        """The diagonal, where it is positive, with the gradient at the expansion point."""
        diagonal = jnp.maximum(jnp.diagonal(target.precision, axis1=-2, axis2=-1), 0)
        precision = diagonal[..., None] * jnp.eye(diagonal.shape[-1])
        change = precision - target.precision
        return SiteState(target.linear + jnp.sum(change * expansion[..., None, :], -1), precision)


def learn_from_filter(method: Method, experiment: Experiment, model: tuple[Any, Any], data: ssep.Data) -> ssep.Fit:
    """The paper's energy for every rule."""
    return learn_ours(method._replace(energy=ssep.FilterEnergy()), experiment, model, data)


def learn_without_cross_terms(
    method: Method, experiment: Experiment, model: tuple[Any, Any], data: ssep.Data
) -> ssep.Fit:
    """Sites that treat latents one by one."""
    return learn_ours(method, experiment, model, data, step=ssep.AdaptiveStep(definiteness=WithoutCrossTerms()))


def learn_as_if_resolved(method: Method, experiment: Experiment, model: tuple[Any, Any], data: ssep.Data) -> ssep.Fit:
    """Inducing places without the variance that they leave."""
    prior, lik = model
    term = prior.terms[0]
    bare = ssep.SpatioTemporalPrior(term.temporal, term.spatial, term.inducing, conditional_variance=False)
    return learn_ours(method, experiment, (bare, lik), data)


def learn_with_priors(method: Method, experiment: Experiment, model: tuple[Any, Any], data: ssep.Data) -> ssep.Fit:
    """Log-normal priors: variances near 1, lengthscales near a tenth of the span of the data."""
    span = float(np.ptp(np.asarray(data.t)))

    def log_prior(prior: ssep.SDEPrior, lik: ssep.Likelihood) -> Array:
        kernels = prior.kernels
        logs = [jnp.log(kernel.variance) for kernel in kernels]  # pyright: ignore[reportAttributeAccessIssue]
        logs += [jnp.log(10 * kernel.lengthscale / span) for kernel in kernels]  # pyright: ignore[reportAttributeAccessIssue]
        return -jnp.sum(jnp.stack(logs) ** 2) / (2 * _DEVIATION**2)

    return learn_ours(method, experiment, model, data, log_prior=log_prior)


VARIANTS = {
    "filter energy": learn_from_filter,
    "no cross terms": learn_without_cross_terms,
    "no conditional variance": learn_as_if_resolved,
    "priors": learn_with_priors,
}
CHANGES = {
    "filter energy": "learned from the filter's energy",
    "no cross terms": "sites without cross terms",
    "no conditional variance": "without the conditional variance",
    "priors": "with priors of the hyperparameters",
}
"""How the table of changes names each."""
