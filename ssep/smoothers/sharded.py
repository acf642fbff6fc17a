"""Filter and smoother with time spread over devices."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, PyTree

from ssep.checks import require
from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Record, Smoother
from ssep.smoothers.elements import Adjoint, adjoint, begin, join, join_back, stretch
from ssep.smoothers.strides import stride_length
from ssep.smoothers.stridewise import Folded, Stridewise, meet, pull
from ssep.statespace import Closing, Dynamics, StateSpace


class Blocks(eqx.Module):
    """Time cut into as many blocks as an axis of a mesh has devices."""

    mesh: Mesh = eqx.field(static=True)
    axis: str = eqx.field(static=True)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return self.mesh.shape[self.axis]

    def run(
        self, body: Callable[..., Any], dynamics: Dynamics, start: Any, inputs: PyTree[Array], out_specs: Any
    ) -> Any:
        """Run a function of (dynamics, start, the inputs of one block) on every device."""
        everywhere, along = PartitionSpec(), PartitionSpec(self.axis)
        arrays, static = eqx.partition(dynamics, eqx.is_array)

        def local(arrays: Any, start: Any, inputs: Any) -> Any:
            return body(eqx.combine(arrays, static), start, inputs)

        run = jax.shard_map(
            local, mesh=self.mesh, in_specs=(everywhere, everywhere, along), out_specs=out_specs, check_vma=False
        )
        return run(arrays, start, inputs)

    def gathered(
        self,
        own: PyTree[Array],
        start: PyTree[Array],
        joined: Callable[..., Any],
        wanted: Callable[[Array, Array], Array],
        reverse: bool = False,
    ) -> PyTree[Array]:
        """The elements of all blocks that are wanted here, joined; these elements are all that travels."""

        def take(so_far: Any, entry: Any) -> tuple[Any, None]:
            place, element = entry
            chosen = wanted(place, self.here)
            moved = joined(so_far, element)
            return jax.tree.map(lambda new, old: jnp.where(chosen, new, old), moved, so_far), None

        entries = (jnp.arange(self.count), jax.lax.all_gather(own, self.axis))
        return jax.lax.scan(take, start, entries, reverse=reverse)[0]

    @property
    def here(self) -> Array:
        """Which block this device has."""
        return jax.lax.axis_index(self.axis)


class Shardedwise(Record):
    """What the filter kept, each device its own block."""

    kept: Stridewise
    blocks: Blocks

    def smooth(self, state_space: StateSpace, closing: Closing) -> Marginals:
        """Posterior marginals of each observation, without means."""
        blocks = self.blocks

        def backward(dynamics: Dynamics, end: Any, inputs: Any) -> Any:
            own = _fold(join_back, lambda each: adjoint(dynamics, each), inputs, reverse=True)
            closed = Adjoint(jnp.eye(end[0].shape[0], dtype=end[0].dtype), *end)
            after = blocks.gathered(own, closed, join_back, lambda place, here: place > here, reverse=True)
            return jax.lax.scan(
                lambda *each: pull(dynamics, *each), (after.vector, after.matrix), inputs, reverse=True
            )[1]

        along, end = PartitionSpec(blocks.axis), (closing.shift, closing.shrink)
        gained = blocks.run(backward, self.kept.strides.dynamics, end, self.kept.inputs, along)
        return self.kept.complete(state_space, *gained)

    def means(self, state_space: StateSpace, sites: SiteState, closing: Closing) -> Float[Array, "time *obs latent"]:
        """Posterior means under sites with other linear parts."""
        return self.kept.means(state_space, sites, closing)


class Sharded(Smoother):
    """Time spread over the devices of a mesh, with the results of `Sequential`.

    Every device condenses its block of time into one element, the elements of all devices travel, and every device
    filters its own block from where those before it end. That is several times the work of one device alone.

    Attributes:
        mesh: The devices: `jax.make_mesh((8,), ("time",))`.
        axis: The axis of the mesh along which time runs.
    """

    mesh: Mesh = eqx.field(static=True)
    axis: str = eqx.field(default="time", static=True)

    def __check_init__(self) -> None:
        """Check the axis."""
        known = isinstance(self.mesh, Mesh) and self.axis in self.mesh.shape
        got = getattr(self.mesh, "axis_names", type(self.mesh).__name__)
        remedy = 'Make one with `jax.make_mesh((jax.device_count(),), ("time",))`.'
        require(known, "Sharded(mesh, axis)", f"needs a mesh with an axis {self.axis!r}", got, remedy)

    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass."""
        # The same devices, with axes whose shardings the compiler may choose, however the mesh was made.
        blocks = Blocks(Mesh(self.mesh.devices, self.mesh.axis_names), self.axis)
        centred, constant = state_space.view.centre(sites)
        folded = Folded(
            state_space, centred, stride_length(state_space.num_states, state_space.num_targets), blocks.count
        )

        def forward(dynamics: Dynamics, start: Any, inputs: Any) -> Any:
            own = _fold(join, lambda each: stretch(dynamics, each), inputs)
            before = blocks.gathered(own, begin(*start), join, lambda place, here: place < here)
            last, found = jax.lax.scan(lambda *each: meet(dynamics, *each), (before.shift, before.cov), inputs)
            is_last = blocks.here == blocks.count - 1
            last = jax.tree.map(lambda leaf: jax.lax.psum(jnp.where(is_last, leaf, 0), self.axis), last)
            return found, last

        along, everywhere = PartitionSpec(self.axis), PartitionSpec()
        (kept, log_normalisers), last = blocks.run(
            forward, folded.strides.dynamics, state_space.start(), folded.inputs, (along, everywhere)
        )
        done = folded.complete(kept, log_normalisers, last)
        return Filtered.of(state_space, done, constant, Shardedwise(done.record, blocks))  # pyright: ignore[reportArgumentType]


def _fold(joined: Callable[..., Any], make: Callable[[Any], Any], inputs: Any, reverse: bool = False) -> Any:
    """All strides of a block as one element, made one by one."""
    ends = -1 if reverse else 0
    first = make(jax.tree.map(lambda leaf: leaf[ends], inputs))
    rest = jax.tree.map(lambda leaf: leaf[:-1] if reverse else leaf[1:], inputs)
    return jax.lax.scan(lambda so_far, each: (joined(so_far, make(each)), None), first, rest, reverse=reverse)[0]
