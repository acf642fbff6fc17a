"""Sweeps to convergence for every rule on five data sets and one that is far from its prior, all with default settings.

    python benchmarks/convergence.py

prints the table of docs/workflow/inference.md. Banana is read from the folder that SSEP_DATA names, or from
../shared/data; it is left out where that does not exist.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pathlib

import jax
import numpy as np

import ssep
from ssep.kernels import Cosine, Matern12, Matern32, Matern52
from ssep.likelihoods import AmplitudeDemodulation, Bernoulli, HeteroscedasticGaussian, Poisson, StudentT

jax.config.update("jax_enable_x64", True)
FOLDER = pathlib.Path(os.environ.get("SSEP_DATA", pathlib.Path(__file__).parents[2] / "shared" / "data"))
Task = tuple[ssep.SDEPrior, ssep.Likelihood, ssep.Data]


def motorcycle() -> Task:
    """Head accelerations, standardised, with noise that changes its size."""
    t, y = ((values - values.mean()) / values.std() for values in ssep.datasets.motorcycle())
    return ssep.SDEPrior((Matern32(3.0, 1.0), Matern32(3.0, 1.0))), HeteroscedasticGaussian(), ssep.Data(t, y)


def coal() -> Task:
    """Disasters in 333 bins."""
    return ssep.SDEPrior(Matern52(1.0, 10.0)), Poisson(), ssep.Data(*ssep.datasets.coal())


def banana() -> Task:
    """Labels of the first hundred points along their first coordinate."""
    t, _, y = (column[:100] for column in ssep.datasets.banana(FOLDER))
    order = np.argsort(t)
    return ssep.SDEPrior(Matern52(1.0, 1.0)), Bernoulli(), ssep.Data(t[order], y[order])


def student() -> Task:
    """A sine with small noise, and every ninth point off by 5 to 20."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 10, 100)
    y = np.sin(t) + 0.1 * rng.normal(size=100)
    y[::9] += rng.choice([-1, 1], 12) * rng.uniform(5, 20, 12)
    return ssep.SDEPrior(Matern52(1.0, 1.0)), StudentT(3.0, 0.1), ssep.Data(t, y)


def demodulation() -> Task:
    """Two carriers with slow amplitudes."""
    rng = np.random.default_rng(0)
    t = np.arange(200) / 10
    softplus = lambda x: np.logaddexp(0, x)  # noqa: E731
    y = np.cos(2 * t) * softplus(np.sin(0.3 * t)) + np.cos(5 * t + 1) * softplus(np.cos(0.2 * t))
    carriers = [Matern12(1.0, 20.0) * Cosine(1.0, frequency) for frequency in (2.0, 5.0)]
    prior = ssep.SDEPrior((*carriers, Matern52(1.0, 5.0), Matern52(1.0, 5.0)))
    return prior, AmplitudeDemodulation(0.02), ssep.Data(t, y + 0.1 * rng.normal(size=200))


def large_counts() -> Task:
    """Counts around 500 under a prior with mean zero and variance one for their logarithm."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 10, 100)
    return ssep.SDEPrior(Matern52(1.0, 1.0)), Poisson(), ssep.Data(t, rng.poisson(500 * np.exp(np.sin(t) / 2)) * 1.0)


def rules(latents: int) -> dict[str, ssep.Rule]:
    """Every rule with its powers; fewer nodes per dimension for four latents."""
    cubature = ssep.GaussHermite(20 if latents <= 2 else 5)
    return {
        **{f"PowerEP {alpha}": ssep.PowerEP(alpha, cubature) for alpha in (1.0, 0.5, 0.01)},
        **{f"ExtendedEP {alpha}": ssep.ExtendedEP(alpha) for alpha in (1.0, 0.5, 0.0)},
        **{f"StatLinEP {alpha}": ssep.StatLinEP(alpha, cubature) for alpha in (1.0, 0.5, 0.0)},
        "CVI": ssep.CVI(cubature),
    }


def cell(task: Task, rule: ssep.Rule) -> str:
    """The number of sweeps, with the result unless it is convergence."""
    prior, lik, data = task
    solution = ssep.infer(prior, lik, rule, data, throw=False)
    names = ("converged", "max_sweeps_reached", "improper_cavity", "non_finite")
    result = next(name for name in names if solution.result == getattr(ssep.RESULTS, name))
    return str(solution.num_sweeps) if result == "converged" else f"{solution.num_sweeps} ({result})"


def main() -> None:
    """Print the table."""
    tasks = [motorcycle, coal, *([banana] if FOLDER.exists() else []), student, demodulation, large_counts]
    print("| rule |", " | ".join(task.__name__.replace("_", " ") for task in tasks), "|")
    print("| --- |", " | ".join("---" for _ in tasks), "|")
    built = [task() for task in tasks]
    for name in rules(1):
        row = [cell(task, rules(task[0].num_latents)[name]) for task in built]
        print(f"| {name} |", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
