"""How long a sweep and a training step take on the seven tasks of [W20], as ratios within one run.

    python benchmarks/speed.py [task ...]

measures every task and rule in a process of its own and writes the tables of docs/results/speed.md, the numbers to
benchmarks/speed.json, and the figure of time against the number of steps. A training step is the filter energy at given
sites with its gradient, and the refreshed sites. Ratios are to a textbook filter and smoother (benchmarks/textbook.py)
with everything else the same, and to a bound (benchmarks/bound.py) for the two passes alone.
"""

import json
import pathlib
import resource
import subprocess
import sys
import time
from typing import Any

import equinox as eqx
import jax
import numpy as np
from bound import bound
from matplotlib import pyplot as plt
from tasks import IMAGES, TASKS, Task
from textbook import Textbook

import ssep
from ssep.kernels import Matern32
from ssep.likelihoods import Poisson

ROOT = pathlib.Path(__file__).parents[1]
SCALES = [10**3, 10**4, 10**5, 10**6]
# The cheapest refresh of sites, so that the passes are seen, and one with cubature.
RULES = {"ExtendedEP(1)": ssep.ExtendedEP(1.0), "CVI": ssep.CVI()}
# Where the textbook takes minutes, or cubature has too many points.
FEW = {name: ["ExtendedEP(1)"] for name in ("audio", "airline", "rainforest")}


def measure(call: Any, repeats: int) -> dict[str, float]:
    """Seconds of the first call, and the median and quartiles of others."""
    begun = time.perf_counter()
    jax.block_until_ready(call())
    first, seconds = time.perf_counter() - begun, []
    for _ in range(repeats):
        begun = time.perf_counter()
        jax.block_until_ready(call())
        seconds.append(time.perf_counter() - begun)
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    return {"compile": max(first - middle, 0.0), "median": middle, "low": low, "high": high}


def sweeper(task: Task, rule: ssep.Rule, sites: ssep.SiteState, smoother: ssep.Smoother) -> Any:
    """One sweep, compiled as a user's own program would have it."""
    run = eqx.filter_jit(
        lambda prior, sites: ssep.sweep(prior, task.likelihood, sites, rule, task.data, smoother=smoother)
    )
    return lambda: run(task.prior, sites)


def trainer(task: Task, rule: ssep.Rule, sites: ssep.SiteState) -> Any:
    """The energy and its gradient in the prior, and the refreshed sites."""

    def energy(prior: ssep.Prior, sites: ssep.SiteState) -> Any:
        _, moved, value = ssep.sweep(prior, task.likelihood, sites, rule, task.data)
        return value, moved

    run = eqx.filter_jit(eqx.filter_value_and_grad(energy, has_aux=True))
    return lambda: run(task.prior, sites)


def peak() -> float:
    """The most memory this process has had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def one_rule(name: str, label: str) -> dict[str, Any]:
    """One rule on one task."""
    task, rule = TASKS[name](), RULES[label]
    repeats = 2 if name == "rainforest" else 9
    sites = jax.block_until_ready(ssep.sweep(task.prior, task.likelihood, None, rule, task.data)[1])
    baseline = peak()
    found = {"step": measure(trainer(task, rule, sites), repeats), "memory": peak() - baseline}
    found["sweep"] = measure(sweeper(task, rule, sites, ssep.Sequential()), repeats)
    found["textbook"] = measure(sweeper(task, rule, sites, Textbook()), repeats)
    state_space = eqx.filter_jit(lambda prior: prior.discretise(task.data))(task.prior)
    passes = eqx.filter_jit(lambda space, sites: ssep.Sequential().smooth(ssep.Sequential().filter(space, sites)))
    return found | {
        "passes": measure(lambda: passes(state_space, sites), repeats),
        "bound": bound(state_space, np.asarray(sites.linear), np.asarray(sites.precision)),
        "steps": len(task.data.t),
        "state": len(state_space.dynamics.initial_mean),
    }


def one_scale(size: int) -> dict[str, Any]:
    """A Matern-3/2 Poisson series of some length."""
    t = np.arange(size, dtype=float)
    data = ssep.Data(t, np.random.default_rng(0).poisson(np.exp(np.sin(t / 500))))
    task = Task(ssep.SDEPrior(Matern32(1.0, 100.0)), Poisson(), data)
    rule = ssep.CVI()
    sites = jax.block_until_ready(ssep.sweep(task.prior, task.likelihood, None, rule, task.data)[1])
    found = {"sweep": measure(sweeper(task, rule, sites, ssep.Sequential()), 5)}
    found["step"] = measure(trainer(task, rule, sites), 5)
    return found | {"memory": peak()}


def in_its_own_process(*arguments: str) -> dict[str, Any]:
    """What this file finds when called with these arguments."""
    run = subprocess.run([sys.executable, __file__, "--one", *arguments], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def milliseconds(timing: dict[str, float]) -> str:
    """The median, and half the distance between the quartiles."""
    return f"{1e3 * timing['median']:.3g} ± {500 * (timing['high'] - timing['low']):.1g}"


def render(found: dict[str, Any], scales: dict[str, Any]) -> str:
    """The tables in Markdown."""
    lines = [
        "| task | steps | state | rule | sweep, ms | textbook / sweep | training step / sweep | memory of a step, MB | "
        "compile sweep, s | compile step, s |",
        "| --- " * 10 + "|",
    ]
    for name, task in found.items():
        for label, row in task.items():
            slower, step = (row[key]["median"] / row["sweep"]["median"] for key in ("textbook", "step"))
            lines.append(
                f"| {name} | {row['steps']} | {row['state']} | `{label}` | {milliseconds(row['sweep'])} | "
                f"{slower:.1f} | {step:.1f} | {row['memory']:.0f} | "
                f"{row['sweep']['compile']:.1f} | {row['step']['compile']:.1f} |"
            )
    lines += ["", "| task | filter and smoother, ms | bound, ms | ratio |", "| --- " * 4 + "|"]
    for name, task in found.items():
        row = next(iter(task.values()))
        ratio = row["passes"]["median"] / row["bound"]
        lines.append(f"| {name} | {milliseconds(row['passes'])} | {1e3 * row['bound']:.3g} | {ratio:.1f} |")
    lines += ["", "| steps | sweep, µs per step | training step, µs per step | peak memory, MB |", "| --- " * 4 + "|"]
    for size, row in scales.items():
        per = [1e6 * row[key]["median"] / int(size) for key in ("sweep", "step")]
        lines.append(f"| {int(size):,} | {per[0]:.3g} | {per[1]:.3g} | {row['memory']:.0f} |")
    return "\n".join(lines)


def draw(scales: dict[str, Any]) -> None:
    """Time against the number of steps."""
    figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    sizes = [int(size) for size in scales]
    for key, label in [("sweep", "sweep"), ("step", "training step")]:
        ax.loglog(sizes, [scales[str(size)][key]["median"] for size in sizes], "o-", label=label)
    ax.loglog(sizes, [1e-6 * size for size in sizes], "--", color="grey", label="1 µs per step")
    ax.set(xlabel="number of time steps", ylabel="seconds", title="Matern-3/2, Poisson, CVI")
    ax.legend()
    figure.savefig(IMAGES / "speed.png", dpi=110)


def main(names: list[str]) -> None:
    """Measure, write and draw."""
    found = {}
    for name in names:
        found[name] = {label: in_its_own_process(name, label) for label in FEW.get(name, RULES)}
        print(name, "done", flush=True)
    scales = {str(size): in_its_own_process(str(size)) for size in SCALES}
    (ROOT / "benchmarks" / "speed.json").write_text(json.dumps({"tasks": found, "scales": scales}, indent=1))
    page = ROOT / "docs" / "results" / "speed.md"
    text = page.read_text()
    begin, end = "<!-- tables -->\n", "<!-- end of tables -->"
    before, rest = text.split(begin)
    page.write_text(f"{before}{begin}\n{render(found, scales)}\n\n{end}{rest.split(end)[1]}")
    draw(scales)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        which = sys.argv[2]
        print(json.dumps(one_scale(int(which)) if which.isdigit() else one_rule(which, sys.argv[3])))
    else:
        main(sys.argv[1:] or list(TASKS))
