"""How sweeps and steps of an optimiser take turns."""

import abc

import equinox as eqx

from ssep.checks import require
from ssep.data import Data
from ssep.energies import Energy
from ssep.inference import infer, stop_gradient
from ssep.iteration import Problem, iterate
from ssep.last_sweep import last_sweep
from ssep.likelihoods.base import Likelihood
from ssep.priors.base import Prior
from ssep.rules.base import Rule
from ssep.sites import SiteState
from ssep.smoothers.base import Smoother
from ssep.solution import Solution
from ssep.steps import StepControl
from ssep.types import Scalar, ScalarLike


class Setting(eqx.Module):
    """What stays the same during learning."""

    rule: Rule
    data: Data
    smoother: Smoother
    step: StepControl
    objective: Energy

    def infer(
        self, prior: Prior, lik: Likelihood, sites: SiteState | None, tol: ScalarLike = 1e-4, max_sweeps: int = 500
    ) -> Solution:
        """The posterior of a model, converged or not."""
        return infer(
            prior,
            lik,
            self.rule,
            self.data,
            sites=sites,
            smoother=self.smoother,
            step=self.step,
            objective=self.objective,
            tol=tol,
            max_sweeps=max_sweeps,
            throw=False,
        )


class Guess(eqx.Module):
    """Where the next sweeps begin."""

    sites: SiteState
    damping: Scalar


class Schedule(eqx.Module):
    """What happens to the sites between two steps of the optimiser, and which gradient it sees."""

    @abc.abstractmethod
    def energy(self, setting: Setting, prior: Prior, lik: Likelihood, guess: Guess) -> tuple[Scalar, Guess]:
        """The energy to differentiate, and the sites at which it was taken."""


class Interleave(Schedule):
    """A few sweeps for each step of the optimiser: sites and hyperparameters converge together.

    The gradient goes through the last sweep only. That is exact with a Gaussian likelihood, and at the end for energies
    that are stationary in the sites (`PowerEPEnergy` with `PowerEP`, `FreeEnergy` with `CVI`); otherwise it leaves out
    how the sites would follow in further sweeps.

    Attributes:
        sweeps: The number of sweeps per step.
        frozen: Whether to hold the sites fixed in the gradient, as the paper does.
    """

    sweeps: int = eqx.field(default=1, static=True)
    frozen: bool = eqx.field(default=False, static=True)

    def __check_init__(self) -> None:
        """Check the number of sweeps."""
        whole = isinstance(self.sweeps, int) and self.sweeps > 0
        require(whole, "Interleave(sweeps)", "must be a positive integer", self.sweeps, "1 is the paper's choice.")

    def energy(self, setting: Setting, prior: Prior, lik: Likelihood, guess: Guess) -> tuple[Scalar, Guess]:
        """The energy at the new sites."""
        problem = Problem(prior.discretise(setting.data), lik, setting.rule, setting.data, setting.smoother)
        step = stop_gradient(setting.step)
        begun = iterate(stop_gradient(problem), guess.sites, step, 0.0, self.sweeps - 1, damping=guess.damping)
        energy, done = last_sweep(problem, begun, step, setting.objective, self.frozen)
        return energy, Guess(done.sites, done.damping)


class Converge(Schedule):
    """Sweeps until nothing changes, then the exact gradient of the converged energy by implicit differentiation.

    Attributes:
        tol: As for `infer`.
        max_sweeps: As for `infer`.
    """

    tol: float = 1e-4
    max_sweeps: int = eqx.field(default=500, static=True)

    def energy(self, setting: Setting, prior: Prior, lik: Likelihood, guess: Guess) -> tuple[Scalar, Guess]:
        """The energy at the fixed point."""
        solution = setting.infer(prior, lik, guess.sites, self.tol, self.max_sweeps)
        return solution.energy, Guess(stop_gradient(solution.sites), guess.damping)
