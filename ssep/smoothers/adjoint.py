"""The derivative of a filter of single steps as a recursion written by hand, alone or together with the smoother.

Autodiff goes back through everything that a step does. Here a loop carries the derivative in the state alone, by the
recursion of the smoother with other constants, and the derivatives in all else are then taken of all steps at once.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.linalg import matmul, symmetrise
from ssep.marginals import Marginals
from ssep.scanning import scan
from ssep.sites import SiteState
from ssep.smoothers.base import Forward
from ssep.smoothers.stepwise import Stepwise, Summary, filter_steps, gain, meet
from ssep.statespace import Closing, StateSpace, pack, unpack
from ssep.types import Moments

_Steps = Float[Array, "time ..."]


@eqx.filter_custom_vjp
def filter_reversible(model: tuple[StateSpace, SiteState]) -> Forward:
    """The forward pass, with this derivative; in reverse mode only."""
    return _batch_first(filter_steps(*model))


@filter_reversible.def_fwd
def _forth(perturbed: Any, model: tuple[StateSpace, SiteState]) -> tuple[Forward, "Passed"]:
    passed = Passed(*model)
    return _batch_first(passed.forward), passed


@filter_reversible.def_bwd
def _back(passed: "Passed", cotangent: Forward, perturbed: Any, model: Any) -> tuple[StateSpace, SiteState]:
    return passed.pull_back(cotangent)


def _batch_first(forward: Forward) -> Forward:
    """The same, with the axis that `vmap` adds in front of all others.

    The derivative of a compiled function that is mapped takes for granted that both ways to find a result put that axis
    in the same place (as of JAX 0.10), which a scan and a `vmap` over its steps do not.
    """
    return jax.tree.map(lambda leaf: jnp.squeeze(leaf[None], 0), forward)


class Passed(eqx.Module):
    """A forward pass that keeps the predicted states, n s s numbers, to be gone back through."""

    state_space: StateSpace
    sites: SiteState
    moments: Float[Array, "time state moments"]
    """[P | m] of the predicted states: all else follows from them, for all steps at once."""
    last: Moments

    def __init__(self, state_space: StateSpace, sites: SiteState):
        def forward(moments: Moments, inputs: Any) -> tuple[Moments, Moments]:
            step, site = inputs
            predicted = state_space.predict(step, moments)
            return _update(state_space, step, site, predicted), predicted

        self.state_space, self.sites = state_space, sites
        self.last, self.moments = jax.lax.scan(forward, pack(*state_space.start()), (state_space.steps, sites))

    @property
    def forward(self) -> Forward:
        """What the pass found."""
        seen, targets = self._seen()
        found = self._local(self.state_space, self.sites, targets)
        mean, cov = unpack(self.last)
        record = Stepwise(found.updated, seen, found.shift, found.shrink)
        last = (mean, symmetrise(cov))
        return Forward(found.predicted, found.updated, jnp.sum(found.log_normaliser), record, last)

    def pull_back(self, cotangent: Forward) -> tuple[StateSpace, SiteState]:
        """The derivative in the state space and the sites, given that in what was found; None stands for zero."""
        return self._go_back(cotangent, None)[1]

    def smooth_and_pull_back(
        self, cotangent: Forward, closing: Closing
    ) -> tuple[Marginals, tuple[StateSpace, SiteState]]:
        """Posterior marginals, without means, and the derivative, in one pass; that in the record must be zero."""
        return self._go_back(cotangent, closing)

    def _go_back(self, cotangent: Forward, closing: Closing | None) -> tuple[Any, tuple[StateSpace, SiteState]]:
        state_space, steps, record = self.state_space, self.state_space.steps, _stepwise(cotangent)
        arrays, rest = eqx.partition(state_space, eqx.is_inexact_array)
        seen, targets = self._seen()

        def local(arrays: StateSpace, sites: SiteState, targets: Marginals) -> Summary:
            return self._local(eqx.combine(arrays, rest), sites, targets)

        found, pull = jax.vjp(local, arrays, self.sites, targets)
        wanted = _cotangent_of_steps(found, cotangent)
        of_targets = pull(wanted)[2]
        direct = _Direct(of_targets.cov, found.shift, of_targets.mean, record.seen if closing is None else None)
        carried = [_cotangent_of_last(self.last, cotangent)]
        if closing is not None:
            # The smoother is the same recursion, with constants and an end of its own.
            own = _Direct(found.shrink, jnp.zeros_like(found.shift), found.shift, None)
            direct = jax.tree.map(lambda *both: jnp.stack(both, 1), direct, own)
            carried.append(pack(closing.shift, closing.shrink))
        else:
            direct = jax.tree.map(lambda each: each[:, None], direct)

        def each(step: Any, seen: Array, shrink: Array, adjoint: Array, direct: _Direct) -> _Back:
            return jax.vmap(lambda *own: _step_back(state_space, step, seen, shrink, *own))(adjoint, direct)

        def backward(adjoint: Array, inputs: Any) -> tuple[Array, Array]:
            step, seen, shrink, direct = inputs
            back = each(step, seen, shrink, adjoint, direct)
            return jax.vmap(lambda own: state_space.pull_back(step, own))(back.predicted), adjoint

        inputs = (steps, seen, found.shrink, direct)
        start, adjoint = scan(backward, jnp.stack(carried), inputs, reverse=True)
        every = jax.vmap(each)(steps, seen, found.shrink, adjoint, direct)
        posterior = None
        if closing is not None:
            gained = jax.vmap(partial(gain, state_space))(steps, seen, found.shrink, every.met[:, 1])
            posterior = Marginals(found.updated.mean + gained.mean, found.updated.cov - gained.cov)
        own = jax.tree.map(lambda leaf: leaf[:, 0], every)
        # The state moved by U rho and lost U Gam U'.
        more = (wanted.shift + own.met[:, :, -1], wanted.shrink - own.met[:, :, :-1])
        of_arrays, of_sites, _ = pull(eqx.tree_at(lambda summary: (summary.shift, summary.shrink), wanted, more))
        return posterior, (_add(of_arrays, self._pull_arrays(arrays, rest, own, start[0])), of_sites)

    def _pull_arrays(self, arrays: StateSpace, rest: StateSpace, back: "_Back", start: Moments) -> StateSpace:
        """The derivative in how the state moves and is seen, given that in all states."""
        state_space = self.state_space
        after = jax.vmap(partial(_update, state_space))(state_space.steps, self.sites, self.moments)
        before = jnp.concatenate([pack(*state_space.start())[None], after[:-1]])
        moves = state_space.dynamics.pull_predictions(state_space.gaps.index, before, back.predicted)

        def read_and_start(arrays: StateSpace) -> tuple[Array, Array]:
            own = eqx.combine(arrays, rest)
            return jax.vmap(own.read)(own.steps, self.moments), pack(*own.start())

        reads = jax.vjp(read_and_start, arrays)[1]((back.read, start))[0]
        return eqx.tree_at(lambda tree: tree.dynamics, reads, _add(reads.dynamics, moves))

    def _seen(self) -> tuple[_Steps, Marginals]:
        state_space = self.state_space
        seen = jax.vmap(state_space.read)(state_space.steps, self.moments)
        return seen, jax.vmap(state_space.targets)(state_space.steps, seen)

    def _local(self, state_space: StateSpace, sites: SiteState, targets: Marginals) -> Summary:
        """What each step finds, given its targets."""

        def one(step: Any, site: SiteState, targets: Marginals) -> Summary:
            met = meet(state_space, step, site, targets)
            updated = state_space.spread(step, Marginals(met.mean, met.cov))
            return Summary(state_space.spread(step, targets), updated, met.log_normaliser, met.shift, met.shrink)

        return jax.vmap(one)(state_space.steps, sites, targets)


class _Direct(eqx.Module):
    """What enters the recursion at each step."""

    outer: Float[Array, "*time target target"]
    weight: Float[Array, "*time target"]
    slope: Float[Array, "*time target"]
    seen: Float[Array, "*time target moments"] | None


class _Back(eqx.Module):
    """The derivatives that the recursion finds at each step."""

    predicted: Float[Array, "*time state moments"]
    """In the predicted state, [Pi | p]."""
    met: Float[Array, "*time target more"]
    """U'[Pi U | p], of after the step."""
    read: Float[Array, "*time target moments"]
    """In H [P | m], as a function of H."""


def _step_back(
    state_space: StateSpace, step: Any, seen: Array, shrink: Array, adjoint: Moments, direct: _Direct
) -> _Back:
    """One step back: with C = I - U Gam H, p <- C'p + H'g and Pi <- C'Pi C + sym(C'p w'H) + H'K H.

    K, w and g are Gam, 0 and rho in the smoother. Of two terms that mirror each other one is taken twice: what follows
    makes the result symmetric.
    """
    cross = seen[:, :-1].T
    met = matmul(cross.T, adjoint)
    inside = matmul(met[:, :-1], cross)
    pulled = jnp.sum(shrink * met[:, -1], -1)
    inner = matmul(matmul(shrink, inside), shrink) + direct.outer - pulled[:, None] * direct.weight
    lifted = state_space.lift(step, symmetrise(inner)).T
    matrix = lifted - 2 * matmul(shrink, met[:, :-1]) + direct.weight[:, None] * adjoint[:, -1]
    rows = pack(direct.slope - pulled, matrix)
    rows = rows if direct.seen is None else rows + direct.seen
    return _Back(
        predicted=adjoint + state_space.lift(step, rows),
        met=pack(met[:, -1], inside),
        read=rows + pack(jnp.zeros_like(pulled), lifted),
    )


def _update(state_space: StateSpace, step: Any, site: SiteState, predicted: Moments) -> Moments:
    seen, targets = state_space.project(step, predicted)
    return state_space.update(predicted, seen, meet(state_space, step, site, targets))


def _stepwise(cotangent: Forward) -> Stepwise:
    return cotangent.record  # pyright: ignore[reportReturnType]


def _cotangent_of_steps(found: Summary, cotangent: Forward) -> Summary:
    total, record = cotangent.log_normaliser, _stepwise(cotangent)
    return Summary(
        _or_zero(cotangent.predicted, found.predicted),
        _or_zero(_add(cotangent.updated, record.updated), found.updated),
        jnp.zeros_like(found.log_normaliser) + (0 if total is None else total),
        _or_zero(record.shift, found.shift),
        _or_zero(record.shrink, found.shrink),
    )


def _cotangent_of_last(last: Moments, cotangent: Forward) -> Moments:
    mean, cov = unpack(last)
    return pack(_or_zero(cotangent.last[0], mean), symmetrise(_or_zero(cotangent.last[1], cov)))


def _or_zero(cotangent: Any, like: Any) -> Any:
    """Zeros in place of None."""

    def fill(given: Array | None, like: Array) -> Array:
        return jnp.zeros_like(like) if given is None else given

    return jax.tree.map(fill, cotangent, like, is_leaf=lambda leaf: leaf is None)


def _add(left: Any, right: Any) -> Any:
    """The sum of derivatives, in which None stands for zero."""

    def add(one: Array | None, other: Array | None) -> Array | None:
        return other if one is None else one if other is None else one + other

    return jax.tree.map(add, left, right, is_leaf=lambda leaf: leaf is None)
