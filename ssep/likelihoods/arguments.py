"""What the parameters of a distribution may be: latents through links, and constants."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import require
from ssep.constraints import INCREASING, POSITIVE, PROBABILITY
from ssep.links import Link
from ssep.types import Aux, Latents, Scalar, ScalarLike


class Latent(eqx.Module):
    """One latent as a parameter of a distribution.

    Attributes:
        index: Its number.
        link: What maps it to the parameter; None if it is the parameter itself.
    """

    index: int = eqx.field(default=0, static=True)
    link: Link | None = None

    def __check_init__(self) -> None:
        """Check the number and the link."""
        whole = isinstance(self.index, int | np.integer) and self.index >= 0
        require(whole, "Latent(index)", "must be a non-negative integer", self.index, "0 is the first latent.")
        fine = self.link is None or isinstance(self.link, Link)
        require(fine, "Latent(link)", "must be a link object", repr(self.link), "For example `ssep.links.exp`.")

    def __call__(self, f: Latents, aux: Aux) -> Scalar:
        """The parameter."""
        return f[self.index] if self.link is None else self.link(f[self.index])


class Constant(eqx.Module):
    """A parameter that is the same for all observations."""

    value: eqx.AbstractVar[Any]

    @abc.abstractmethod
    def __call__(self, f: Latents, aux: Aux) -> ScalarLike:
        """The parameter."""


class RealConstant(Constant):
    """Any number, or several, learned as they are."""

    value: Float[Array, "..."]

    def __call__(self, f: Latents, aux: Aux) -> ScalarLike:
        """The parameter."""
        return self.value


class PositiveConstant(Constant):
    """A positive number, learned through its logarithm."""

    value: Float[Array, "..."] = eqx.field(metadata=POSITIVE)

    def __call__(self, f: Latents, aux: Aux) -> ScalarLike:
        """The parameter."""
        return self.value


class ProbabilityConstant(Constant):
    """A number between 0 and 1, learned through its log odds."""

    value: Float[Array, "..."] = eqx.field(metadata=PROBABILITY)

    def __call__(self, f: Latents, aux: Aux) -> ScalarLike:
        """The parameter."""
        return self.value


class IncreasingConstant(Constant):
    """Numbers that increase, learned in order."""

    value: Float[Array, "..."] = eqx.field(metadata=INCREASING)

    def __call__(self, f: Latents, aux: Aux) -> ScalarLike:
        """The parameter."""
        return self.value


class FixedConstant(Constant):
    """A number, or a list of numbers, that `fit` leaves alone, because it is no array."""

    value: Any

    def __call__(self, f: Latents, aux: Aux) -> ScalarLike:
        """The parameter."""
        return jnp.asarray(self.value) if isinstance(self.value, list) else self.value
