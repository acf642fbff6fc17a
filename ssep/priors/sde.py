"""Temporal Gaussian processes as stochastic differential equations."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from ssep.checks import as_float, is_concrete, require
from ssep.data import Data
from ssep.kernels.algebra import Sum
from ssep.kernels.base import Kernel
from ssep.linalg import symmetrise
from ssep.priors.base import Part, Prior
from ssep.statespace import Belief, StateSpace
from ssep.types import Scalar, ScalarLike, StateMatrix

Mean = ScalarLike | Callable[[Scalar], Any]


class Function(eqx.Module):
    """A plain function of time, kept out of the arrays that JAX traces."""

    function: Callable[[Scalar], Any] = eqx.field(static=True)

    def __call__(self, t: Scalar) -> Any:
        """The function's value."""
        return self.function(t)


def _as_mean(mean: Any) -> Any:
    require(
        not isinstance(mean, Kernel),
        "SDEPrior(mean)",
        "must be a number or a function of time",
        f"the kernel {type(mean).__name__}",
        "Pass several kernels as a tuple: `SDEPrior((k1, k2))`.",
    )
    if isinstance(mean, eqx.Module):
        return mean
    if callable(mean):
        return Function(mean)
    value = as_float(mean)
    finite = not is_concrete(value) or bool(np.isfinite(np.asarray(value)).all())
    require(
        value.ndim == 0 and finite,
        "SDEPrior(mean)",
        "must be finite numbers or functions of time, one or one per latent",
        mean,
        "Pass a mean that varies as a function of time.",
    )
    return value


class SDEPrior(Prior):
    """One or several independent Gaussian processes in time.

    Args:
        kernels: A kernel, or one per latent.
        mean: A number or a function of time, or one per latent; zero if absent.
    """

    # Kernels, but not declared so: type checkers then let users read the fields of the ones they put in.
    kernels: tuple[Any, ...]
    means: tuple[Scalar | Callable[[Scalar], Any], ...] | None

    def __init__(self, kernels: Kernel | Sequence[Kernel], mean: Mean | Sequence[Mean] | None = None):
        given = (kernels,) if isinstance(kernels, Kernel) else kernels
        known = isinstance(given, Sequence) and bool(given) and all(isinstance(kernel, Kernel) for kernel in given)
        require(known, "SDEPrior(kernels)", "takes a kernel or a sequence of kernels", kernels, "See `ssep.kernels`.")
        self.kernels = tuple(given)
        if mean is None:
            self.means = None
            return
        several = isinstance(mean, Sequence) or (not callable(mean) and np.ndim(mean) == 1)
        means = tuple(mean) if several else (mean,) * len(self.kernels)  # pyright: ignore[reportArgumentType]
        require(
            len(means) == len(self.kernels),
            "SDEPrior(mean)",
            "must be one mean, or one per latent",
            f"{len(means)} means for {len(self.kernels)} latents",
            "Use 0.0 for a latent without a mean.",
        )
        self.means = tuple(_as_mean(entry) for entry in means)

    @property
    def num_latents(self) -> int:
        """One per kernel."""
        return len(self.kernels)

    def discretise(self, data: Data, start: Belief | None = None) -> StateSpace:
        """The state space model at the data's times, beginning with the prior or with an earlier belief."""
        self._check_scalars()
        # In the precision of the times, whatever the hyperparameters came in.
        kernels = jax.tree.map(lambda leaf: leaf.astype(data.t.dtype), self.kernels)

        def transition(gap: Scalar) -> StateMatrix:
            return block_diag(*[kernel.transition(gap) for kernel in kernels])

        def process_noise(gap: Scalar) -> StateMatrix:
            return block_diag(*[kernel.process_noise(gap) for kernel in kernels])

        if start is None:
            cov = block_diag(*[kernel.stationary_cov() for kernel in kernels])
            mean = jnp.zeros_like(cov[0])
        else:
            gap = data.t[0] - start.t
            carry = transition(gap)
            mean, cov = carry @ start.mean, symmetrise(carry @ start.cov @ carry.T) + process_noise(gap)
        return StateSpace(
            transitions=jax.vmap(transition)(data.gaps),
            noises=jax.vmap(process_noise)(data.gaps),
            gap_index=data.gap_index,
            initial_mean=mean,
            initial_cov=cov,
            observation=block_diag(*[kernel.observation() for kernel in kernels]),
            offset=self._offset(data.t),
            per_step=data.per_step,
        )

    def parts(self) -> tuple[Part, ...]:
        """The terms of each kernel that is a sum, or the kernel itself."""
        terms = [
            (latent, term)
            for latent, kernel in enumerate(self.kernels)
            for term in (kernel.parts if isinstance(kernel, Sum) else (kernel,))
        ]
        ends = np.cumsum([term.state_dim for _, term in terms])
        return tuple(
            Part(latent, term, jnp.zeros(ends[-1]).at[end - term.state_dim : end].set(term.observation()))
            for (latent, term), end in zip(terms, ends, strict=True)
        )

    def _offset(self, t: Float[Array, " time"]) -> Float[Array, "time latent"]:
        if self.means is None:
            return jnp.zeros((t.shape[0], self.num_latents), t.dtype)
        columns = [jax.vmap(mean)(t) if callable(mean) else jnp.broadcast_to(mean, t.shape) for mean in self.means]
        for column in columns:
            require(
                column.shape == t.shape,
                "SDEPrior(mean)",
                "must be a number or a function from one time to one number",
                f"shape {column.shape[1:]} per time",
                "Give one mean per latent as a tuple.",
            )
        return jnp.stack(columns, -1).astype(t.dtype)

    def _check_scalars(self) -> None:
        for kernel in self.kernels:
            shapes = {np.shape(leaf) for leaf in jax.tree.leaves(kernel)}
            require(
                shapes <= {()},
                "SDEPrior(kernels)",
                "needs scalar hyperparameters",
                f"shapes {sorted(shapes)} in {type(kernel).__name__}",
                "To run a grid of values, `jax.vmap` over them.",
            )
