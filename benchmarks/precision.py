"""What single precision costs on the seven tasks of [W20].

    python benchmarks/precision.py

prints the table of docs/results/precision.md: after five sweeps with the same rule, the largest error of a posterior
mean and of a standard deviation, in standard deviations, and the error of the filter energy per observation.
"""

import subprocess
import sys

import jax
import numpy as np
from tasks import TASKS

import ssep

SWEEPS = 5


def run(name: str, single: bool) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Means and standard deviations of the posterior, and the energy, after some damped sweeps."""
    task = TASKS[name]()
    if single:
        # The same numbers, from here on in single precision.
        jax.config.update("jax_enable_x64", False)
        task = TASKS[name]()
    sites, rule = None, ssep.ExtendedEP(0.0) if name in ("audio", "rainforest") else ssep.CVI()
    posterior, energy = None, np.nan
    for _ in range(SWEEPS):
        posterior, sites, energy = ssep.sweep(
            task.prior, task.likelihood, sites, rule, task.data, step=ssep.Step(damping=0.5)
        )
    assert posterior is not None
    deviations = np.sqrt(np.diagonal(np.asarray(posterior.cov, float), axis1=-2, axis2=-1))
    return np.asarray(posterior.mean, float), deviations, float(energy), posterior.mean.dtype == np.float32


def compare(name: str) -> str:
    """One row."""
    mean, deviation, energy, _ = run(name, single=False)
    single_mean, single_deviation, single_energy, is_single = run(name, single=True)
    assert is_single
    in_mean = np.max(np.abs(single_mean - mean) / deviation)
    in_deviation = np.max(np.abs(single_deviation / deviation - 1))
    per_observation = abs(single_energy - energy) / len(mean)
    return f"| {name} | {in_mean:.1g} | {in_deviation:.1g} | {per_observation:.1g} |"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(compare(sys.argv[1]))
    else:
        print("| task | mean, sd | standard deviation, relative | energy per step, nats |\n| --- | --- | --- | --- |")
        for task in TASKS:
            done = subprocess.run([sys.executable, __file__, task], capture_output=True, text=True, check=False)
            print(done.stdout.strip() or done.stderr[-500:], flush=True)
