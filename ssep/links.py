"""Link functions: from a latent on the real line to a rate or a probability, with an accurate logarithm."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array, Float


class Link(eqx.Module):
    """A positive, increasing function of a latent."""

    @abc.abstractmethod
    def __call__(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The value of the link."""

    @abc.abstractmethod
    def log(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the link, accurate where the link itself underflows."""


class Sigmoid(Link):
    """A link onto (0, 1) with link(-f) = 1 - link(f)."""

    @abc.abstractmethod
    def log_between(self, low: Float[Array, "*shape"], high: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """log(link(high) - link(low)) for low < high, accurate where both are near 0 or 1."""


class Exp(Link):
    """exp(f)."""

    def __call__(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The value of the link."""
        return jnp.exp(f)

    def log(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the link."""
        return f


class Softplus(Link):
    """log(1 + exp(f))."""

    def __call__(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The value of the link."""
        return jax.nn.softplus(f)

    def log(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the link."""
        # log(1 + e^f) = e^f to double precision below -37, where its logarithm is f and never -inf.
        tail = f < -37
        return jnp.where(tail, f, jnp.log(jax.nn.softplus(jnp.where(tail, 0, f))))


class Logistic(Sigmoid):
    """1 / (1 + exp(-f))."""

    def __call__(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The value of the link."""
        return jax.nn.sigmoid(f)

    def log(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the link."""
        return jax.nn.log_sigmoid(f)

    def log_between(self, low: Float[Array, "*shape"], high: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """As link(high) (1 - link(low)) (1 - exp(low - high))."""
        return self.log(high) + self.log(-low) + jnp.log(-jnp.expm1(low - high))


class Probit(Sigmoid):
    """The standard normal distribution function."""

    def __call__(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The value of the link."""
        return ndtr(f)

    def log(self, f: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The logarithm of the link."""
        return log_ndtr(f)

    def log_between(self, low: Float[Array, "*shape"], high: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """As a difference of lower tails, after a reflection if the upper ones are meant."""
        upper = low + high > 0
        low, high = jnp.where(upper, -high, low), jnp.where(upper, -low, high)
        return self.log(high) + jnp.log(-jnp.expm1(self.log(low) - self.log(high)))


exp = Exp()
softplus = Softplus()
logistic = Logistic()
probit = Probit()
