"""Filter and smoother in a number of rounds that grows with the logarithm of the number of steps."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.smoothers.base import Filtered, Record, Smoother
from ssep.smoothers.elements import Adjoint, adjoint, begin, join, join_back, stretch
from ssep.smoothers.strides import stride_length
from ssep.smoothers.stridewise import Folded, Stridewise, meet, pull
from ssep.statespace import Closing, StateSpace


class Parallelwise(Record):
    """What the filter kept, for a way back that is parallel too."""

    kept: Stridewise

    def smooth(self, state_space: StateSpace, closing: Closing) -> Marginals:
        """Posterior marginals of each observation, without means."""
        dynamics = self.kept.strides.dynamics
        each = jax.vmap(lambda inputs: adjoint(dynamics, inputs))(self.kept.inputs)
        end = Adjoint(jnp.eye(closing.shift.shape[0], dtype=closing.shift.dtype), closing.shift, closing.shrink)
        chain = jax.tree.map(lambda others, last: jnp.concatenate([others, last[None]]), each, end)
        back = jax.lax.associative_scan(jax.vmap(join_back), chain, reverse=True)
        # The adjoint after a stride is that before the next.
        after = (back.vector[1:], back.matrix[1:])
        _, gained = jax.vmap(lambda *each: pull(dynamics, *each))(after, self.kept.inputs)
        return self.kept.complete(state_space, *gained)

    def means(self, state_space: StateSpace, sites: SiteState, closing: Closing) -> Float[Array, "time *obs latent"]:
        """Posterior means under sites with other linear parts; vectors only, so one after the other will do."""
        return self.kept.means(state_space, sites, closing)


class Parallel(Smoother):
    """Associative scans, for accelerators: the results of `Sequential`, in rounds that work on all strides at once.

    It does several times the work, and keeps a few covariances of the state per stride: on CPUs `Sequential` is faster.
    """

    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass."""
        centred, constant = state_space.view.centre(sites)
        folded = Folded(state_space, centred, stride_length(state_space.num_states, state_space.num_targets))
        dynamics = folded.strides.dynamics
        start = jax.tree.map(lambda leaf: leaf[None], begin(*state_space.start()))
        each = jax.vmap(lambda inputs: stretch(dynamics, inputs))(folded.inputs)
        chain = jax.tree.map(lambda first, others: jnp.concatenate([first, others]), start, each)
        found = jax.lax.associative_scan(jax.vmap(join), chain)
        before = (found.shift[:-1], found.cov[:-1])
        _, kept = jax.vmap(lambda *each: meet(dynamics, *each))(before, folded.inputs)
        done = folded.complete(*kept, (found.shift[-1], found.cov[-1]))
        return Filtered.of(state_space, done, constant, Parallelwise(done.record))  # pyright: ignore[reportArgumentType]
