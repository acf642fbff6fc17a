"""Cross-validation: infer without some observations, and score those."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ssep.checks import is_concrete, require
from ssep.compatibility import check_compatible
from ssep.data import Data, Observations
from ssep.inference import infer
from ssep.likelihoods.base import Likelihood
from ssep.prediction import log_predictive
from ssep.priors.base import Prior
from ssep.results import RESULTS
from ssep.rules.base import Rule
from ssep.sites import SiteState
from ssep.solution import Fit, Solution, as_solution
from ssep.statespace import Belief
from ssep.steps import AdaptiveStep, StepControl
from ssep.types import ScalarLike

Folds = int | Sequence[Any] | np.ndarray | Array


class CrossValidation(eqx.Module):
    """Log predictive densities of held-out observations.

    Attributes:
        pointwise: One per fold and observation; NaN where the fold did not hold it out.
        nlpd: Per fold, minus the mean over the observations that it held out.
        num_sweeps: Per fold.
        result: Per fold, how inference ended.
    """

    pointwise: Float[Array, "fold *obs"]
    nlpd: Float[Array, " fold"]
    num_sweeps: Int[Array, " fold"]
    result: RESULTS


def cross_validate(
    model: Solution | Fit | tuple[Prior, Likelihood, Rule],
    data: Data,
    folds: Folds,
    *,
    vectorise: bool = True,
    refit: Callable[[Data, Solution], Solution | Fit] | None = None,
    step: StepControl = AdaptiveStep(),
    tol: ScalarLike = 1e-4,
    max_sweeps: int = 500,
) -> CrossValidation:
    """Score every fold under the posterior of the others.

    Args:
        model: A solution or a fit, whose hyperparameters are used and whose sites are the start of every fold; or
            (prior, lik, rule).
        data: All observations.
        folds: Which observations each fold holds out: a sequence of arrays of indices into the first axis of y, or
            of boolean arrays with the shape of y; or a number of random folds of equal size, always the same.
        vectorise: Run all folds at once with `vmap`; False runs one after the other, with less memory.
        refit: Called as `refit(data, start)` for each fold, one after the other, with the fold's training data and the
            posterior of the given hyperparameters there; what it returns (`ssep.fit(start.prior, ...)`) is scored.
        step: How far the sites move in each sweep.
        tol: As for `infer`.
        max_sweeps: As for `infer`.
    """
    if isinstance(model, tuple):
        prior, lik, rule = model
        sites, start = None, None
    else:
        solved = as_solution("cross_validate", model)
        prior, lik, rule, start = solved.prior, solved.likelihood, solved.rule, solved.start
        sites = solved.sites if solved.data.y.shape == data.y.shape else None
    check_compatible(prior, lik, sites, rule, data, "cross_validate")
    held = _held_out(folds, data)
    task = _Task(prior, lik, rule, data, sites, start, step, tol, max_sweeps)
    if refit is None:
        scores = _score_all(task, held, vectorise)
    else:
        each = []
        for fold in held:
            begun = task.solve(fold)
            each.append(_score(as_solution("refit", refit(begun.data, begun)), fold, data))
        scores = jax.tree.map(lambda *values: jnp.stack(values), *each)
    pointwise, num_sweeps, result = scores
    asked = held & data.mask
    axes = tuple(range(1, pointwise.ndim))
    nlpd = -jnp.sum(jnp.where(asked, pointwise, 0), axes) / jnp.sum(asked, axes)
    return CrossValidation(pointwise, nlpd, num_sweeps, result)


class _Task(eqx.Module):
    """What all folds share."""

    prior: Prior
    lik: Likelihood
    rule: Rule
    data: Data
    sites: SiteState | None
    start: Belief | None
    step: StepControl
    tol: ScalarLike
    max_sweeps: int = eqx.field(static=True)

    def solve(self, held_out: Bool[Array, "*obs"]) -> Solution:
        """Infer without one fold."""
        kept = eqx.tree_at(lambda d: d.mask, self.data, self.data.mask & ~held_out)
        return infer(
            self.prior,
            self.lik,
            self.rule,
            kept,
            sites=self.sites,
            start=self.start,
            step=self.step,
            tol=self.tol,
            max_sweeps=self.max_sweeps,
            throw=False,
        )


@eqx.filter_jit
def _score_all(task: _Task, held: Bool[Array, "fold *obs"], vectorise: bool):
    def one(fold):
        return _score(task.solve(fold), fold, task.data)

    return jax.vmap(one)(held) if vectorise else jax.lax.map(one, held)


def _score(solution: Solution, held_out: Bool[Array, "*obs"], data: Data) -> tuple[Array, Array, RESULTS]:
    # What a fold holds out is missing in its data, so that the posterior there is the prediction.
    asked = Observations(data.y, data.mask & held_out, data.aux)
    density = log_predictive(solution.likelihood, asked, solution.posterior)
    return density, solution.num_sweeps, solution.result


def _held_out(folds: Folds, data: Data) -> Bool[Array, "fold *obs"]:
    shape = data.y.shape
    observed = np.asarray(data.mask) if is_concrete(data.mask) else np.ones(shape, bool)
    if isinstance(folds, int):
        places = np.flatnonzero(observed)
        require(
            2 <= folds <= places.size,
            "cross_validate(folds)",
            f"must be from 2 to the number of observations, {places.size}",
            folds,
            "10 is usual.",
        )
        labels = np.full(observed.size, -1)
        labels[np.random.default_rng(0).permutation(places)] = np.arange(places.size) % folds
        return jnp.asarray(labels.reshape(shape) == np.arange(folds).reshape(-1, *(1,) * len(shape)))
    masks = []
    for fold in folds:
        chosen = np.asarray(fold)
        if chosen.dtype != bool:
            inside = chosen.ndim == 1 and chosen.size > 0 and np.all((chosen >= 0) & (chosen < shape[0]))
            require(
                inside and np.issubdtype(chosen.dtype, np.integer),
                "cross_validate(folds)",
                f"must hold indices from 0 to {shape[0] - 1}, or boolean arrays with the shape of y",
                fold,
                "Give a list with one array per fold.",
            )
            mask = np.zeros(shape, bool)
            mask[chosen] = True
            chosen = mask
        require(
            chosen.shape == shape,
            "cross_validate(folds)",
            f"must be boolean arrays with the shape of y, {shape}",
            f"shape {chosen.shape}",
            "Or give arrays of indices.",
        )
        masks.append(chosen)
    held = np.stack(masks)
    counts = (held & observed).reshape(len(held), -1).sum(1)
    require(
        np.all(counts > 0),
        "cross_validate(folds)",
        "must hold out at least one observation in each fold",
        f"none in fold {int(np.argmin(counts))}",
        "Drop that fold.",
    )
    return jnp.asarray(held)
