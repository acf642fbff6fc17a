"""Two ways to learn: the paper's, and this library's defaults with an optimiser that converges."""

from typing import Any

import optax

import ssep
from paper.experiments import Experiment
from paper.methods import Method

# L-BFGS is at the minimum of every task after a dozen steps or two.
STEPS = 30


def learn_ours(method: Method, experiment: Experiment, data: ssep.Data) -> ssep.Fit:
    """L-BFGS on the method's own energy, with steps of the sites that find their own length."""
    return ssep.fit(
        experiment.task.prior,
        experiment.task.likelihood,
        method.rule,
        data,
        optimiser=optax.lbfgs(),
        num_steps=STEPS,
        trainable=experiment.trainable,
        objective=method.energy,
    )


def learn_as_in_the_paper(method: Method, experiment: Experiment, data: ssep.Data) -> ssep.Fit:
    """Adam on the filter's energy: one sweep a step with a fixed damping, and the sites fixed in the gradient."""
    return ssep.fit(
        experiment.task.prior,
        experiment.task.likelihood,
        method.rule,
        data,
        optimiser=optax.adam(experiment.rate),
        num_steps=experiment.steps,
        schedule=ssep.Interleave(frozen=True),
        trainable=experiment.trainable,
        step=ssep.Step(damping=experiment.damping),
    )


PROTOCOLS = {"ours": learn_ours, "paper": learn_as_in_the_paper}


def settings(protocol: str, method: Method, experiment: Experiment) -> dict[str, Any]:
    """What is written down beside a result."""
    own = {
        "ours": {"optimiser": f"lbfgs, {STEPS} steps", "energy": type(method.energy).__name__, "damping": "adaptive"},
        "paper": {
            "optimiser": f"adam({experiment.rate}), {experiment.steps} steps",
            "energy": "FilterEnergy",
            "damping": experiment.damping,
        },
    }
    return own[protocol] | {"degree": experiment.degree}
