"""Processes that grow from a beginning: Wiener, integrated Wiener, local linear trend."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ssep.checks import as_float, first_offender, require
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, numbers, on_a_line
from ssep.linalg import symmetrise
from ssep.types import Scalar, ScalarLike, State, StateMatrix

_HIGHEST = 6


class Growing(Kernel):
    """White noise integrated several times, from a `start` on; before it the process is not defined."""

    start: eqx.AbstractVar[float]
    initial: eqx.AbstractVar[tuple[Scalar, ...] | None]
    """Variances of the process and its derivatives at the start; none if absent."""

    @property
    def settled(self) -> bool:
        """Its variance grows."""
        return False

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two times: what the state of the earlier one becomes at the later one."""
        first, second = on_a_line(self, x1), on_a_line(self, x2)
        earlier = jnp.minimum(first, second)
        carried = self.transition(jnp.abs(first - second)) @ self.state_cov(earlier)
        return carried[0, 0]

    def transition(self, gap: Scalar) -> StateMatrix:
        """Each derivative is the slope of the one before: gap^(j - i) / (j - i)!."""
        steps = np.arange(self.state_dim)[None, :] - np.arange(self.state_dim)[:, None]
        scale = np.array([[1 / math.factorial(max(step, 0)) * (step >= 0) for step in row] for row in steps])
        return jnp.asarray(scale, gap.dtype) * _power(gap, np.maximum(steps, 0))

    def state_cov(self, t: Scalar) -> StateMatrix:
        """What came in since the start, and what there was."""
        gap = jnp.maximum(t - self.start, 0)
        noise = self.process_noise(gap)
        if self.initial is None:
            return noise
        transition = self.transition(gap)
        return symmetrise((transition * jnp.stack(self.initial)) @ transition.T) + noise

    def observation(self, t: Scalar) -> State:
        """The process is the first component."""
        return jnp.eye(1, self.state_dim, dtype=t.dtype)[0]

    def check_times(self, t: np.ndarray) -> None:
        """The process begins at the start."""
        after = t >= self.start
        require(
            after.all(),
            f"{type(self).__name__}(start)",
            f"must not lie after any time of the data or of predictions; it is {self.start}",
            "" if after.all() else f"the time {first_offender(t, after)}",
            "Choose an earlier start.",
        )


class IntegratedWiener(Growing):
    """White noise of a spectral density, integrated `order` + 1 times: Wiener's process for 0, cubic splines for 1.

    k(t1, t2) = variance * integral from start to min(t1, t2) of ((t1 - s)(t2 - s))^order ds / order!^2.

    Args:
        variance: The spectral density: the variance that the last derivative gains per unit of time.
        order: How often Wiener's process is integrated, up to 6.
        start: Where the process and its derivatives are zero, or have the `initial` variances.
        initial: Variances of the process and its `order` derivatives at the start, one for all or one for each.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    order: int = eqx.field(static=True)
    start: float = eqx.field(static=True)
    initial: tuple[Scalar, ...] | None = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0, order: int = 1, start: float = 0.0, initial: Any = None):
        valid = isinstance(order, int | np.integer) and 0 <= order <= _HIGHEST
        requirement = f"must be an integer from 0 to {_HIGHEST}"
        require(valid, "IntegratedWiener(order)", requirement, order, "1 gives cubic splines.")
        self.variance, self.order, self.start = as_float(variance), int(order), float(start)
        self.initial = None if initial is None else numbers("IntegratedWiener(initial)", initial, self.order + 1)

    @property
    def state_dim(self) -> int:
        """The process and its `order` derivatives."""
        return self.order + 1

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """In closed form."""
        return self.variance * integrated_noise(self.order, gap)


class Wiener(Growing):
    """k(t1, t2) = initial + variance (min(t1, t2) - start): Brownian motion.

    Args:
        variance: What the process gains per unit of time.
        start: Where the process is zero, or has the variance `initial`.
        initial: Its variance at the start.
    """

    variance: Scalar = eqx.field(metadata=POSITIVE)
    start: float = eqx.field(static=True)
    initial: tuple[Scalar, ...] | None = eqx.field(metadata=POSITIVE)

    def __init__(self, variance: ScalarLike = 1.0, start: float = 0.0, initial: ScalarLike | None = None):
        self.variance, self.start = as_float(variance), float(start)
        self.initial = None if initial is None else numbers("Wiener(initial)", initial, 1)

    @property
    def state_dim(self) -> int:
        """One."""
        return 1

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """It grows with time."""
        return (self.variance * gap)[None, None]


class LocalLinearTrend(Growing):
    """A level that moves by a slope, both of which wander: Wiener's process plus its integral plus a straight line.

    The continuous form of the structural time series model: over a unit of time the level gains noise of variance
    `level` and the slope noise of variance `slope`.

    Args:
        level: What the level gains per unit of time, besides the slope.
        slope: What the slope gains per unit of time.
        initial: Variances of level and slope at the start.
        start: The time of the start.
    """

    level: Scalar = eqx.field(metadata=POSITIVE)
    slope: Scalar = eqx.field(metadata=POSITIVE)
    start: float = eqx.field(static=True)
    initial: tuple[Scalar, ...] | None = eqx.field(metadata=POSITIVE)

    def __init__(self, level: ScalarLike = 1.0, slope: ScalarLike = 1.0, initial: Any = (1.0, 1.0), start: float = 0.0):
        self.level, self.slope, self.start = as_float(level), as_float(slope), float(start)
        self.initial = numbers("LocalLinearTrend(initial)", initial, 2)

    @property
    def state_dim(self) -> int:
        """Level and slope."""
        return 2

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """What both gain."""
        own = jnp.zeros((2, 2), gap.dtype).at[0, 0].set(self.level * gap)
        return own + self.slope * integrated_noise(1, gap)


def integrated_noise(order: int, gap: Scalar) -> StateMatrix:
    """The covariance of unit white noise integrated once to `order` + 1 times, the most integrated first."""
    left = order - np.arange(order + 1)
    powers = left[:, None] + left[None, :] + 1
    factorials = np.array([math.factorial(count) for count in left], float)
    scale = 1 / (powers * factorials[:, None] * factorials)
    return jnp.asarray(scale, gap.dtype) * _power(gap, powers)


def _power(gap: Scalar, exponents: np.ndarray) -> Array:
    """Powers of a gap, with derivatives that are finite at zero."""
    table = [jnp.ones_like(gap)]
    for _ in range(int(exponents.max())):
        table.append(table[-1] * gap)
    return jnp.stack(table)[exponents]
