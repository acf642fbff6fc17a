"""Several outputs, each its own mixture of shared latents."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ssep.checks import as_float, require
from ssep.cubature import Cubature
from ssep.likelihoods.base import Likelihood, Regression, Tilted, require_moments
from ssep.likelihoods.kinds import Question, ask_own, only_own
from ssep.likelihoods.support import require_outputs
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class Outputs(Likelihood):
    """Output i has the latent weights[i] @ f, and an observation of it another likelihood of one latent.

    The latents are shared: with fewer than outputs they are factors, and together with their kernels this is the linear
    model of coregionalisation. Whatever their number, nodes are needed for one dimension, and closed forms stay.

    `Data(y, aux=...)` says which output each value of y is of: with a column for every output, pass
    `aux=Outputs.columns(y)`. If the other likelihood has extras, `aux=(Outputs.columns(y), extras)`; if there is one
    for every output, `extras` is a tuple with an entry for each, None or arrays with the shape of y, of which only the
    values at its own observations matter.

    Attributes:
        likelihood: That of an observation given its output's latent: one for all outputs, or a tuple with one for each.
        weights: A row for every output, a column for every latent; learned unless `fit` is told otherwise.
    """

    likelihood: Likelihood | tuple[Likelihood, ...]
    weights: Float[Array, "output latent"]

    def __init__(self, likelihood: Likelihood | Sequence[Likelihood], weights: Any):
        several = isinstance(likelihood, tuple | list)
        self.likelihood = tuple(likelihood) if several else likelihood  # pyright: ignore[reportAttributeAccessIssue]
        for each in self._likelihoods:
            single = isinstance(each, Likelihood) and each.num_latents == 1
            remedy = "For example `Outputs(Poisson(), weights)`, or `Outputs((Gaussian(), Poisson()), weights)`."
            require(single, "Outputs(likelihood)", "must be a likelihood of one latent", repr(each), remedy)
        self.weights = as_float(weights)
        requirement, remedy = "must have a row per output and a column per latent", "Give a matrix."
        require(self.weights.ndim == 2, "Outputs(weights)", requirement, f"shape {self.weights.shape}", remedy)
        count, rows = len(self._likelihoods), self.weights.shape[0]
        requirement, remedy = f"must have a likelihood for each of {rows} outputs", "Give one for all, or one for each."
        require(not several or count == rows, "Outputs(likelihood)", requirement, f"{count} likelihoods", remedy)

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
        """Whether all outputs are of integers."""
        return all(each.discrete for each in self._likelihoods)

    def is_discrete(self, aux: Aux) -> bool | Bool[Array, ""]:
        """Whether an observation is of integers, as its own output has it."""
        if isinstance(self.likelihood, Likelihood):
            return self.likelihood.is_discrete(self._parts(aux)[1])
        return self._ask(jnp.zeros(()), aux, lambda own, y, extra: jnp.asarray(own.is_discrete(extra)))

    def node_dims(self, count: int) -> int:
        """The output's latent alone needs nodes."""
        return 1

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density (or mass) of y given the latents."""
        own_f = self._own(f, aux)
        return self._ask(y, aux, lambda own, y, extra: jnp.reshape(own.log_prob(y, own_f, extra), ()))

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        own_f = self._own(f, aux)
        return self._ask(f[0], aux, lambda own, y, extra: own.conditional_moments(own_f, extra))

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """By the chain rule from that of the output's latent."""
        row, mixed = self._mix(marginal, aux)
        found = self._ask(y, aux, lambda own, y, extra: own.tilted(y, mixed, alpha, extra, cubature))
        return Tilted(found.log_normaliser, row * found.gradient[0], row[:, None] * row * found.hessian[0, 0])

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """That of the output's latent."""
        _, mixed = self._mix(marginal, aux)
        return self._ask(y, aux, lambda own, y, extra: own.expected_log_prob(y, mixed, extra, cubature))

    def regression(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> Regression:
        """By the chain rule from that of the output's latent."""
        row, mixed = self._mix(marginal, aux)
        found = self._ask(mixed.mean[0], aux, lambda own, y, extra: own.regression(mixed, extra, cubature))
        return Regression(found.mean, row * found.slope[0], found.noise)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        own_f = self._own(f, aux)
        return self._ask(f[0], aux, lambda own, y, extra: own.sample(key, own_f, extra))

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        own_f = self._own(f, aux)
        return self._ask(y, aux, lambda own, y, extra: own.cdf(y, own_f, extra))

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """That of the output's latent."""
        _, mixed = self._mix(marginal, aux)
        return self._ask(y, aux, lambda own, y, extra: own.predictive_log_prob(y, mixed, extra, cubature))

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """Those of the output's latent."""
        _, mixed = self._mix(marginal, aux)
        return self._ask(mixed.mean[0], aux, lambda own, y, extra: own.predictive_moments(mixed, extra, cubature))

    def predictive_cdf(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """That of the output's latent."""
        _, mixed = self._mix(marginal, aux)
        return self._ask(y, aux, lambda own, y, extra: own.predictive_cdf(y, mixed, extra, cubature))

    def predictive_cdf_ends(
        self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature
    ) -> tuple[Scalar, Scalar]:
        """Those of the output's latent."""
        _, mixed = self._mix(marginal, aux)
        return self._ask(y, aux, lambda own, y, extra: own.predictive_cdf_ends(y, mixed, extra, cubature))

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Outputs exist; the rest is for the likelihood of each to say."""
        output, extras = self._parts(aux)
        require_outputs(self, np.asarray(output), self.weights.shape[0])
        if isinstance(self.likelihood, Likelihood):
            return self.likelihood.check_observations(y, extras)
        for index, (each, extra) in enumerate(zip(self.likelihood, extras, strict=True)):
            # All of y with stand-ins, not a part of it, so that positions stay right.
            each.check_observations(*only_own(np.asarray(output) == index, each, y, extra))
        return None

    def check_moments(self) -> None:
        """They exist if those of the other likelihoods do."""
        for each in self._likelihoods:
            require_moments(each, "Outputs")

    def check_predictive_moments(self, call: str) -> None:
        """They exist if those of the other likelihoods do."""
        for each in self._likelihoods:
            each.check_predictive_moments(call)

    @property
    def _likelihoods(self) -> tuple[Likelihood, ...]:
        return self.likelihood if isinstance(self.likelihood, tuple) else (self.likelihood,)

    def _ask(self, y: Scalar, aux: Aux, ask: Question) -> Any:
        """What the output's own likelihood says."""
        output, extras = self._parts(aux)
        if isinstance(self.likelihood, Likelihood):
            return ask(self.likelihood, y, extras)
        return ask_own(self.likelihood, output, y, extras, ask)

    def _own(self, f: Latents, aux: Aux) -> Float[Array, " one"]:
        """The output's latent."""
        return jnp.sum(self._row(aux) * f)[None]

    def _mix(self, marginal: Marginals, aux: Aux) -> tuple[Latents, Marginals]:
        """The output's weights, and the Gaussian of its latent."""
        row = self._row(aux)
        variance = jnp.sum(row * jnp.sum(marginal.cov * row, -1))
        # An output that sees no latent has none to spread nodes over; what they say of it is multiplied by zero.
        variance = jnp.maximum(variance, float(jnp.finfo(variance.dtype).eps))
        return row, Marginals(jnp.sum(row * marginal.mean)[None], variance[None, None])

    def _row(self, aux: Aux) -> Latents:
        return self.weights[self._parts(aux)[0].astype(int)]

    def _parts(self, aux: Aux) -> tuple[Any, Any]:
        """The output of an observation, and its extras; with a likelihood for every output, those of each."""
        pair = isinstance(aux, tuple | list) and len(aux) == 2
        output, extras = aux if pair else (aux, None)
        require(
            len(jax.tree.leaves(output)) == 1 and output is not None,
            "Outputs",
            "needs the output of each value in `Data(aux=...)`, alone or with extras: (output, extras)",
            f"{type(aux).__name__}",
            "Pass `aux=Outputs.columns(y)`.",
        )
        if isinstance(self.likelihood, tuple):
            count = len(self.likelihood)
            extras = (None,) * count if extras is None else extras
            fine = isinstance(extras, tuple | list) and len(extras) == count
            requirement, remedy = f"needs extras for each of its {count} likelihoods", "Put None where there are none."
            require(fine, "Outputs", requirement, f"{type(extras).__name__}", remedy)
        return jax.tree.leaves(output)[0], extras
