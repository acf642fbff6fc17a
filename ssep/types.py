"""Shared array types: words for axes, one meaning per word."""

from typing import Any, TypeAlias

from jax.typing import ArrayLike
from jaxtyping import Array, Float, PyTree

Scalar: TypeAlias = Float[Array, ""]
Latents: TypeAlias = Float[Array, " latent"]
LatentMatrix: TypeAlias = Float[Array, "latent latent"]
State: TypeAlias = Float[Array, " state"]
StateMatrix: TypeAlias = Float[Array, "state state"]
Moments: TypeAlias = Float[Array, "state moments"]
"""A covariance with the mean as one more column, [P | m]: whatever moves one then moves both in a single product."""
ScalarLike: TypeAlias = ArrayLike
"""What a user may pass for a number: Python, NumPy or (traced) JAX scalar."""
Aux: TypeAlias = PyTree[Any]
"""Per-observation extras (exposure, trials): any pytree, or None."""
