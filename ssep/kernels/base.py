"""What a kernel is: a covariance function that also has a state space form."""

import abc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import as_float, require
from ssep.constraints import Anything, Fixed, check_fields, constraints_of
from ssep.types import Scalar, ScalarLike, State, StateMatrix

if TYPE_CHECKING:
    from ssep.kernels.algebra import Product, Sum


class Kernel(eqx.Module):
    """A covariance function with a linear stochastic differential equation behind it.

    `k(x1, x2)` is the covariance of two points (numbers, or vectors where the kernel allows them); `k1 + k2`,
    `k1 * k2` and `2.0 * k` build new kernels. The other methods are the state space form: the process is
    f(t) = h(t)'x(t) with x(t + gap) = A(gap) x(t) + noise, noise ~ N(0, Q(gap)), and x(t) ~ N(0, P(t)). Of a stationary
    kernel neither h nor P depends on the time.
    """

    # NumPy numbers on the left leave the arithmetic to the kernel.
    __array_ufunc__ = None

    def __check_init__(self) -> None:
        """Check the declared constraints."""
        check_fields(self)

    @property
    @abc.abstractmethod
    def state_dim(self) -> int:
        """The number of state components."""

    @abc.abstractmethod
    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""

    @abc.abstractmethod
    def transition(self, gap: Scalar) -> StateMatrix:
        """A(gap); the identity for a zero gap."""

    @abc.abstractmethod
    def process_noise(self, gap: Scalar) -> StateMatrix:
        """Q(gap), never by subtracting covariances; zero for a zero gap."""

    @abc.abstractmethod
    def state_cov(self, t: Scalar) -> StateMatrix:
        """P(t), the covariance of the state at one time."""

    @abc.abstractmethod
    def observation(self, t: Scalar) -> State:
        """h(t), which takes the process out of the state."""

    @property
    def settled(self) -> bool:
        """Whether the state has the same covariance at all times."""
        return True

    @property
    def noiseless(self) -> bool:
        """Whether the state moves without noise."""
        return False

    @property
    def proper(self) -> bool:
        """Whether the process is a distribution."""
        return True

    def blocks(self) -> "tuple[Kernel, ...]":
        """Kernels of independent processes that add up to this one; their states need not meet until the end."""
        return (self,)

    def weighted(self) -> "tuple[Weighted, ...]":
        """The process as a sum of independent ones with constant h, each times a function of time, in state order."""
        return (Weighted(self, None),)

    def check_times(self, t: np.ndarray) -> None:
        """Raise if the process is not defined at some of these times."""

    def gram(self, x1: Any, x2: Any) -> Float[Array, "rows columns"]:
        """The covariance matrix between two sequences of points, shapes (n,) and (m,), or (n, R) and (m, R)."""
        return jax.vmap(lambda a: jax.vmap(lambda b: self(a, b))(as_float(x2)))(as_float(x1))

    def __add__(self, other: "Kernel | ScalarLike") -> "Sum":
        """The sum of two independent processes; a number is a random constant with that variance."""
        from ssep.kernels import algebra

        return algebra.add(self, other)

    def __radd__(self, other: ScalarLike) -> "Kernel":
        """As `__add__`; zero, where Python's `sum` begins, adds nothing."""
        from ssep.kernels import algebra

        return self if isinstance(other, int) and other == 0 else algebra.add(other, self)

    def __mul__(self, other: "Kernel | ScalarLike") -> "Product":
        """The product of two covariance functions; a number scales the variance."""
        from ssep.kernels import algebra

        return algebra.multiply(self, other)

    def __rmul__(self, other: ScalarLike) -> "Product":
        """As `__mul__`."""
        from ssep.kernels import algebra

        return algebra.multiply(other, self)


class Weighted(NamedTuple):
    """A process times a function of time."""

    kernel: Kernel
    weight: Callable[[Scalar], Scalar] | None
    """None for one."""


def distance(x1: Any, x2: Any, lengthscale: Array) -> Scalar:
    """Distance of two points in lengthscales, with a derivative that is zero, not NaN, where they coincide.

    One lengthscale serves all dimensions; a vector of them has one for each.
    """
    difference = _difference(x1, x2)
    require(
        lengthscale.shape in ((), difference.shape),
        "kernel(lengthscale)",
        f"must be a number, or one per dimension of the points, shape {difference.shape}",
        f"shape {lengthscale.shape}",
        "To run a grid of values, `jax.vmap` over them.",
    )
    difference = difference / lengthscale
    if difference.ndim == 0:
        return jnp.abs(difference)
    squared = jnp.sum(difference**2)
    return jnp.where(squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1)), 0)


def lag(kernel: Kernel, x1: Any, x2: Any) -> Scalar:
    """The difference of two points on a line, for kernels that are not defined elsewhere."""
    return on_a_line(kernel, _difference(x1, x2))


def on_a_line(kernel: Kernel, x: Any) -> Scalar:
    """One point on a line as a number."""
    point = as_float(x)
    require(
        point.size == 1,
        f"{type(kernel).__name__}(x1, x2)",
        "is defined for points on a line only",
        f"points of shape {point.shape}",
        "Use a Matern kernel for the other dimensions.",
    )
    return point.reshape(())


def _difference(x1: Any, x2: Any) -> Array:
    difference = as_float(x1) - as_float(x2)
    require(
        difference.ndim <= 1,
        "kernel(x1, x2)",
        "takes two single points, each a number or a vector",
        f"shapes {jnp.shape(x1)} and {jnp.shape(x2)}",
        "Use `kernel.gram(x1, x2)` for a covariance matrix.",
    )
    return difference


def numbers(call: str, values: Any, count: int) -> tuple[Scalar, ...]:
    """As many numbers as asked for, given one for all or one for each."""
    given = tuple(values) if isinstance(values, Sequence) or np.ndim(values) == 1 else (values,) * count
    requirement = f"must be one number, or one for each of {count}"
    require(len(given) == count, call, requirement, f"{len(given)} numbers", "Give one for each.")
    return tuple(as_float(value) for value in given)


def require_kernel(call: str, kernel: object) -> None:
    """Raise unless an argument is a kernel."""
    require(isinstance(kernel, Kernel), call, "must be a kernel", repr(kernel), "See `ssep.kernels`.")


def check_temporal(call: str, kernel: Kernel) -> None:
    """Raise unless the hyperparameters of a kernel in time are scalars."""
    pairs = zip(jax.tree.leaves(kernel), constraints_of(kernel), strict=True)
    shapes = {np.shape(leaf) for leaf, constraint in pairs if not isinstance(constraint, Fixed | Anything)}
    require(
        shapes <= {()},
        call,
        "needs scalar hyperparameters in time",
        f"shapes {sorted(shapes)} in {type(kernel).__name__}",
        "To run a grid of values, `jax.vmap` over them.",
    )
