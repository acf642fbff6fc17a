"""How far every rule is from the exact posterior and evidence, on five simulated series of 60 observations.

    python benchmarks/accuracy.py

prints the tables of docs/choosing.md. Exact is what importance weights make of 20,000 paths from PowerEP's posterior.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable

import jax
import numpy as np

import ssep
from ssep.kernels import Matern32
from ssep.likelihoods import Bernoulli, HeteroscedasticGaussian, Poisson, StudentT

jax.config.update("jax_enable_x64", True)
T = np.linspace(0, 10, 60)
Task = tuple[ssep.SDEPrior, ssep.Likelihood]
ONE = ssep.SDEPrior(Matern32(1.0, 2.0))
TASKS: dict[str, Task] = {
    "small counts": (ONE, Poisson()),
    "large counts": (ssep.SDEPrior(Matern32(1.0, 2.0), mean=4.0), Poisson()),
    "labels": (ssep.SDEPrior(Matern32(4.0, 2.0)), Bernoulli()),
    "heavy tails": (ONE, StudentT(3.0, 0.3)),
    "changing noise": (ssep.SDEPrior((Matern32(1.0, 2.0), Matern32(1.0, 4.0))), HeteroscedasticGaussian()),
}
RULES: dict[str, ssep.Rule] = {
    "ExtendedEP(1)": ssep.ExtendedEP(1.0),
    "ExtendedEP(0)": ssep.ExtendedEP(0.0),
    "StatLinEP(1)": ssep.StatLinEP(1.0),
    "StatLinEP(0)": ssep.StatLinEP(0.0),
    "PowerEP(1)": ssep.PowerEP(1.0),
    "PowerEP(0.5)": ssep.PowerEP(0.5),
    "CVI": ssep.CVI(),
}
OBJECTIVES: dict[str, Callable[[ssep.Rule], ssep.Energy]] = {
    "filter": lambda rule: ssep.FilterEnergy(),
    "power EP": lambda rule: ssep.PowerEPEnergy(None if float(rule.alpha) > 0 else 0.5),
    "free": lambda rule: ssep.FreeEnergy(),
}


def simulated(task: Task, seed: int) -> ssep.Data:
    """Observations from the model itself."""
    prior, lik = task
    paths = ssep.sample(jax.random.key(seed), prior, T, 1, lik=lik)
    return ssep.Data(T, np.asarray(paths.y)[0])


def errors(task: Task, rules: dict[str, ssep.Rule], seed: int) -> dict[str, np.ndarray]:
    """Per rule: errors of mean and spread of the last latent in exact standard deviations, and of three energies."""
    data = simulated(task, seed)
    reference = ssep.infer(*task, ssep.PowerEP(0.5), data)
    exact = ssep.importance_correct(jax.random.key(100 + seed), reference, 20_000)
    mean, deviation = exact.posterior.mean[:, -1], np.sqrt(exact.posterior.cov[:, -1, -1])
    found = {"": np.array([float(exact.effective_sample_size)])}
    for name, rule in rules.items():
        solution = ssep.infer(*task, rule, data, throw=False)
        posterior = solution.posterior
        far = np.abs((posterior.mean[:, -1] - mean) / deviation).max()
        wide = np.median(np.sqrt(posterior.cov[:, -1, -1]) / deviation) - 1
        energies = [
            ssep.sweep(*task, solution.sites, rule, data, objective=objective(rule))[2] + exact.log_evidence
            for objective in OBJECTIVES.values()
        ]
        found[name] = np.array([far, wide, *energies], float)
    return found


def main(seeds: int = 5) -> None:
    """Print a table of posteriors and one of energies: means over series."""
    found = {task: [errors(TASKS[task], RULES, seed) for seed in range(seeds)] for task in TASKS}
    for task, runs in found.items():
        print(f"{task}: effective sample sizes {[round(run[''][0]) for run in runs]} of 20000")
    mean = {task: {rule: np.mean([run[rule] for run in runs], 0) for rule in RULES} for task, runs in found.items()}
    rows = {
        "mean, sd": lambda value: f"{value[0]:.2f}",
        "spread, %": lambda value: f"{100 * value[1]:+.0f}",
        "energies, nats": lambda value: " / ".join(f"{energy:+.2f}" for energy in value[2:]),
    }
    for title, show in rows.items():
        print(f"\n| {title} |", " | ".join(TASKS), "|\n| --- |", " | ".join("---" for _ in TASKS), "|")
        for rule in RULES:
            print(f"| `{rule}` |", " | ".join(show(mean[task][rule]) for task in TASKS), "|")


if __name__ == "__main__":
    main()
