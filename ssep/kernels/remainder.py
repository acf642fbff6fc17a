"""What a field at some places does not say about the rest of it."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.kernels.base import Kernel
from ssep.kernels.spatial import SpatialKernel
from ssep.linalg import solve_lower
from ssep.types import Scalar


class Remainder(SpatialKernel):
    """k(x1, x2) - k(x1, u) inv(K_uu) k(u, x2): the covariance given the field at the places u."""

    kernel: Kernel
    inducing: Float[Array, "node space"]

    def __call__(self, x1: Any, x2: Any) -> Scalar:
        """The covariance between two points."""
        return self.kernel(x1, x2) - jnp.sum(self.half(x1) * self.half(x2))

    def half(self, x: Any) -> Float[Array, " node"]:
        """inv(L) k(u, x)."""
        return solve_lower(self.factor(), jax.vmap(lambda u: self.kernel(u, x))(self.inducing))

    def factor(self) -> Float[Array, "node node"]:
        """L with L L' = K_uu and a nugget of the size of rounding on its diagonal, so that places may coincide."""
        gram = self.kernel.gram(self.inducing, self.inducing)
        nugget = 10 * jnp.finfo(gram.dtype).eps * jnp.trace(gram)
        return jnp.linalg.cholesky(gram + jax.lax.stop_gradient(nugget) * jnp.eye(gram.shape[0], dtype=gram.dtype))
