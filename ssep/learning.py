"""Learn the hyperparameters of the prior and the likelihood."""

import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ssep.checks import require
from ssep.compatibility import check_compatible, require_kind
from ssep.data import Data
from ssep.energies import Energy, FilterEnergy
from ssep.optimisers import recognised
from ssep.parameters import Free, Model, Parameters, take_apart
from ssep.progress import progress_bar
from ssep.results import RESULTS
from ssep.rules.base import Rule
from ssep.schedules import Guess, Interleave, Schedule, Setting
from ssep.sites import SiteState
from ssep.smoothers.base import Smoother
from ssep.smoothers.sequential import Sequential
from ssep.solution import Fit, LikelihoodT, PriorT, Solution
from ssep.steps import AdaptiveStep, StepControl
from ssep.types import Scalar

_STEADY = 5


def fit(
    prior: PriorT,
    lik: LikelihoodT,
    rule: Rule,
    data: Data,
    *,
    optimiser: optax.GradientTransformation = optax.adam(0.1),
    num_steps: int = 250,
    tol: float = 0.0,
    schedule: Schedule = Interleave(),
    trainable: Callable[[PriorT, LikelihoodT], Any] | None = None,
    log_prior: Callable[[PriorT, LikelihoodT], Any] | None = None,
    sites: SiteState | None = None,
    smoother: Smoother = Sequential(),
    step: StepControl = AdaptiveStep(),
    objective: Energy = FilterEnergy(),
    progress: bool = False,
    callback: Callable[[int, float], Any] | None = None,
) -> Fit[PriorT, LikelihoodT]:
    """Minimise the energy over the hyperparameters; the best model seen is returned, also after Ctrl-C.

    Args:
        prior: The prior to start from.
        lik: The likelihood to start from.
        rule: How a site is refreshed.
        data: The observations.
        optimiser: Any optax optimiser, `optax.lbfgs()` included. It works in unconstrained coordinates: the logarithm
            of what must be positive.
        num_steps: The number of steps of the optimiser.
        tol: Stop earlier, once the energies of the last five steps differ by less than this.
        schedule: `Interleave()`, sweeps between steps, or `Converge()`, exact gradients of the converged energy.
        trainable: A function of (prior, lik) that returns what to learn; the rest is held fixed. By default every
            floating point array of the two is learned, but for what is declared as known (a `Table`).
        log_prior: A function of (prior, lik) that returns the log density of the hyperparameters, for a maximum a
            posteriori estimate: it is subtracted from the energy.
        sites: Where the sites start; None starts with a forward pass.
        smoother: How the filter and the smoother are run.
        step: How far the sites move in each sweep.
        objective: Which energy is minimised.
        progress: Whether to show a progress bar with the energy (needs tqdm).
        callback: Called after every step with its number and its energy.
    """
    for name, value, kind in [
        ("optimiser", optimiser, optax.GradientTransformation),
        ("schedule", schedule, Schedule),
        ("smoother", smoother, Smoother),
        ("step", step, StepControl),
        ("objective", objective, Energy),
    ]:
        require_kind(name, value, kind, "fit")
    check_compatible(prior, lik, sites, rule, data, "fit")
    whole = isinstance(num_steps, int) and num_steps > 0
    require(whole, "fit(num_steps)", "must be a positive integer", num_steps, "250 is the default.")
    require(tol >= 0, "fit(tol)", "must not be negative", tol, "0, the default, takes all steps.")
    setting = Setting(rule, data, smoother, step, objective)
    parameters, free = take_apart((prior, lik), trainable)
    trace = _Trace(setting, parameters, log_prior)
    optimiser = recognised(optax.with_extra_args_support(optimiser))
    state = _strong(optimiser.init(free))
    begun = trace.solve(free, sites, max_sweeps=1)
    guess = Guess(begun.sites, jnp.asarray(step.first_damping, begun.sites.linear.dtype))
    with progress_bar(num_steps, progress) as advance:
        try:
            for count in range(num_steps):
                here = free
                free, state, guess, energy = _step(
                    free, state, guess, parameters, setting, schedule, optimiser, log_prior
                )
                value = float(energy)
                trace.record(here, guess, value)
                advance(value)
                if callback is not None:
                    callback(count, value)
                if not _finite(free, value):
                    if trace.best is not None and here is trace.best[0]:
                        warnings.warn("`fit` stopped: the gradient is not finite where the energy is.", stacklevel=2)
                        free = here
                        break
                    # Begin again from the best, with an optimiser that has forgotten how it got lost.
                    free, guess = trace.best_or_raise()
                    state = _strong(optimiser.init(free))
                if trace.is_settled(tol):
                    break
        except KeyboardInterrupt:
            if trace.best is None:
                raise
    return trace.finish(free, guess)


class _Trace:
    """What was seen on the way, and the best of it."""

    def __init__(self, setting: Setting, parameters: Parameters, log_prior: Callable[[Any, Any], Any] | None):
        self.setting, self.parameters, self.log_prior = setting, parameters, log_prior
        self.best: tuple[Free, Guess] | None = None
        self.lowest = np.inf
        self.energies: list[float] = []
        self.history: list[Free] = []

    def record(self, free: Free, guess: Guess, energy: float) -> None:
        """Remember one step."""
        self.energies.append(energy)
        self.history.append(free)
        if np.isfinite(energy) and energy < self.lowest:
            self.lowest, self.best = energy, (free, guess)

    def is_settled(self, tol: float) -> bool:
        """Whether the last steps hardly differ in energy."""
        recent = np.array(self.energies[-_STEADY:])
        return recent.size == _STEADY and bool(np.isfinite(recent).all() and np.ptp(recent) < tol)

    def best_or_raise(self) -> tuple[Free, Guess]:
        """The best hyperparameters so far."""
        if self.best is None:
            raise ValueError(
                "`fit(prior, lik)` must start from a model with a finite energy; got "
                f"{self.energies[-1]}. Check the hyperparameters against the scale of the data; where observations are "
                "far more precise than the prior, as large counts are, use `cubature=ssep.Adaptive(20)`."
            )
        return self.best

    def solve(self, free: Free, sites: SiteState | None, max_sweeps: int = 500) -> Solution:
        """The posterior at some hyperparameters."""
        return self.setting.infer(*self.parameters.model(free), sites, max_sweeps=max_sweeps)

    def finish(self, free: Free, guess: Guess) -> Fit[Any, Any]:
        """Converge at the best and at the last hyperparameters, and keep the better."""
        candidates = [self.best_or_raise(), *([(free, guess)] if _finite(free, 0.0) else [])]
        solutions = [self.solve(candidate, at.sites) for candidate, at in candidates]
        solution = min(solutions, key=self._score)
        if solution.result != RESULTS.converged:
            warnings.warn(f"`fit` ended at a posterior that is not converged: {RESULTS[solution.result]}", stacklevel=3)
        models = [self.parameters.model(entry) for entry in self.history]
        stacked = [jnp.stack(leaves) for leaves in zip(*(self._trained(model) for model in models), strict=True)]
        leaves = list(jax.tree.leaves(models[0]))
        for position, values in zip(self.parameters.trained, stacked, strict=True):
            leaves[position] = values
        return Fit(solution, jnp.asarray(self.energies), jax.tree.unflatten(self.parameters.structure, leaves))

    def _trained(self, model: Model) -> list[Any]:
        leaves = jax.tree.leaves(model)
        return [leaves[position] for position in self.parameters.trained]

    def _score(self, solution: Solution) -> float:
        penalty = _log_prior_of(self.log_prior, (solution.prior, solution.likelihood))
        score = float(solution.energy - penalty)
        return score if np.isfinite(score) else np.inf


def _strong(tree: Any) -> Any:
    """Arrays of definite type: a weakly typed start would compile the first step apart from the others."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf, tree)


def _finite(free: Free, energy: float) -> bool:
    return bool(np.isfinite(energy)) and all(bool(np.all(np.isfinite(value))) for value in free)


def _log_prior_of(log_prior: Callable[[Any, Any], Any] | None, model: Model) -> Any:
    return 0.0 if log_prior is None else jnp.sum(jnp.asarray(log_prior(*model)))


@eqx.filter_jit
def _step(
    free: Free, state, guess: Guess, parameters, setting, schedule, optimiser, log_prior
) -> tuple[Free, Any, Guess, Scalar]:
    def objective(free: Free) -> tuple[Scalar, Guess]:
        model = parameters.model(free)
        energy, found = schedule.energy(setting, *model, guess)
        return energy - _log_prior_of(log_prior, model), found

    (energy, found), gradient = jax.value_and_grad(objective, has_aux=True)(free)
    updates, state = optimiser.update(
        gradient, state, free, value=energy, grad=gradient, value_fn=lambda candidate: objective(candidate)[0]
    )
    return [value + change for value, change in zip(free, updates, strict=True)], state, found, energy
