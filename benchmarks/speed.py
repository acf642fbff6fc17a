"""How long a sweep and a training step take on the seven tasks of [W20], as ratios within one run.

    python benchmarks/speed.py [--together] [task ...]

measures every task and rule in a process of its own and writes the tables of docs/results/speed.md, the numbers to
benchmarks/speed.json, and the figure of time against the number of steps. A training step is `sweep_and_gradient` with
the filter's energy. Ratios are to a textbook filter and smoother (benchmarks/textbook.py) with everything else the
same, and to a bound (benchmarks/bound.py) for the two passes alone. With --together only the table of posterior and
gradient together is measured.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from bound import bound
from matplotlib import pyplot as plt
from tasks import IMAGES, TASKS, Task
from textbook import Textbook
from together import buffers, compiled, one_together

import ssep
from ssep.kernels import Matern32
from ssep.likelihoods import Poisson

ROOT = pathlib.Path(__file__).parents[1]
SCALES = [10**3, 10**4, 10**5, 10**6]
# The cheapest refresh of sites comes first: it lets the passes be seen.
RULES = {
    "ExtendedEP(1)": ssep.ExtendedEP(1.0),
    "StatLinEP(1)": ssep.StatLinEP(1.0),
    "PowerEP(1)": ssep.PowerEP(1.0),
    "CVI": ssep.CVI(),
}
# Six latents have too many points of a product rule.
FOR_MANY_LATENTS = {
    "ExtendedEP(1)": ssep.ExtendedEP(1.0),
    "StatLinEP(1)": ssep.StatLinEP(1.0, ssep.Unscented5()),
    "PowerEP(1)": ssep.PowerEP(1.0, ssep.Unscented5()),
    "CVI": ssep.CVI(ssep.Unscented5()),
}
# Where the textbook takes long it is measured with the first rule alone.
LONG = ("audio", "airline", "rainforest")
# With this XLA compiles a loop over plain arithmetic into one function, whatever its size.
WHOLE_LOOPS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1073741824"
SMALL = ("motorcycle", "coal", "binary")
PAIRS = [("separate", "sweep"), ("together", "sweep"), ("together", "separate"), ("fit", "sweep")]


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


def sweeper(task: Task, rule: ssep.Rule, smoother: ssep.Smoother) -> Callable[[ssep.Prior, ssep.SiteState], Any]:
    """One sweep."""
    return lambda prior, sites: ssep.sweep(prior, task.likelihood, sites, rule, task.data, smoother=smoother)


def trainer(task: Task, rule: ssep.Rule) -> Callable[[ssep.Prior, ssep.SiteState], Any]:
    """The posterior, the refreshed sites, the energy and its gradient."""
    return lambda prior, sites: ssep.sweep_and_gradient(prior, task.likelihood, sites, rule, task.data)


def peak() -> float:
    """The most memory this process has had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def one_rule(name: str, label: str) -> dict[str, Any]:
    """One rule on one task."""
    task, rule = TASKS[name](), (FOR_MANY_LATENTS if name == "audio" else RULES)[label]
    repeats = 2 if name == "rainforest" else 9
    sites = jax.block_until_ready(ssep.sweep(task.prior, task.likelihood, None, rule, task.data)[1])
    step = compiled(trainer(task, rule), task.prior, sites)
    found = {"step": measure(step, repeats), "memory": buffers(step)}
    found["sweep"] = measure(compiled(sweeper(task, rule, ssep.Sequential()), task.prior, sites), repeats)
    first = label == next(iter(RULES))
    if first or name not in LONG:
        found["textbook"] = measure(compiled(sweeper(task, rule, Textbook()), task.prior, sites), repeats)
    state_space = eqx.filter_jit(lambda prior: prior.discretise(task.data))(task.prior)
    found |= {"steps": len(task.data.t), "state": len(state_space.dynamics.initial_mean)}
    if not first:
        return found
    arrays, rest = eqx.partition(state_space, eqx.is_array)
    smoother = ssep.Sequential()
    passes = jax.jit(lambda arrays, sites: smoother.smooth(smoother.filter(eqx.combine(arrays, rest), sites)))
    return found | {
        "passes": measure(partial(passes, arrays, sites), repeats),
        "bound": bound(state_space, np.asarray(sites.linear), np.asarray(sites.precision)),
    }


def one_scale(size: int) -> dict[str, Any]:
    """A Matern-3/2 Poisson series of some length."""
    t = np.arange(size, dtype=float)
    data = ssep.Data(t, np.random.default_rng(0).poisson(np.exp(np.sin(t / 500))))
    task, rule = Task(ssep.SDEPrior(Matern32(1.0, 100.0)), Poisson(), data), ssep.CVI()
    sites = jax.block_until_ready(ssep.sweep(task.prior, task.likelihood, None, rule, task.data)[1])
    found = {"sweep": measure(compiled(sweeper(task, rule, ssep.Sequential()), task.prior, sites), 7)}
    found["step"] = measure(compiled(trainer(task, rule), task.prior, sites), 7)
    return found | {"memory": peak()}


def in_its_own_process(*arguments: str, flags: str = "") -> dict[str, Any]:
    """What this file finds when called with these arguments."""
    run = subprocess.run(
        [sys.executable, __file__, "--one", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XLA_FLAGS": flags},
    )
    if run.returncode:
        raise RuntimeError(f"{arguments} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def milliseconds(timing: dict[str, float]) -> str:
    """The median, and half the distance between the quartiles."""
    return f"{1e3 * timing['median']:.3g} ± {500 * (timing['high'] - timing['low']):.1g}"


def table(*names: str) -> list[str]:
    """The head of a table."""
    return ["", f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]


def render(found: dict[str, Any], scales: dict[str, Any], whole: dict[str, Any], together: dict[str, Any]) -> str:
    """The tables in Markdown."""
    lines = table(
        *("task", "steps", "state", "rule", "sweep, ms", "textbook / sweep", "training step / sweep"),
        *("memory of a step, MB", "compile sweep, s", "compile step, s"),
    )
    for name, task in found.items():
        for label, row in task.items():
            step = row["step"]["median"] / row["sweep"]["median"]
            slower = f"{row['textbook']['median'] / row['sweep']['median']:.1f}" if "textbook" in row else ""
            lines.append(
                f"| {name} | {row['steps']} | {row['state']} | `{label}` | {milliseconds(row['sweep'])} | "
                f"{slower} | {step:.1f} | {row['memory']:.1f} | "
                f"{row['sweep']['compile']:.1f} | {row['step']['compile']:.1f} |"
            )
    lines += table("task", "filter and smoother, ms", "bound, ms", "ratio")
    for name, task in found.items():
        row = next(iter(task.values()))
        ratio = row["passes"]["median"] / row["bound"]
        lines.append(f"| {name} | {milliseconds(row['passes'])} | {1e3 * row['bound']:.3g} | {ratio:.1f} |")
    lines += table("steps", "sweep, µs per step", "training step, µs per step", "peak memory, MB")
    for size, row in scales.items():
        per = [1e6 * row[key]["median"] / int(size) for key in ("sweep", "step")]
        lines.append(f"| {int(size):,} | {per[0]:.3g} | {per[1]:.3g} | {row['memory']:.0f} |")
    lines += table("with whole loops", "sweep, ms", "textbook / sweep", "training step / sweep", "passes / bound")
    for name, row in whole.items():
        times = {key: row[key]["median"] for key in ("sweep", "step", "textbook", "passes") if key in row}
        slower = f"{times['textbook'] / times['sweep']:.1f}" if "textbook" in row else ""
        above = f"{times['passes'] / row['bound']:.1f}" if "passes" in row else ""
        lines.append(
            f"| {name} | {milliseconds(row['sweep'])} | {slower} | {times['step'] / times['sweep']:.1f} | {above} |"
        )
    lines += table(
        *("task", "energy", "separate / sweep", "together / sweep", "together / separate"),
        *("memory, MB: separate, together", "step of `fit` / sweep"),
    )
    for name, task in together.items():
        for label, row in task.items():
            parts = [row[one] / row[other] for one, other in PAIRS]
            memory = f"{row['memory']['separate']:.1f}, {row['memory']['together']:.1f}"
            lines.append(
                f"| {name} | `{label}` | {parts[0]:.1f} | {parts[1]:.1f} | {parts[2]:.2f} | {memory} | {parts[3]:.1f} |"
            )
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


def main(names: list[str], only_together: bool) -> None:
    """Measure, write and draw; if tasks are named, these alone, beside what was measured before."""
    store = ROOT / "benchmarks" / "speed.json"
    numbers = {"tasks": {}, "scales": {}, "whole loops": {}, "together": {}}
    numbers |= json.loads(store.read_text()) if names or only_together else {}
    for name in names or TASKS:
        if name not in LONG or name == "airline":
            numbers["together"][name] = in_its_own_process("together", name)
        if only_together:
            continue
        numbers["tasks"][name] = {label: in_its_own_process(name, label) for label in RULES}
        if name in SMALL:
            numbers["whole loops"][name] = in_its_own_process(name, next(iter(RULES)), flags=WHOLE_LOOPS)
        print(name, "done", flush=True)
    for size in [] if names or only_together else SCALES:
        numbers["scales"][str(size)] = in_its_own_process(str(size))
        numbers["whole loops"][f"{size:,} steps"] = in_its_own_process(str(size), flags=WHOLE_LOOPS)
    store.write_text(json.dumps(numbers, indent=1))
    page = ROOT / "docs" / "results" / "speed.md"
    text = page.read_text()
    begin, end = "<!-- tables -->\n", "<!-- end of tables -->"
    before, rest = text.split(begin)
    page.write_text(f"{before}{begin}{render(*numbers.values())}\n\n{end}{rest.split(end)[1]}")
    draw(numbers["scales"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        which, *rest = sys.argv[2:]
        if which == "together":
            print(json.dumps(one_together(*rest)))
        else:
            print(json.dumps(one_scale(int(which)) if which.isdigit() else one_rule(which, *rest)))
    else:
        asked = sys.argv[1:]
        main([each for each in asked if each != "--together"], "--together" in asked)
