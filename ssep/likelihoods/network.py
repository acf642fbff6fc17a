"""Outputs that mix shared factors by weights that change in time."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import as_float, require
from ssep.constraints import POSITIVE
from ssep.likelihoods.conditionally_linear import ConditionallyLinear
from ssep.likelihoods.support import extra_number, require_outputs
from ssep.types import Aux, Scalar


class RegressionNetwork(ConditionallyLinear):
    """y ~ N(sum_q w_jq f_q, variance) for an observation of output j, with factors f_q and weights w_jq, all latents.

    The factors come first, then the weights, those of one output next to each other:
    (f_1, ..., f_Q, w_11, ..., w_1Q, w_21, ..., w_JQ). An observation depends on the factors and on the weights of its
    own output; the factors are integrated out in closed form, so that nodes are needed for Q dimensions.

    `Data(y, aux=...)` says which output each value of y is of: with a column for every output, pass
    `aux=Outputs.columns(y)`.

    Factors and weights can change their signs together, and factors their order. Give the weights prior means that are
    not zero, or inference starts, and may stay, between those possibilities.

    Wilson, Knowles and Ghahramani, "Gaussian process regression networks", 2012.

    Attributes:
        variance: That of the noise: one for all outputs, or one for each.
        outputs: How many there are.
        factors: How many there are.
    """

    variance: Float[Array, "*output"] = eqx.field(metadata=POSITIVE)
    outputs: int = eqx.field(static=True)
    factors: int = eqx.field(static=True)

    def __init__(self, variance: object, outputs: int, factors: int):
        self.variance = as_float(variance)
        self.outputs, self.factors = outputs, factors
        for name, value in [("outputs", outputs), ("factors", factors)]:
            whole = isinstance(value, int | np.integer) and value > 0
            require(whole, f"RegressionNetwork({name})", "must be a positive integer", value, "Give their number.")
        shape = self.variance.shape
        requirement = f"must be one number, or one for each of {outputs} outputs"
        require(shape in ((), (outputs,)), "RegressionNetwork(variance)", requirement, f"shape {shape}", "Give either.")

    @property
    def num_latents(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The factors, and as many weights for every output."""
        return self.factors * (1 + self.outputs)

    def node_dims(self, count: int) -> int:
        """The weights of one output need nodes."""
        return self.factors

    def split(self, count: int) -> int:
        """The factors are linear."""
        return self.factors

    def selection(self, count: int, aux: Aux) -> Float[Array, "own latent"] | None:
        """The factors, and the weights of the observation's own output."""
        own = jnp.arange(2 * self.factors)
        # The output's own weights come after the factors and the weights of the outputs before.
        wanted = own + jnp.where(own < self.factors, 0, self._output(aux) * self.factors)
        return (wanted[:, None] == jnp.arange(count)).astype(self.variance.dtype)

    def given(self, g: Float[Array, " other"], aux: Aux) -> tuple[Float[Array, " linear"], Scalar]:
        """The weights of the factors, and the noise of the output."""
        return g, self.variance if self.variance.ndim == 0 else self.variance[self._output(aux)]

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Outputs exist."""
        require_outputs(self, np.asarray(extra_number(self, aux, "its output", axes=y.ndim)), self.outputs)

    def _output(self, aux: Aux) -> Array:
        return extra_number(self, aux, "its output").astype(int)
