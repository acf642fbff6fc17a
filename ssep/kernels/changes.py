"""Changes of variance at known times."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ssep.checks import require
from ssep.constraints import POSITIVE
from ssep.kernels.base import Kernel, numbers, require_kernel
from ssep.kernels.composite import Composite
from ssep.kernels.modulated import Modulated
from ssep.kernels.weights import Steps
from ssep.types import Scalar


class ChangingVariance(Composite):
    """k(t1, t2) = s(t1) kernel(t1, t2) s(t2): the process grows or shrinks by a factor at known times.

    Attributes:
        kernel: That of the process before all changes.
        changes: The times, in increasing order.
        scales: The factor s from each change on; it is one before the first.
    """

    kernel: Kernel
    changes: tuple[float, ...] = eqx.field(static=True)
    scales: tuple[Scalar, ...] = eqx.field(metadata=POSITIVE)

    def __init__(self, kernel: Kernel, changes: Sequence[float], scales: Any = 1.0):
        require_kernel("ChangingVariance(kernel)", kernel)
        times = tuple(float(change) for change in changes)
        increasing = bool(times) and all(math.isfinite(time) for time in times) and bool(np.all(np.diff(times) > 0))
        remedy = "Sort them; without changes use the kernel itself."
        require(increasing, "ChangingVariance(changes)", "must be finite times that increase", changes, remedy)
        self.kernel, self.changes = kernel, times
        self.scales = numbers("ChangingVariance(scales)", scales, len(times))

    def expansion(self) -> Kernel:
        """The process times a step function."""
        return Modulated(self.kernel, Steps(self.changes, (jnp.ones_like(self.scales[0]), *self.scales)))
