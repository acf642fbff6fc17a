"""The state space model of some data: how the state moves, and how observations see it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ssep.conditioning import Conditioned, condition
from ssep.gaps import Gaps
from ssep.linalg import matmul, symmetrise
from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.statespace.dynamics import Dynamics, pack
from ssep.statespace.views import Shared, View
from ssep.types import Moments, Scalar, State, StateMatrix

Step = PyTree
Seen = Float[Array, "target moments"]
"""H [P | m]: the cross-covariance of targets and state, and the mean of the targets."""


class Closing(eqx.Module):
    """How the state after the last step changes at the end, and what that is worth."""

    shift: State
    shrink: StateMatrix
    """The adjoint with which the way back begins."""
    mean: State
    cov: StateMatrix
    """The state itself, given everything."""
    log_normaliser: Scalar


class StateSpace(eqx.Module):
    """Dynamics and a view of them, step by step.

    A filter conditions on a few numbers per step, its targets: the nodes, or the latents of the step's observations,
    whichever are fewer. Means of the prior are left out throughout; `view.centre` takes them out of the sites.
    """

    dynamics: Dynamics
    view: View
    gaps: Gaps

    @property
    def steps(self) -> Step:
        """What differs from step to step, time first."""
        return self.dynamics.steps(self.gaps.index), self.view.steps

    @property
    def targets_nodes(self) -> bool:
        """Whether the targets are the nodes, not the observations' latents."""
        seen = (self.view.per_step or 1) * self.view.num_latents
        return isinstance(self.view, Shared) or self.dynamics.num_nodes < seen

    @property
    def num_targets(self) -> int:
        """How many numbers a step conditions on."""
        return self.dynamics.num_nodes if self.targets_nodes else (self.view.per_step or 1) * self.view.num_latents

    @property
    def num_states(self) -> int:
        """The number of state components."""
        return self.dynamics.initial_mean.shape[0]

    def start(self) -> tuple[State, StateMatrix]:
        """Mean and covariance of the state before the first step, whose gap is zero."""
        return self.dynamics.initial_mean, self.dynamics.initial_cov

    def close(self, last: tuple[State, StateMatrix]) -> "Closing":
        """What remains to be done at the end: take out the prior that constants without one began with.

        They are still in the state there, and enough is known of them.
        """
        mean, cov = last
        flat = self.dynamics.flat
        if flat is None:
            return Closing(jnp.zeros_like(mean), jnp.zeros_like(cov), mean, cov, jnp.zeros((), mean.dtype))
        met = condition(mean, cov, jnp.zeros_like(mean), -jnp.diag(flat))
        # The density of the prior that was taken out becomes one.
        removed = jnp.sum(jnp.where(flat > 0, jnp.log(2 * jnp.pi / jnp.where(flat > 0, flat, 1)), 0)) / 2
        return Closing(met.shift, met.shrink, met.mean, met.cov, met.log_normaliser + removed)

    def predict(self, step: Step, moments: Moments) -> Moments:
        """Carry the moments of the state over a gap."""
        return self.dynamics.predict(step[0], moments)

    def pull_back(self, step: Step, adjoint: Moments) -> Moments:
        """The adjoint of `predict`: A'L A and A'a."""
        moved = self.dynamics.retreat(step[0], adjoint)
        return pack(moved[:, -1], symmetrise(self.dynamics.retreat(step[0], moved[:, :-1].T)))

    def carry(self, step: Step, vector: State) -> State:
        """A v."""
        return self.dynamics.advance(step[0], vector[:, None])[:, 0]

    def carry_back(self, step: Step, vector: State) -> State:
        """A'v."""
        return self.dynamics.retreat(step[0], vector[:, None])[:, 0]

    def read(self, step: Step, columns: Float[Array, "state columns"]) -> Float[Array, "target columns"]:
        """H times a matrix."""
        nodes = self.dynamics.read(columns)
        if self.targets_nodes:
            return nodes
        return self.view.read(step[1], nodes).reshape(-1, columns.shape[-1])

    def lift(self, step: Step, columns: Float[Array, "target columns"]) -> Float[Array, "state columns"]:
        """H' times a matrix."""
        if not self.targets_nodes:
            columns = self.view.write(step[1], columns.reshape(*self._seen, columns.shape[-1]))
        return self.dynamics.lift(columns)

    def project(self, step: Step, moments: Moments) -> tuple[Seen, Marginals]:
        """H [P | m], and the Gaussian of the targets."""
        seen = self.read(step, moments)
        return seen, self.targets(step, seen)

    def targets(self, step: Step, seen: Seen) -> Marginals:
        """The Gaussian of the targets, given H [P | m]."""
        return Marginals(seen[:, -1], symmetrise(self.read(step, seen[:, :-1].T)))

    def update(self, moments: Moments, seen: Seen, conditioned: Conditioned) -> Moments:
        """The state after its targets were conditioned on a site: P - U Gam U' and m + U rho, with U = P H'.

        The covariance is symmetric up to rounding only; `predict` makes it so.
        """
        cross = seen[:, :-1].T
        return moments - matmul(cross, pack(-conditioned.shift, matmul(conditioned.shrink, cross.T)))

    def collect(self, step: Step, sites: SiteState) -> SiteState:
        """All sites of a step, without means, as one site of the targets."""
        if self.targets_nodes:
            return self.view.collect(step[1], sites)
        if self.view.per_step is None:
            return sites
        count, latents = self._seen
        size, own = count * latents, jnp.arange(count)
        blocks = jnp.zeros((count, latents, count, latents), sites.linear.dtype)
        return SiteState(sites.linear.ravel(), blocks.at[own, :, own].set(sites.precision).reshape(size, size))

    def collect_linear(self, step: Step, linear: Float[Array, "*obs latent"]) -> Float[Array, " target"]:
        """The linear part of `collect`."""
        return self.view.write(step[1], linear[..., None])[:, 0] if self.targets_nodes else linear.reshape(-1)

    def spread(self, step: Step, targets: Marginals) -> Marginals:
        """The Gaussian of a step's targets as marginals of its observations, without means; linear in both."""
        if self.targets_nodes:
            return self.view.spread(step[1], targets)
        if self.view.per_step is None:
            return targets
        own = jnp.arange(self._seen[0])
        return Marginals(targets.mean.reshape(self._seen), targets.cov.reshape(*self._seen, *self._seen)[own, :, own])

    def spread_product(
        self, step: Step, left: Float[Array, "target inner"], right: Float[Array, "target inner"]
    ) -> Float[Array, "*obs latent latent"]:
        """The covariances of `spread` for the covariance left @ right.T, without all that lies between observations."""
        ours, theirs = (
            self.view.read(step[1], each) if self.targets_nodes else each.reshape(*self._seen, each.shape[-1])
            for each in (left, right)
        )
        product = lambda ours, theirs: symmetrise(matmul(ours, theirs.T))  # noqa: E731
        return product(ours, theirs) if self.view.per_step is None else jax.vmap(product)(ours, theirs)

    def spread_mean(self, step: Step, targets: Float[Array, " target"]) -> Float[Array, "*obs latent"]:
        """The means of `spread`."""
        if self.targets_nodes:
            return self.view.read(step[1], targets[:, None])[..., 0]
        return targets.reshape(self._seen)

    @property
    def _seen(self) -> tuple[int, ...]:
        own = (self.view.num_latents,)
        return own if self.view.per_step is None else (self.view.per_step, *own)
