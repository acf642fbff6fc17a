"""Several outputs, each its own mixture of shared latents."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ssep.checks import as_float, require
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood, Regression, Tilted, require_moments
from ssep.likelihoods.support import require_all
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class Outputs(Likelihood):
    """Output i has the latent weights[i] @ f, and an observation of it another likelihood of one latent.

    The latents are shared: with fewer than outputs they are factors, and together with their kernels this is the linear
    model of coregionalisation. Whatever their number, nodes are needed for one dimension, and closed forms stay.

    `Data(y, aux=...)` says which output each value of y is of: with a column for every output, pass
    `aux=Outputs.columns(y)`; if the other likelihood has extras, `aux=(Outputs.columns(y), extras)`.

    Attributes:
        likelihood: That of an observation given its output's latent.
        weights: A row for every output, a column for every latent; learned unless `fit` is told otherwise.
    """

    likelihood: Likelihood
    weights: Float[Array, "output latent"]

    def __init__(self, likelihood: Likelihood, weights: Any):
        single = isinstance(likelihood, Likelihood) and likelihood.num_latents == 1
        remedy = "For example `Outputs(Poisson(), weights)`."
        require(single, "Outputs(likelihood)", "must be a likelihood of one latent", repr(likelihood), remedy)
        self.likelihood = likelihood
        self.weights = as_float(weights)
        requirement, remedy = "must have a row per output and a column per latent", "Give a matrix."
        require(self.weights.ndim == 2, "Outputs(weights)", requirement, f"shape {self.weights.shape}", remedy)

    @staticmethod
    def columns(y: Any) -> np.ndarray:
        """The number of each value's column."""
        return np.broadcast_to(np.arange(np.shape(y)[-1], dtype=float), np.shape(y))

    @property
    def num_latents(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """One per column of the weights."""
        return self.weights.shape[1]

    @property
    def discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As the other likelihood."""
        return self.likelihood.discrete

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density (or mass) of y given the latents."""
        row, extra = self._row(aux)
        return self.likelihood.log_prob(y, jnp.sum(row * f)[None], extra)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        row, extra = self._row(aux)
        return self.likelihood.conditional_moments(jnp.sum(row * f)[None], extra)

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """By the chain rule from that of the output's latent."""
        row, extra = self._row(aux)
        found = self.likelihood.tilted(y, _mix(row, marginal), alpha, extra, cubature)
        return Tilted(found.log_normaliser, row * found.gradient[0], row[:, None] * row * found.hessian[0, 0])

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """That of the output's latent."""
        row, extra = self._row(aux)
        return self.likelihood.expected_log_prob(y, _mix(row, marginal), extra, cubature)

    def regression(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> Regression:
        """By the chain rule from that of the output's latent."""
        row, extra = self._row(aux)
        found = self.likelihood.regression(_mix(row, marginal), extra, cubature)
        return Regression(found.mean, row * found.slope[0], found.noise)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        row, extra = self._row(aux)
        return self.likelihood.sample(key, jnp.sum(row * f)[None], extra)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        row, extra = self._row(aux)
        return self.likelihood.cdf(y, jnp.sum(row * f)[None], extra)

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """That of the output's latent."""
        row, extra = self._row(aux)
        return self.likelihood.predictive_log_prob(y, _mix(row, marginal), extra, cubature)

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """Those of the output's latent."""
        row, extra = self._row(aux)
        return self.likelihood.predictive_moments(_mix(row, marginal), extra, cubature)

    def predictive_cdf(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """That of the output's latent."""
        row, extra = self._row(aux)
        return self.likelihood.predictive_cdf(y, _mix(row, marginal), extra, cubature)

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Outputs exist; the rest is for the other likelihood to say."""
        numbers, extra = self._parts(aux)
        output, count = np.asarray(numbers), self.weights.shape[0]
        valid = (output >= 0) & (output < count) & (output == np.round(output))
        requirement, remedy = f"needs outputs from 0 to {count - 1} in `Data(aux=...)`", "Pass `Outputs.columns(y)`."
        require_all(self, output, valid, requirement, remedy)
        self.likelihood.check_observations(y, extra)

    def check_moments(self) -> None:
        """They exist if those of the other likelihood do."""
        require_moments(self.likelihood, "Outputs")

    def _row(self, aux: Aux) -> tuple[Latents, Aux]:
        output, extra = self._parts(aux)
        return self.weights[output.astype(int)], extra

    def _parts(self, aux: Aux) -> tuple[Any, Aux]:
        pair = isinstance(aux, tuple | list) and len(aux) == 2
        output, extra = aux if pair else (aux, None)
        require(
            len(jax.tree.leaves(output)) == 1 and output is not None,
            "Outputs",
            "needs the output of each value in `Data(aux=...)`, alone or with extras: (output, extras)",
            f"{type(aux).__name__}",
            "Pass `aux=Outputs.columns(y)`.",
        )
        return jax.tree.leaves(output)[0], extra


def _mix(row: Latents, marginal: Marginals) -> Marginals:
    """The Gaussian of one output's latent."""
    variance = jnp.sum(row * jnp.sum(marginal.cov * row, -1))
    # An output that sees no latent has none to spread nodes over; what they say of it is multiplied by zero.
    variance = jnp.maximum(variance, float(jnp.finfo(variance.dtype).eps))
    return Marginals(jnp.sum(row * marginal.mean)[None], variance[None, None])
