"""Temporal Gaussian processes as stochastic differential equations."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from ssep.checks import require
from ssep.data import Data
from ssep.kernels.algebra import Sum
from ssep.kernels.base import Kernel, check_temporal
from ssep.linalg import UNROLL_LIMIT
from ssep.locations import Locations
from ssep.priors.base import Part, Prior, begin, spread_latents
from ssep.priors.means import Mean, as_means, mean_at
from ssep.statespace import Belief, Bundle, DenseDynamics, Dynamics, Shared, StructuredDynamics
from ssep.types import Scalar


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
        self.means = as_means("SDEPrior", mean, len(self.kernels))

    @property
    def num_latents(self) -> int:
        """One per kernel."""
        return len(self.kernels)

    def check_places(self, call: str, locations: Locations) -> None:
        """Times are all that is needed; places would be ignored."""
        require(
            locations.r is None,
            call,
            "must have no places for an `SDEPrior`, which knows time only",
            f"places of shape {getattr(locations.r, 'shape', None)}",
            "Use `SpatioTemporalPrior(temporal, spatial, inducing)`.",
        )

    def sizes(self, locations: Locations) -> tuple[int, int]:
        """The states of all kernels; a node per latent."""
        return sum(kernel.state_dim for kernel in self.kernels), self.num_latents

    def anchored(self, locations: Locations) -> "SDEPrior":
        """The nodes are the latents."""
        return self

    def dynamics(self, data: Data, start: Belief | None = None) -> Dynamics:
        """The states of all kernels side by side, or of their blocks, those of one kind together."""
        for kernel in self.kernels:
            check_temporal("SDEPrior(kernels)", kernel)
        # In the precision of the times, whatever the hyperparameters came in.
        kernels = jax.tree.map(lambda leaf: leaf.astype(data.t.dtype), self.kernels)

        blocks = [(latent, block) for latent, kernel in enumerate(kernels) for block in kernel.blocks()]
        if sum(block.state_dim for _, block in blocks) <= UNROLL_LIMIT:
            return begin(lambda gaps: _dense(kernels, gaps), data, start)
        groups: dict[Any, list[tuple[int, Kernel]]] = {}
        for latent, block in blocks:
            groups.setdefault(jax.tree.structure(block), []).append((latent, block))
        bundles = [_Group([latent for latent, _ in group], [block for _, block in group]) for group in groups.values()]
        stationary = [group.each(lambda block: block.stationary_cov()) for group in bundles]

        def over(gaps: Float[Array, " gap"]) -> StructuredDynamics:
            return StructuredDynamics(tuple(group.bundle(gaps) for group in bundles), stationary)

        return begin(over, data, start)

    def view(self, locations: Locations) -> Shared:
        """All observations of a time see the same latents."""
        return Shared(self.num_latents, locations.per_step, self._offset(locations))

    def covariance(self, locations: Locations) -> Float[Array, "..."]:
        """Independent latents, those of one time shared by its observations."""
        times = jnp.repeat(locations.t, locations.per_step or 1)
        grams = [kernel.gram(times, times) for kernel in self.kernels]
        return spread_latents(grams, locations)

    def residual(self) -> None:
        """The nodes are the latents."""

    def split(self) -> "tuple[SDEPrior, tuple[Part, ...]]":
        """The terms of each kernel that is a sum, or the kernel itself."""
        parts = tuple(
            Part(latent, term)
            for latent, kernel in enumerate(self.kernels)
            for term in (kernel.parts if isinstance(kernel, Sum) else (kernel,))
        )
        return SDEPrior([part.kernel for part in parts]), parts

    def _offset(self, locations: Locations) -> Float[Array, "time *obs latent"] | None:
        if self.means is None:
            return None
        columns = [jax.vmap(lambda t, mean=mean: mean_at("SDEPrior", mean, t))(locations.t) for mean in self.means]
        offset = jnp.stack(columns, -1)
        return offset if locations.per_step is None else jnp.repeat(offset[:, None], locations.per_step, 1)


def _dense(kernels: tuple[Kernel, ...], gaps: Float[Array, " gap"]) -> DenseDynamics:
    """The states of all kernels side by side: a state that is small anyhow gains nothing from structure."""
    cov = block_diag(*[kernel.stationary_cov() for kernel in kernels])
    return DenseDynamics(
        transitions=jax.vmap(lambda gap: block_diag(*[kernel.transition(gap) for kernel in kernels]))(gaps),
        noises=jax.vmap(lambda gap: block_diag(*[kernel.process_noise(gap) for kernel in kernels]))(gaps),
        observation=block_diag(*[kernel.observation() for kernel in kernels]),
        initial_mean=jnp.zeros_like(cov[0]),
        initial_cov=cov,
    )


class _Group:
    """Blocks that differ in their hyperparameters only, each of some latent: traced once, however many there are."""

    def __init__(self, latents: list[int], blocks: list[Kernel]):
        self.latents = tuple(latents)
        self.stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *blocks)

    def each(self, function: Callable[[Kernel], Any]) -> Any:
        """What a function gives for each block, the blocks last."""
        return jax.vmap(function, out_axes=-1)(self.stacked)

    def bundle(self, gaps: Float[Array, " gap"]) -> Bundle:
        """Their processes over some gaps."""
        return Bundle(
            transitions=jax.vmap(lambda gap: self.each(lambda block: block.transition(gap)))(gaps),
            noises=jax.vmap(lambda gap: self.each(lambda block: block.process_noise(gap)))(gaps),
            observation=self.each(lambda block: block.observation()),
            spatial=None,
            rows=self.latents,
        )
