"""Heavy-tailed noise."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln
from jaxtyping import PRNGKeyArray

from ssep.checks import as_float, is_concrete, require
from ssep.constraints import POSITIVE
from ssep.likelihoods.base import Likelihood
from ssep.types import Aux, Latents, Scalar, ScalarLike


class StudentT(Likelihood):
    """y = f + scale * t, with t from Student's distribution with `df` degrees of freedom."""

    num_latents: ClassVar[int | None] = 1
    df: Scalar = eqx.field(metadata=POSITIVE)
    scale: Scalar = eqx.field(metadata=POSITIVE)

    def __init__(self, df: ScalarLike = 4.0, scale: ScalarLike = 1.0):
        self.df = as_float(df)
        self.scale = as_float(scale)

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        residual = (y - f[0]) / self.scale
        normaliser = gammaln((self.df + 1) / 2) - gammaln(self.df / 2) - jnp.log(self.df * jnp.pi) / 2
        return normaliser - jnp.log(self.scale) - (self.df + 1) / 2 * jnp.log1p(residual**2 / self.df)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f], which exists for df > 2 only."""
        exists = self.df > 2
        return f[0], jnp.where(exists, self.scale**2 * self.df / jnp.where(exists, self.df - 2, 1), jnp.inf)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return f[0] + self.scale * jax.random.t(key, self.df, (), f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        residual = (y - f[0]) / self.scale
        tail = betainc(self.df / 2, 0.5, self.df / (self.df + residual**2)) / 2
        return jnp.where(residual > 0, 1 - tail, tail)

    def check_moments(self) -> None:
        """The variance exists for df > 2 only."""
        if is_concrete(self.df):
            require(
                np.all(np.asarray(self.df) > 2),
                "StudentT(df)",
                "must exceed 2 where the variance of y is needed, by the linearised rules and by `y_var`",
                self.df,
                "Use `PowerEP` or `CVI`, and quantiles.",
            )
