"""Labels of several classes, with an order or without."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ssep import links
from ssep.checks import as_float, require
from ssep.constraints import INCREASING
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.support import require_all, require_sigmoid
from ssep.links import Sigmoid
from ssep.types import Aux, Latents, Scalar


class Ordinal(Likelihood):
    """Labels 0, ..., K - 1 in order: P(observation <= k) = link(thresholds[k] - f), with K - 1 thresholds."""

    num_latents: ClassVar[int | None] = 1
    discrete: ClassVar[bool] = True
    thresholds: Float[Array, " threshold"] = eqx.field(metadata=INCREASING)
    link: Sigmoid

    def __init__(self, thresholds: object, link: Sigmoid = links.logistic):
        self.thresholds = as_float(thresholds)
        self.link = link

    def __check_init__(self) -> None:
        """Check that the link gives probabilities."""
        require_sigmoid(self, self.link)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log mass of y given the latents."""
        last = self.thresholds.shape[0]
        above = self.thresholds[jnp.clip(y, 0, last - 1).astype(int)] - f[0]
        below = self.thresholds[jnp.clip(y - 1, 0, last - 1).astype(int)] - f[0]
        # The two ends have one threshold only; what is not asked for must be finite all the same.
        inner = (y > 0) & (y < last)
        between = self.link.log_between(below, jnp.where(inner, above, below + 1))
        return jnp.where(inner, between, jnp.where(y == 0, self.link.log(above), self.link.log(-below)))

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f] of the label as a number."""
        # y is the number of thresholds below it.
        exceeds = self.link(f[0] - self.thresholds)
        mean = jnp.sum(exceeds)
        square = jnp.sum((2 * jnp.arange(self.thresholds.shape[0]) + 1) * exceeds)
        return mean, jnp.maximum(square - mean**2, 0)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        uniform = jax.random.uniform(key, (), f.dtype)
        return jnp.sum(uniform > self.link(self.thresholds - f[0])).astype(f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        last = self.thresholds.shape[0]
        inside = self.link(self.thresholds[jnp.clip(jnp.floor(y), 0, last - 1).astype(int)] - f[0])
        return jnp.where(y < 0, 0, jnp.where(y >= last, 1, inside))

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Labels are integers from 0 to the number of thresholds."""
        last = self.thresholds.shape[0]
        remedy = "Number the classes in their order, from 0; mark missing ones as NaN."
        valid = (y >= 0) & (y <= last) & (y == np.round(y))
        require_all(self, y, valid, f"needs whole labels from 0 to {last} in y, one more than thresholds", remedy)


class Categorical(Likelihood):
    """Labels 0, ..., K - 1 without order: P(y = k) is the softmax of K latents.

    A label has no mean or variance, so the linearised rules do not apply. The probability of class k at new times is
    `exp(prediction.log_prob(y))` with y full of k.

    Attributes:
        num_classes: K, which is also the number of latents.
    """

    discrete: ClassVar[bool] = True
    num_classes: int = eqx.field(static=True)

    def __init__(self, num_classes: int):
        valid = isinstance(num_classes, int | np.integer) and num_classes >= 2
        remedy = "For two classes, `Bernoulli()` needs a single latent."
        require(valid, "Categorical(num_classes)", "must be an integer of at least 2", num_classes, remedy)
        self.num_classes = int(num_classes)

    @property
    def num_latents(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """One per class."""
        return self.num_classes

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log mass of y given the latents."""
        return jnp.sum(jnp.where(jnp.arange(self.num_classes) == y, jax.nn.log_softmax(f), 0))

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return jax.random.categorical(key, f).astype(f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of a label up to y given the latents."""
        return jnp.sum(jnp.where(jnp.arange(self.num_classes) <= y, jax.nn.softmax(f), 0))

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Labels are integers below the number of classes."""
        valid = (y >= 0) & (y < self.num_classes) & (y == np.round(y))
        remedy = "Number the classes from 0; mark missing ones as NaN."
        require_all(self, y, valid, f"needs whole labels from 0 to {self.num_classes - 1} in y", remedy)
