"""Temporal Gaussian processes as stochastic differential equations."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from ssep.checks import is_concrete, require
from ssep.data import Data
from ssep.kernels.algebra import Sum
from ssep.kernels.base import Kernel, check_temporal
from ssep.kernels.flat import Flat
from ssep.linalg import UNROLL_LIMIT
from ssep.locations import Locations
from ssep.priors.base import Part, Prior, begin, spread_latents
from ssep.priors.means import Mean, as_means, mean_at
from ssep.statespace import Belief, Bundle, DenseDynamics, Dynamics, Shared, StructuredDynamics, View, WeightedSums
from ssep.types import Scalar, State


class _Term(NamedTuple):
    """A term of a latent: a process whose state is read the same way at all times, times a function of time."""

    latent: int
    kernel: Kernel
    weight: Callable[[Scalar], Scalar] | None
    node: int
    """What it adds to: terms of a latent with the same function share a node."""


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
        if is_concrete(locations.t):
            for kernel in self._in_precision(locations.t.dtype):
                kernel.check_times(np.asarray(locations.t))

    def sizes(self, locations: Locations) -> tuple[int, int]:
        """The states of all kernels; a node per latent, and one per term that is multiplied by a function of time."""
        terms = self._terms(locations.t.dtype)
        return sum(kernel.state_dim for kernel in self.kernels), 1 + max(term.node for term in terms)

    def anchored(self, locations: Locations) -> "SDEPrior":
        """The nodes are the latents."""
        return self

    def dynamics(self, data: Data, start: Belief | None = None) -> Dynamics:
        """The states of all terms side by side, or of their blocks, those of one kind together."""
        for kernel in self.kernels:
            check_temporal("SDEPrior(kernels)", kernel)
        terms = self._terms(data.t.dtype)
        blocks = [(term.node, block) for term in terms for block in term.kernel.blocks()]
        if sum(block.state_dim for _, block in blocks) <= UNROLL_LIMIT:
            return begin(lambda gaps: _dense(terms, gaps, data.t[0]), data, start)
        groups: dict[Any, list[tuple[int, Kernel]]] = {}
        for node, block in blocks:
            groups.setdefault(jax.tree.structure(block), []).append((node, block))
        bundles = [_Group([node for node, _ in group], [block for _, block in group]) for group in groups.values()]
        initial = [group.each(lambda block: block.state_cov(data.t[0])) for group in bundles]
        flat = _flat([block for group in groups.values() for _, block in group], data.t.dtype)

        def over(gaps: Float[Array, " gap"]) -> StructuredDynamics:
            return StructuredDynamics(tuple(group.bundle(gaps) for group in bundles), initial, flat)

        return begin(over, data, start)

    def view(self, locations: Locations) -> View:
        """All observations of a time see the same latents: nodes, or sums of nodes times functions of time."""
        offset, per_step = self._offset(locations), locations.per_step
        terms = self._terms(locations.t.dtype)
        if all(term.weight is None for term in terms):
            return Shared(self.num_latents, per_step, offset)
        weights, sizes = [], []
        for latent in range(self.num_latents):
            nodes = {term.node: term.weight for term in terms if term.latent == latent}
            columns = jnp.stack([_over_time(weight, locations.t) for weight in nodes.values()], -1)
            weights.append(jnp.repeat(columns[:, None], per_step or 1, 1))
            sizes.append(len(nodes))
        return WeightedSums(
            weights=tuple(weights),
            offset=offset,
            unresolved=None,
            latents=tuple(range(self.num_latents)),
            sizes=tuple(sizes),
            moving=True,
            per_step=per_step,
            num_latents=self.num_latents,
        )

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

    def _terms(self, dtype: Any) -> tuple[_Term, ...]:
        kernels = self._in_precision(dtype)
        every = [(latent, *each) for latent, kernel in enumerate(kernels) for each in kernel.weighted()]
        nodes: dict[tuple[int, int], int] = {}
        return tuple(
            _Term(latent, kernel, weight, nodes.setdefault((latent, id(weight)), len(nodes)))
            for latent, kernel, weight in every
        )

    def _in_precision(self, dtype: Any) -> tuple[Any, ...]:
        """The kernels in the precision of the times, whatever the hyperparameters came in."""
        return jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, self.kernels)

    def _offset(self, locations: Locations) -> Float[Array, "time *obs latent"] | None:
        if self.means is None:
            return None
        columns = [jax.vmap(lambda t, mean=mean: mean_at("SDEPrior", mean, t))(locations.t) for mean in self.means]
        offset = jnp.stack(columns, -1)
        return offset if locations.per_step is None else jnp.repeat(offset[:, None], locations.per_step, 1)


def _over_time(weight: Callable[[Scalar], Scalar] | None, t: Float[Array, " time"]) -> Float[Array, " time"]:
    return jnp.ones_like(t) if weight is None else jax.vmap(lambda at: jnp.asarray(weight(at), t.dtype))(t)


def _dense(terms: tuple[_Term, ...], gaps: Float[Array, " gap"], t: Scalar) -> DenseDynamics:
    """The states of all terms side by side: a state that is small anyhow gains nothing from structure."""
    kernels = [term.kernel for term in terms]
    cov = block_diag(*[kernel.state_cov(t) for kernel in kernels])
    rows = block_diag(*[kernel.observation(t) for kernel in kernels])
    adds = jnp.arange(1 + max(term.node for term in terms))[:, None] == jnp.array([term.node for term in terms])
    return DenseDynamics(
        transitions=jax.vmap(lambda gap: block_diag(*[kernel.transition(gap) for kernel in kernels]))(gaps),
        noises=jax.vmap(lambda gap: block_diag(*[kernel.process_noise(gap) for kernel in kernels]))(gaps),
        observation=adds.astype(rows.dtype) @ rows,
        initial_mean=jnp.zeros_like(cov[0]),
        initial_cov=cov,
        flat=_flat(kernels, cov.dtype),
    )


def _flat(kernels: Sequence[Kernel], dtype: Any) -> State | None:
    """The precisions with which numbers without a prior begin; zero for all other components of the states."""
    if all(kernel.proper for kernel in kernels):
        return None
    parts = [
        1 / kernel.reference[None] if isinstance(kernel, Flat) else jnp.zeros(kernel.state_dim, dtype)
        for kernel in kernels
    ]
    return jnp.concatenate(parts)


class _Group:
    """Blocks that differ in their hyperparameters only, each of some node: traced once, however many there are."""

    def __init__(self, nodes: list[int], blocks: list[Kernel]):
        self.nodes = tuple(nodes)
        self.stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *blocks)

    def each(self, function: Callable[[Kernel], Any]) -> Any:
        """What a function gives for each block, the blocks last."""
        return jax.vmap(function, out_axes=-1)(self.stacked)

    def bundle(self, gaps: Float[Array, " gap"]) -> Bundle:
        """Their processes over some gaps."""
        return Bundle(
            transitions=jax.vmap(lambda gap: self.each(lambda block: block.transition(gap)))(gaps),
            noises=jax.vmap(lambda gap: self.each(lambda block: block.process_noise(gap)))(gaps),
            observation=self.each(lambda block: block.observation(gaps[0])),
            spatial=None,
            rows=self.nodes,
        )
