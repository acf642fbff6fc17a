"""Processes times functions of time."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ssep.checks import first_offender, is_concrete, require
from ssep.constraints import ANYTHING
from ssep.functions import as_function
from ssep.kernels.base import Kernel, Weighted, on_a_line, require_kernel
from ssep.kernels.weights import multiplied
from ssep.types import Scalar, State, StateMatrix


class Modulated(Kernel):
    """k(t1, t2) = w(t1) kernel(t1, t2) w(t2): the process times a function of time.

    Attributes:
        kernel: That of the process.
        weight: The function w. The numbers in a module are learned, those of a `Table` are not.
    """

    kernel: Kernel
    weight: Callable[[Any], Any] = eqx.field(metadata=ANYTHING)

    def __init__(self, kernel: Kernel, weight: Callable[[Any], Any]):
        require_kernel("Modulated(kernel)", kernel)
        remedy = "A covariate known at some times is a `ssep.kernels.Table(times, values)`."
        require(callable(weight), "Modulated(weight)", "must be a function of time", repr(weight), remedy)
        self.kernel, self.weight = kernel, as_function(weight)

    @property
    def state_dim(self) -> int:
        """That of the process."""
        return self.kernel.state_dim

    @property
    def settled(self) -> bool:
        """As the process."""
        return self.kernel.settled

    @property
    def noiseless(self) -> bool:
        """As the process."""
        return self.kernel.noiseless

    @property
    def proper(self) -> bool:
        """As the process."""
        return self.kernel.proper

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two times."""
        return self._at(on_a_line(self, x1)) * self.kernel(x1, x2) * self._at(on_a_line(self, x2))

    def transition(self, gap: Scalar) -> StateMatrix:
        """That of the process."""
        return self.kernel.transition(gap)

    def process_noise(self, gap: Scalar) -> StateMatrix:
        """That of the process."""
        return self.kernel.process_noise(gap)

    def state_cov(self, t: Scalar) -> StateMatrix:
        """That of the process."""
        return self.kernel.state_cov(t)

    def observation(self, t: Scalar) -> State:
        """That of the process, times the function."""
        return self._at(t) * self.kernel.observation(t)

    def blocks(self) -> tuple[Kernel, ...]:
        """Those of the process, times the function."""
        return tuple(dataclasses.replace(self, kernel=block) for block in self.kernel.blocks())

    def weighted(self) -> tuple[Weighted, ...]:
        """Those of the process, times the function."""
        return tuple(Weighted(each.kernel, multiplied([each.weight, self.weight])) for each in self.kernel.weighted())

    def check_times(self, t: np.ndarray) -> None:
        """The function must be finite."""
        self.kernel.check_times(t)
        values = jax.vmap(self._at)(jnp.asarray(t))
        if is_concrete(values):
            finite = np.isfinite(np.asarray(values))
            require(
                finite.all(),
                f"{type(self).__name__}(weight)",
                "must be finite at all times of the data and of predictions",
                "" if finite.all() else f"{first_offender(np.asarray(values), finite)}, at time {t[~finite][0]}",
                "A `Table` must reach from the first to the last time.",
            )

    def _at(self, t: Scalar) -> Scalar:
        try:
            value = jnp.asarray(self.weight(t))
        except jax.errors.TracerArrayConversionError as error:
            raise ValueError(
                "`Modulated(weight)` must be written with `jax.numpy`; got a function that turns its argument into a "
                "NumPy array. Replace `np.` by `jnp.` in it, or give its values as a `Table(times, values)`."
            ) from error
        requirement, remedy = "must have one number as its value", "Use a `Modulated` for each number and add them."
        require(value.shape == (), "Modulated(weight)", requirement, f"shape {value.shape}", remedy)
        return value.astype(t.dtype)
