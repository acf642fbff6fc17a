"""Sums and products of kernels."""

import functools
import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag

from ssep.checks import require
from ssep.kernels.base import Kernel, Weighted
from ssep.kernels.constant import Constant
from ssep.kernels.weights import multiplied
from ssep.linalg import symmetrise
from ssep.types import Scalar, ScalarLike, State, StateMatrix


class Sum(Kernel):
    """k(x1, x2) = sum of the parts: independent processes added up, their states side by side."""

    parts: tuple[Kernel, ...]

    @property
    def state_dim(self) -> int:
        """The sum of the parts'."""
        return sum(part.state_dim for part in self.parts)

    @property
    def settled(self) -> bool:
        """If all parts are."""
        return all(part.settled for part in self.parts)

    @property
    def noiseless(self) -> bool:
        """If all parts are."""
        return all(part.noiseless for part in self.parts)

    @property
    def proper(self) -> bool:
        """If all parts are."""
        return all(part.proper for part in self.parts)

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return functools.reduce(jnp.add, [part(x1, x2) for part in self.parts])

    def transition(self, gap: Scalar) -> StateMatrix:
        """Block diagonal."""
        return block_diag(*[part.transition(gap) for part in self.parts])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """Block diagonal."""
        return block_diag(*[part.process_noise(gap) for part in self.parts])

    def state_cov(self, t: Scalar) -> StateMatrix:
        """Block diagonal."""
        return block_diag(*[part.state_cov(t) for part in self.parts])

    def observation(self, t: Scalar) -> State:
        """The parts' end to end."""
        return jnp.concatenate([part.observation(t) for part in self.parts])

    def blocks(self) -> tuple[Kernel, ...]:
        """Those of all parts."""
        return tuple(block for part in self.parts for block in part.blocks())

    def weighted(self) -> tuple[Weighted, ...]:
        """Those of all parts."""
        return tuple(each for part in self.parts for each in part.weighted())

    def check_times(self, t: np.ndarray) -> None:
        """All parts must be defined."""
        for part in self.parts:
            part.check_times(t)


class Product(Kernel):
    """k(x1, x2) = product of the factors; the state is the Kronecker product of theirs.

    One factor may be a process whose state never settles, such as `Wiener`, if the others move without noise.
    """

    factors: tuple[Kernel, ...]

    def __check_init__(self) -> None:
        """Check that there is a distribution, and that its noise does not depend on the time."""
        proper = all(factor.proper for factor in self.factors)
        remedy = "A function of time times a flat number is `Modulated(Flat(), function)`."
        require(proper, "k1 * k2", "needs factors that are distributions", "a flat one", remedy)
        growing = [factor for factor in self.factors if not factor.settled]
        noisy = [factor for factor in self.factors if factor.settled and not factor.noiseless]
        names = " * ".join(type(factor).__name__ for factor in self.factors)
        require(
            not growing or (len(growing) == 1 and not noisy),
            names,
            "may have one factor whose variance grows with time, and then only factors that move without noise beside "
            "it (`Constant`, `Cosine`, `Periodic`, functions of time)",
            f"{len(growing)} that grow and {len(noisy)} that are driven by noise",
            "Add the kernels, or use a stationary one such as `Matern32` with a long lengthscale.",
        )

    @property
    def state_dim(self) -> int:
        """The product of the factors'."""
        return functools.reduce(lambda size, factor: size * factor.state_dim, self.factors, 1)

    @property
    def settled(self) -> bool:
        """If all factors are."""
        return all(factor.settled for factor in self.factors)

    @property
    def noiseless(self) -> bool:
        """If all factors are."""
        return all(factor.noiseless for factor in self.factors)

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return functools.reduce(jnp.multiply, [factor(x1, x2) for factor in self.factors])

    def transition(self, gap: Scalar) -> StateMatrix:
        """Kronecker product."""
        return functools.reduce(jnp.kron, [factor.transition(gap) for factor in self.factors])

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """What the Kronecker product of the states gains, as a sum of positive semi-definite terms.

        P1 x P2 - (P1 - Q1) x (P2 - Q2) = Q1 x P2 + (A1 P1 A1') x Q2, where P1 - Q1 = A1 P1 A1'. Beside a factor that
        never settles Q2 = 0, so that only the covariances P2 of settled factors are needed, at any time.
        """
        zero = jnp.zeros_like(gap)
        if not self.settled:
            return functools.reduce(
                jnp.kron,
                [factor.state_cov(zero) if factor.settled else factor.process_noise(gap) for factor in self.factors],
            )
        noise, cov = self.factors[0].process_noise(gap), self.factors[0].state_cov(zero)
        transition = self.factors[0].transition(gap)
        for factor in self.factors[1:]:
            carried = symmetrise(transition @ cov @ transition.T)
            noise = jnp.kron(noise, factor.state_cov(zero)) + jnp.kron(carried, factor.process_noise(gap))
            cov = jnp.kron(cov, factor.state_cov(zero))
            transition = jnp.kron(transition, factor.transition(gap))
        return noise

    def state_cov(self, t: Scalar) -> StateMatrix:
        """Kronecker product."""
        return functools.reduce(jnp.kron, [factor.state_cov(t) for factor in self.factors])

    def observation(self, t: Scalar) -> State:
        """Kronecker product."""
        return functools.reduce(jnp.kron, [factor.observation(t) for factor in self.factors])

    def blocks(self) -> tuple[Kernel, ...]:
        """A product of sums is a sum of products."""
        return tuple(Product(chosen) for chosen in itertools.product(*[factor.blocks() for factor in self.factors]))

    def weighted(self) -> tuple[Weighted, ...]:
        """A product of sums is a sum of products; functions of time multiply."""
        every = list(itertools.product(*[factor.weighted() for factor in self.factors]))
        if all(each.weight is None for chosen in every for each in chosen):
            return (Weighted(self, None),)
        return tuple(
            Weighted(Product(tuple(each.kernel for each in chosen)), multiplied([each.weight for each in chosen]))
            for chosen in every
        )

    def check_times(self, t: np.ndarray) -> None:
        """All factors must be defined."""
        for factor in self.factors:
            factor.check_times(t)


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
