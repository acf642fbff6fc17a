"""The seven tasks with their folds, and what is learned of each."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from tasks import FOLDER, TASKS, Task

import ssep
from ssep.data import Observations
from ssep.kernels import Matern32
from ssep.likelihoods import Bernoulli
from ssep.prediction import log_predictive

NUM_FOLDS = 10
# Counts from here on have no probability to speak of on any task: the largest that was seen is below ten.
_MOST_COUNTED = 40


class Experiment(NamedTuple):
    """A task, and how the paper ran it."""

    task: Task
    fold: np.ndarray
    """Which fold holds out each observation; -1 for those that none does."""
    trainable: Callable[[Any, Any], Any]
    rate: float
    """Of Adam."""
    damping: float
    steps: int
    degree: int = 20
    """Points of a Gauss-Hermite rule in each dimension."""
    is_long: bool = False
    """Whether hyperparameters are learned on the first fold alone."""
    is_chained: bool = False
    """Whether that begins where the row above in the table ended."""
    strips: np.ndarray | None = None
    """The times to learn from; None for all."""

    def without(self, fold: int) -> ssep.Data:
        """The data with one fold held out, in the same shape: nothing is compiled for it again."""
        return self.task.data.restricted(jnp.asarray(self.fold != fold))

    def lesson(self, fold: int) -> ssep.Data:
        """What hyperparameters are learned from."""
        data = self.without(fold)
        if self.strips is None:
            return data
        # Strips with the distances between them are nothing but irregular times.
        t, y, mask = (np.asarray(values)[self.strips] for values in (data.t, data.y, data.mask))
        return ssep.Data(t, y, mask=mask, r=np.asarray(data.locations.places))

    def learned(self, values: list[Any]) -> tuple[Any, Any]:
        """The prior and the likelihood with these in place of what is trained."""
        arrays = [jnp.asarray(value) for value in values]
        where = lambda model: jax.tree.leaves(self.trainable(*model))  # noqa: E731
        return eqx.tree_at(where, (self.task.prior, self.task.likelihood), arrays)

    def trained(self, prior: Any, lik: Any) -> list[Any]:
        """The reverse."""
        return [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(self.trainable(prior, lik))]

    def score(self, solution: ssep.Solution, fold: int) -> float:
        """The mean negative log predictive density of what a fold held out, with no floor under any density."""
        return float(-jnp.nanmean(self._log_density(solution, fold, self.task.data.y)))

    def expected_score(self, solution: ssep.Solution, fold: int) -> float | None:
        """What the score would be on average if the predictions were right: their entropy; None for real numbers."""
        if not solution.likelihood.discrete:
            return None
        total = jnp.zeros(np.shape(self.task.data.y))
        for value in range(2 if isinstance(solution.likelihood, Bernoulli) else _MOST_COUNTED):
            log_density = self._log_density(solution, fold, jnp.full(total.shape, float(value)))
            total -= jnp.exp(log_density) * log_density
        return float(jnp.nanmean(total))

    def _log_density(self, solution: ssep.Solution, fold: int, y: Array) -> Array:
        asked = jnp.asarray(self.fold == fold) & self.task.data.mask
        observations = Observations(jnp.where(asked, y, 0), asked, None)
        return eqx.filter_jit(log_predictive)(solution.likelihood, observations, solution.posterior)


def experiment(name: str) -> Experiment:
    """One of the seven, by its name."""
    task = TASKS[name]()
    everything = lambda prior, lik: prior.kernels  # noqa: E731
    shape = np.shape(task.data.y)
    match name:
        case "motorcycle":
            return Experiment(task, _from_file(name, shape), everything, 0.05, 0.5, 250)
        case "coal":
            return Experiment(task, _from_file(name, shape), everything, 0.25, 1.0, 250)
        case "banana":
            # The rows of the file were put in order of time.
            order = np.argsort(np.loadtxt(FOLDER / "banana.csv", delimiter=",", skiprows=1)[:, 0], kind="stable")
            return Experiment(task, _from_file(name, shape)[order], _field, 0.2, 1.0, 250)
        case "binary":
            return Experiment(task, _at_random(shape), everything, 0.1, 0.5, 500)
        case "audio":
            return Experiment(task, _at_random(shape), _audio, 0.05, 0.05, 250, degree=10, is_long=True)
        case "airline":
            return Experiment(task, _at_random(shape), _airline, 0.1, 1.0, 250, is_long=True, is_chained=True)
        case "rainforest":
            # A fifth of the plot says enough about three numbers and a mean, which the paper's model does not have.
            strips = np.concatenate([np.arange(begin, begin + 25) for begin in (50, 175, 300, 425)])
            prior = ssep.SpatioTemporalPrior(Matern32(1.0, 10.0), Matern32(1.0, 10.0), mean=-2.0)
            task = task._replace(prior=prior)
            folds = _at_random(shape)
            return Experiment(task, folds, _field, 0.1, 1.0, 250, is_long=True, is_chained=True, strips=strips)
    raise ValueError(f"No task is called {name}; there are {', '.join(TASKS)}.")


def _from_file(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Rows of the file are the places that one fold holds out."""
    fold = np.full(shape, -1)
    for i, places in enumerate(np.loadtxt(FOLDER / f"{name}_folds.csv", delimiter=",").astype(int)):
        fold[places] = i
    return fold


def _at_random(shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    return np.random.default_rng(0).permutation(count).reshape(shape) % NUM_FOLDS


def _field(prior: ssep.SpatioTemporalPrior, lik: ssep.Likelihood) -> Any:
    """The variances in time and in space are one number; the inducing places stay where they are."""
    term = prior.terms[0]
    mean = [] if term.mean is None else [term.mean]
    return [term.temporal.variance, term.temporal.lengthscale, term.spatial.lengthscale, *mean]


def _audio(prior: Any, lik: Any) -> Any:
    """Variances are held fixed, as in the paper; lengthscales, frequencies and the noise are learned."""
    carriers, envelopes = prior.kernels[:3], prior.kernels[3:]
    parts = [(carrier.factors[0].lengthscale, carrier.factors[1].frequency) for carrier in carriers]
    return [parts, [envelope.lengthscale for envelope in envelopes], lik.variance]


def _airline(prior: Any, lik: Any) -> Any:
    """The lengths of a year and of a week are known, and so is the variance of the second factor of a product."""
    trend, *seasons = prior.kernels[0].parts
    parts = [
        (season.factors[0].variance, season.factors[0].lengthscale, season.factors[1].lengthscale) for season in seasons
    ]
    return [trend, parts]
