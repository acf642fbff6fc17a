"""Sums and products of kernels."""

import functools
import itertools
from typing import Any

import jax.numpy as jnp
from jax.scipy.linalg import block_diag

from ssep.kernels.base import Kernel
from ssep.kernels.constant import Constant
from ssep.linalg import symmetrise
from ssep.types import Scalar, ScalarLike, State, StateMatrix


class Sum(Kernel):
    """k(x1, x2) = sum of the parts: independent processes added up, their states side by side."""

    parts: tuple[Kernel, ...]

    @property
    def state_dim(self) -> int:
        """The sum of the parts'."""
        return sum(part.state_dim for part in self.parts)

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return functools.reduce(jnp.add, [part(x1, x2) for part in self.parts])

    def transition(self, gap: Scalar) -> StateMatrix:
        """Block diagonal."""
        return block_diag(*[part.transition(gap) for part in self.parts])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """Block diagonal."""
        return block_diag(*[part.process_noise(gap) for part in self.parts])

    def stationary_cov(self) -> StateMatrix:
        """Block diagonal."""
        return block_diag(*[part.stationary_cov() for part in self.parts])

    def observation(self) -> State:
        """The parts' end to end."""
        return jnp.concatenate([part.observation() for part in self.parts])

    def blocks(self) -> tuple[Kernel, ...]:
        """Those of all parts."""
        return tuple(block for part in self.parts for block in part.blocks())


class Product(Kernel):
    """k(x1, x2) = product of the factors; the state is the Kronecker product of theirs."""

    factors: tuple[Kernel, ...]

    @property
    def state_dim(self) -> int:
        """The product of the factors'."""
        return functools.reduce(lambda size, factor: size * factor.state_dim, self.factors, 1)

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return functools.reduce(jnp.multiply, [factor(x1, x2) for factor in self.factors])

    def transition(self, gap: Scalar) -> StateMatrix:
        """Kronecker product."""
        return functools.reduce(jnp.kron, [factor.transition(gap) for factor in self.factors])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """What the Kronecker product of the states gains, as a sum of positive semi-definite terms.

        P1 x P2 - (P1 - Q1) x (P2 - Q2) = Q1 x P2 + (A1 P1 A1') x Q2, where P1 - Q1 = A1 P1 A1'.
        """
        noise, cov = self.factors[0].process_noise(gap), self.factors[0].stationary_cov()
        transition = self.factors[0].transition(gap)
        for factor in self.factors[1:]:
            carried = symmetrise(transition @ cov @ transition.T)
            noise = jnp.kron(noise, factor.stationary_cov()) + jnp.kron(carried, factor.process_noise(gap))
            cov = jnp.kron(cov, factor.stationary_cov())
            transition = jnp.kron(transition, factor.transition(gap))
        return noise

    def stationary_cov(self) -> StateMatrix:
        """Kronecker product."""
        return functools.reduce(jnp.kron, [factor.stationary_cov() for factor in self.factors])

    def observation(self) -> State:
        """Kronecker product."""
        return functools.reduce(jnp.kron, [factor.observation() for factor in self.factors])

    def blocks(self) -> tuple[Kernel, ...]:
        """A product of sums is a sum of products."""
        return tuple(Product(chosen) for chosen in itertools.product(*[factor.blocks() for factor in self.factors]))


def add(left: Kernel | ScalarLike, right: Kernel | ScalarLike) -> Sum:
    """A flat sum of two kernels or numbers."""
    parts = [term.parts if isinstance(term, Sum) else (term,) for term in map(_as_kernel, (left, right))]
    return Sum(parts[0] + parts[1])


def multiply(left: Kernel | ScalarLike, right: Kernel | ScalarLike) -> Product:
    """A flat product of two kernels or numbers."""
    factors = [term.factors if isinstance(term, Product) else (term,) for term in map(_as_kernel, (left, right))]
    return Product(factors[0] + factors[1])


def _as_kernel(value: Kernel | ScalarLike) -> Kernel:
    return value if isinstance(value, Kernel) else Constant(value)
