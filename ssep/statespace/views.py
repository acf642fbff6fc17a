"""What each observation sees of the nodes of its step."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ssep.linalg import symmetrise
from ssep.marginals import Marginals
from ssep.sites import SiteState


class View(eqx.Module):
    """The latents of an observation: a linear function of the nodes, a mean, and what the nodes do not resolve.

    Methods that take a `step` work on one step, given its entry of `steps`.
    """

    offset: eqx.AbstractVar[Float[Array, "time *obs latent"] | None]
    """The prior means of the latents; None if they are zero."""
    unresolved: eqx.AbstractVar[Float[Array, "time *obs latent"] | None]
    """The variances of the latents given all nodes; None if there are none."""
    per_step: eqx.AbstractVar[int | None]
    """Observations per step; None for one, without an axis of its own."""
    num_latents: eqx.AbstractVar[int]
    """The latents of one observation."""

    @property
    @abc.abstractmethod
    def steps(self) -> PyTree[Array]:
        """What differs from step to step, time first."""

    @abc.abstractmethod
    def read(self, step: PyTree, nodes: Float[Array, "node columns"]) -> Float[Array, "*obs latent columns"]:
        """From nodes to latents, without their means."""

    @abc.abstractmethod
    def write(self, step: PyTree, latents: Float[Array, "*obs latent columns"]) -> Float[Array, "node columns"]:
        """The adjoint of `read`."""

    @abc.abstractmethod
    def collect(self, step: PyTree, sites: SiteState) -> SiteState:
        """All sites of a step as one site of its nodes."""

    @abc.abstractmethod
    def spread(self, step: PyTree, nodes: Marginals) -> Marginals:
        """The Gaussian of a step's nodes as marginals of each of its observations, without their means."""

    def centre(self, sites: SiteState) -> tuple[SiteState, Float[Array, " time"] | None]:
        """The sites as functions of the latents less their means, and the logarithm of what that takes out per step."""
        if self.offset is None:
            return sites, None
        # So that the derivative in the precision is symmetric as well.
        precision = symmetrise(sites.precision)
        pull = jnp.einsum("...ij,...j->...i", precision, self.offset)
        constant = jnp.sum(self.offset * (sites.linear - pull / 2), tuple(range(1, self.offset.ndim)))
        return SiteState(sites.linear - pull, precision), constant

    def with_means(self, mean: Float[Array, "time *obs latent"]) -> Float[Array, "time *obs latent"]:
        """Means of the latents, those of the prior included."""
        return mean if self.offset is None else mean + self.offset

    def complete(self, marginals: Marginals) -> Marginals:
        """Marginals of the latents themselves: with what the nodes do not resolve."""
        return marginals.widened(self.unresolved)


class Shared(View):
    """Every observation of a step sees all its nodes, which are the latents."""

    offset: Float[Array, "time *obs latent"] | None
    unresolved: Float[Array, "time *obs latent"] | None
    per_step: int | None = eqx.field(static=True)
    num_latents: int = eqx.field(static=True)

    def __init__(
        self, num_latents: int, per_step: int | None = None, offset: Float[Array, "time *obs latent"] | None = None
    ):
        self.offset, self.unresolved, self.per_step, self.num_latents = offset, None, per_step, num_latents

    @property
    def steps(self) -> PyTree[Array]:
        """Nothing differs."""
        return None

    def read(self, step: PyTree, nodes: Float[Array, "node columns"]) -> Float[Array, "*obs latent columns"]:
        """A copy for each observation."""
        return nodes if self.per_step is None else jnp.broadcast_to(nodes, (self.per_step, *nodes.shape))

    def write(self, step: PyTree, latents: Float[Array, "*obs latent columns"]) -> Float[Array, "node columns"]:
        """The sum over observations."""
        return latents if self.per_step is None else latents.sum(0)

    def collect(self, step: PyTree, sites: SiteState) -> SiteState:
        """Natural parameters add."""
        return sites if self.per_step is None else SiteState(sites.linear.sum(0), sites.precision.sum(0))

    def spread(self, step: PyTree, nodes: Marginals) -> Marginals:
        """A copy for each observation."""
        if self.per_step is None:
            return nodes
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.per_step, *leaf.shape)), nodes)


class WeightedSums(View):
    """Every observation sees the nodes of each term with weights of its own, which follow from its place or its time.

    Weights are per term: (J, m) if they stay, (n, J, m) if they move, None where each observation sees its own node.
    """

    weights: tuple[Float[Array, "..."] | None, ...]
    offset: Float[Array, "time *obs latent"] | None
    unresolved: Float[Array, "time *obs latent"] | None
    latents: tuple[int, ...] = eqx.field(static=True)
    """Which latent each term belongs to."""
    sizes: tuple[int, ...] = eqx.field(static=True)
    """The nodes of each term."""
    moving: bool = eqx.field(static=True)
    per_step: int | None = eqx.field(static=True)
    num_latents: int = eqx.field(static=True)

    @property
    def steps(self) -> PyTree[Array]:
        """The weights of each step, if they move."""
        return self.weights if self.moving else None

    def read(self, step: PyTree, nodes: Float[Array, "node columns"]) -> Float[Array, "*obs latent columns"]:
        """The weighted sum of the nodes of all terms."""
        empty = jnp.zeros((self.per_step or 1, nodes.shape[-1]), nodes.dtype)
        columns, begin = [empty] * self.num_latents, 0
        for latent, size, weights in zip(self.latents, self.sizes, self._weights(step), strict=True):
            values = nodes[begin : begin + size]
            columns[latent] += values if weights is None else weights @ values
            begin += size
        seen = jnp.stack(columns, 1)
        return seen[0] if self.per_step is None else seen

    def write(self, step: PyTree, latents: Float[Array, "*obs latent columns"]) -> Float[Array, "node columns"]:
        """The adjoint."""
        rows = latents[None] if self.per_step is None else latents
        parts = [
            rows[:, latent] if weights is None else weights.T @ rows[:, latent]
            for latent, weights in zip(self.latents, self._weights(step), strict=True)
        ]
        return jnp.concatenate(parts)

    def collect(self, step: PyTree, sites: SiteState) -> SiteState:
        """W'b and W' Lam W."""
        rows = self._rows(step, sites.linear.dtype)
        weighted = jnp.einsum("...ij,...jb->...ib", sites.precision, rows)
        return SiteState(
            self.write(step, sites.linear[..., None])[:, 0], symmetrise(jnp.einsum("...ia,...ib->ab", rows, weighted))
        )

    def spread(self, step: PyTree, nodes: Marginals) -> Marginals:
        """W m and the blocks of W V W'."""
        rows = self._rows(step, nodes.mean.dtype)
        cov = jnp.einsum("...ib,...jb->...ij", jnp.einsum("...ia,ab->...ib", rows, nodes.cov), rows)
        return Marginals(self.read(step, nodes.mean[:, None])[..., 0], symmetrise(cov))

    def _weights(self, step: PyTree) -> tuple[Float[Array, "obs node"] | None, ...]:
        return step if self.moving else self.weights

    def _rows(self, step: PyTree, dtype) -> Float[Array, "*obs latent node"]:
        rows = jnp.zeros((self.per_step or 1, self.num_latents, sum(self.sizes)), dtype)
        begin = 0
        for latent, size, weights in zip(self.latents, self.sizes, self._weights(step), strict=True):
            rows = rows.at[:, latent, begin : begin + size].set(jnp.eye(size) if weights is None else weights)
            begin += size
        return rows[0] if self.per_step is None else rows
