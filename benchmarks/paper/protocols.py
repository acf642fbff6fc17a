"""Two ways to learn: the paper's, and this library's defaults with an optimiser that converges."""

from collections.abc import Callable
from typing import Any

import optax

import ssep
from paper.experiments import Experiment
from paper.methods import Method

# L-BFGS is at the minimum of every task after a dozen steps or two.
STEPS, TOLERANCE = 30, 1e-2
# Between steps, so that the energy is one function of the hyperparameters, as a line search takes it to be.
SWEEPS = 10


def _optimiser() -> optax.GradientTransformation:
    """L-BFGS with a line search that takes no gradients, of which there is less to compile."""
    return optax.lbfgs(linesearch=optax.scale_by_backtracking_linesearch(12, store_grad=False))


def learn_ours(
    method: Method,
    experiment: Experiment,
    model: tuple[Any, Any],
    data: ssep.Data,
    *,
    step: ssep.AdaptiveStep = ssep.AdaptiveStep(),
    log_prior: Callable[[Any, Any], Any] | None = None,
) -> ssep.Fit:
    """L-BFGS on the method's own energy, with steps of the sites that find their own length."""
    return ssep.fit(
        *model,
        method.rule,
        data,
        optimiser=_optimiser(),
        num_steps=STEPS,
        tol=TOLERANCE,
        schedule=ssep.Interleave(sweeps=SWEEPS),
        trainable=experiment.trainable,
        log_prior=log_prior,
        step=step,
        objective=method.energy,
    )


def learn_as_in_the_paper(method: Method, experiment: Experiment, model: tuple[Any, Any], data: ssep.Data) -> ssep.Fit:
    """Adam on the filter's energy: one sweep a step with a fixed damping, and the sites fixed in the gradient."""
    return ssep.fit(
        *model,
        method.rule,
        data,
        optimiser=optax.adam(experiment.rate),
        num_steps=experiment.steps,
        schedule=ssep.Interleave(frozen=True),
        trainable=experiment.trainable,
        step=ssep.Step(damping=experiment.damping),
    )


def settings(protocol: str, method: Method, experiment: Experiment) -> dict[str, Any]:
    """What is written down beside a result."""
    if protocol == "paper":
        optimiser = f"adam({experiment.rate}), {experiment.steps} steps"
        return {"optimiser": optimiser, "energy": "FilterEnergy", "damping": experiment.damping}
    own = {
        "optimiser": f"lbfgs, up to {STEPS} steps",
        "energy": type(method.energy).__name__,
        "damping": "adaptive",
        "sweeps": SWEEPS,
    }
    return own | {"degree": experiment.degree} | ({} if protocol == "ours" else {"changed": protocol})
