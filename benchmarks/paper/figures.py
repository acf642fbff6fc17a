"""A figure of each task: the posterior given all data, with what the best method learned on its first fold."""

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from tasks import IMAGES

import ssep
from paper import results
from paper.experiments import Experiment, experiment
from paper.methods import methods


def image(task: str) -> pathlib.Path:
    """Where the figure of a task is."""
    return IMAGES / f"paper-{task}.png"


def draw(task: str) -> None:
    """Draw one task, if it was run."""
    best = _best(task)
    if best is None:
        return
    setup = experiment(task)
    method = methods(setup.degree)[best["method"]]
    model = setup.learned(best["hyperparameters"])
    solution = ssep.infer(*model, method.rule, setup.task.data, objective=method.energy, tol=1e-3, throw=False)
    _DRAWINGS[task](setup, solution)
    figure = plt.gcf()
    figure.suptitle(f"{task.capitalize()}, {best['method']}, as learned on the first fold", fontsize="small")
    figure.savefig(image(task), dpi=110)
    plt.close(figure)


def _best(task: str) -> dict[str, Any] | None:
    """The first fold of the method with the lowest mean score, of those with the most folds."""
    found = results.load()
    scores: dict[str, list[float]] = {}
    for (own, method, protocol, _), entry in found.items():
        if (own, protocol) == (task, "ours") and entry["nlpd"] is not None:
            scores.setdefault(method, []).append(entry["nlpd"])
    if not scores:
        return None
    best = min(scores, key=lambda method: (-len(scores[method]), np.mean(scores[method])))
    return found.get((task, best, "ours", 0))


def _motorcycle(setup: Experiment, solution: ssep.Solution) -> None:
    _, axes = plt.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
    ssep.plotting.predictive(solution, ax=axes[0])
    ssep.plotting.latents(solution, ax=axes[1:])
    axes[0].set(xlabel="", ylabel="readings")
    axes[1].set(ylabel="mean")
    axes[2].set(xlabel="standardised time", ylabel="size of the noise, before its link")


def _coal(setup: Experiment, solution: ssep.Solution) -> None:
    t = np.asarray(solution.data.t)
    low, middle, high = (_rate(solution, t, z) / (t[1] - t[0]) for z in (-1.645, 0.0, 1.645))
    _, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
    ax.fill_between(t, low, high, alpha=0.25, label="90 % band")
    ax.plot(t, middle, label="median")
    busy = np.repeat(t, np.asarray(solution.data.y).astype(int))
    ax.plot(busy, np.zeros_like(busy), "k|", label="disasters")
    ax.set(title="Coal: disasters per year", xlabel="year", ylim=(-0.1, None))
    ax.legend()


def _banana(setup: Experiment, solution: ssep.Solution) -> None:
    side = np.linspace(-2.8, 2.8, 90)
    chance = np.asarray(ssep.predict(solution, side, r_new=side).y_mean).T
    figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    shown = ax.pcolormesh(side, side, chance, cmap="coolwarm", vmin=0, vmax=1, shading="gouraud")
    ax.contour(side, side, chance, [0.5], colors="black")
    points = np.asarray(solution.data.t), np.asarray(solution.data.locations.places).reshape(-1)
    for label, colour in [(0, "tab:blue"), (1, "tab:red")]:
        own = np.asarray(solution.data.y) == label
        ax.plot(*(values[own] for values in points), "o", color=colour, markersize=4, markeredgecolor="white")
    ax.set(title="Banana: probability of one class", xlabel="x1 (time)", ylabel="x2 (space)")
    figure.colorbar(shown, ax=ax)


def _binary(setup: Experiment, solution: ssep.Solution) -> None:
    t = np.asarray(solution.data.t)
    _, axes = plt.subplots(2, 1, figsize=(8, 5), layout="constrained")
    for ax, begin in zip(axes, (t[0], 0.6 * t[-1]), strict=True):
        own = (t >= begin) & (t < begin + 400)
        ax.plot(t[own], np.asarray(solution.data.y)[own], "k.", markersize=3, label="labels")
        over = np.linspace(begin, begin + 400, 800)
        ax.plot(over, np.asarray(ssep.predict(solution, over).y_mean), label="probability")
        ax.set(xlabel="t")
    axes[0].set(title="Binary: the signal at its beginning, and where noise has the upper hand")
    axes[0].legend()


def _audio(setup: Experiment, solution: ssep.Solution) -> None:
    t, y = np.asarray(solution.data.t), np.asarray(solution.data.y)
    mean = np.asarray(solution.posterior.mean)
    subbands, envelopes = mean[:, :3], np.logaddexp(0, mean[:, 3:])
    _, axes = plt.subplots(4, 1, figsize=(9, 8), sharex=True, layout="constrained")
    axes[0].plot(t, y, "k", linewidth=0.4, label="speech")
    axes[0].plot(t, np.sum(subbands * envelopes, 1), linewidth=0.6, label="sum of subbands")
    axes[0].set(title="Audio: the recording and its components")
    axes[0].legend(loc="upper right")
    carriers = solution.prior.kernels[:3]  # pyright: ignore[reportAttributeAccessIssue]
    for i, (ax, carrier) in enumerate(zip(axes[1:], carriers, strict=True)):
        ax.plot(t, subbands[:, i] * envelopes[:, i], linewidth=0.5, label="subband")
        scale = np.sqrt(2 * float(carrier.factors[0].variance))
        ax.plot(t, scale * envelopes[:, i], color="C1", label="envelope")
        ax.set(title=f"{1000 * float(carrier.factors[1].frequency) / (2 * np.pi):.0f} Hz")
    axes[3].set(xlabel="milliseconds")


def _airline(setup: Experiment, solution: ssep.Solution) -> None:
    t = np.asarray(solution.data.t)
    _, axes = plt.subplots(3, 1, figsize=(9, 8), layout="constrained")
    spans = [(t[0], t[-1]), (t[-1] - 730, t[-1]), (t[-1] - 28, t[-1])]
    names = ["trend over all days", "yearly pattern, last two years", "weekly pattern, last four weeks"]
    for i, (ax, span, name) in enumerate(zip(axes, spans, names, strict=True)):
        over = np.linspace(*span, 600)
        term = ssep.components(solution, over)[i]
        mean, deviation = np.asarray(term.mean), np.sqrt(np.asarray(term.var))
        ax.fill_between(over, mean - 1.645 * deviation, mean + 1.645 * deviation, alpha=0.25)
        ax.plot(over, mean)
        ax.set(title=name, ylabel="log rate")
    axes[0].set_title("Airline: " + names[0])
    axes[2].set(xlabel="days since the first accident")


def _rainforest(setup: Experiment, solution: ssep.Solution) -> None:
    along, across = np.asarray(solution.data.t), np.asarray(solution.data.locations.places).reshape(-1)
    mean, cov = np.asarray(solution.posterior.mean)[..., 0], np.asarray(solution.posterior.cov)[..., 0, 0]
    figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
    shown = ax.pcolormesh(along, across, np.exp(mean + cov / 2).T, cmap="viridis")
    ax.set(title="Rainforest: expected trees per 2 m x 2 m", xlabel="metres", ylabel="metres", aspect="equal")
    figure.colorbar(shown, ax=ax, shrink=0.8)


def _rate(solution: ssep.Solution, t: np.ndarray, z: float) -> np.ndarray:
    """A quantile of exp(f), given that of a standard normal number."""
    prediction = ssep.predict(solution, t)
    return np.exp(np.asarray(prediction.f_mean)[:, 0] + z * np.sqrt(np.asarray(prediction.f_var)[:, 0]))


_DRAWINGS: dict[str, Callable[[Experiment, ssep.Solution], None]] = {
    "motorcycle": _motorcycle,
    "coal": _coal,
    "banana": _banana,
    "binary": _binary,
    "audio": _audio,
    "airline": _airline,
    "rainforest": _rainforest,
}
