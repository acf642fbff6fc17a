"""The results as tables, next to those of the paper."""

import csv
import pathlib
from typing import NamedTuple

import numpy as np
from tasks import TASKS

from paper import results
from paper.baseline_table import baseline_table
from paper.figures import image
from paper.methods import METHODS
from paper.step_table import step_table
from paper.variants import CHANGES

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "results" / "paper.md"
PRINTED = pathlib.Path(__file__).parent / "table1.csv"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->"


class Cell(NamedTuple):
    """Mean and standard deviation over folds, and how many there were."""

    mean: float
    deviation: float
    folds: int

    def __str__(self) -> str:
        """As in the paper; fewer than ten folds are marked."""
        mark = "" if self.folds == 10 else f" ({self.folds})"
        return f"{self.mean:.3f} ± {self.deviation:.2f}{mark}"


def printed() -> dict[tuple[str, str], Cell]:
    """The paper's own table 1."""
    with PRINTED.open() as file:
        rows = list(csv.DictReader(file))
    cells = {(row["method"], task): row[task].split() for row in rows for task in TASKS if row[task]}
    return {key: Cell(float(mean), float(deviation), 10) for key, (mean, deviation) in cells.items()}


def found(protocol: str) -> dict[tuple[str, str], Cell]:
    """Ours, over the folds that were run; a fold that failed is no score."""
    scores: dict[tuple[str, str], list[float]] = {}
    for (task, method, own, _), entry in results.load().items():
        if own == protocol and entry["nlpd"] is not None:
            scores.setdefault((method, task), []).append(entry["nlpd"])
    return {key: Cell(float(np.mean(each)), float(np.std(each)), len(each)) for key, each in scores.items()}


def is_met(cell: Cell, wanted: Cell | None) -> bool:
    """At or below the paper's mean plus half of its standard deviation, to the three digits that it gives."""
    return wanted is None or round(cell.mean, 3) <= wanted.mean + wanted.deviation / 2


def table(
    cells: dict[tuple[str, str], Cell], wanted: dict[tuple[str, str], Cell], tasks: tuple[str, ...] = tuple(TASKS)
) -> list[str]:
    """One row per method; what the paper prints is in brackets, what misses it is marked."""
    lines = [f"| method | {' | '.join(tasks)} |", "| --- " * (1 + len(tasks)) + "|"]
    for method in METHODS:
        row = []
        for task in tasks:
            cell, theirs = cells.get((method, task)), wanted.get((method, task))
            shown = "" if cell is None else f"{cell}{'' if is_met(cell, theirs) else ' ✗'}"
            row.append(f"{shown} [{theirs.mean:.3f}]" if theirs else f"{shown} [none]")
        lines.append(f"| {method} | {' | '.join(row)} |")
    return lines


def complete(cells: dict[tuple[str, str], Cell], task: str) -> list[tuple[float, str]]:
    """Scores and names of the methods of a task with the most folds: means over fewer folds do not compare."""
    own = {method: cell for (method, other), cell in cells.items() if other == task}
    most = max((cell.folds for cell in own.values()), default=0)
    return [(cell.mean, method) for method, cell in own.items() if cell.folds == most]


def best(cells: dict[tuple[str, str], Cell], wanted: dict[tuple[str, str], Cell]) -> list[str]:
    """The best of each column."""
    lines = ["| task | best here | best in [W20], table 1 |", "| --- | --- | --- |"]
    for task in TASKS:
        ours = min(complete(cells, task), default=None)
        theirs = min((cell.mean, method) for (method, own), cell in wanted.items() if own == task)
        shown = "" if ours is None else f"{ours[0]:.4f} ({ours[1]})"
        lines.append(f"| {task} | {shown} | {theirs[0]:.3f} ({theirs[1]}) |")
    return lines


def seconds() -> list[str]:
    """Seconds of a fold with learning, median over folds."""
    times: dict[tuple[str, str], list[float]] = {}
    for (task, method, protocol, _), entry in results.load().items():
        if protocol == "ours" and "steps" in entry:
            times.setdefault((method, task), []).append(entry["seconds"])
    lines = [f"| method | {' | '.join(TASKS)} |", "| --- " * (1 + len(TASKS)) + "|"]
    for method in METHODS:
        row = [f"{np.median(times[method, task]):.1f}" if (method, task) in times else "" for task in TASKS]
        lines.append(f"| {method} | {' | '.join(row)} |")
    return lines


def floors(ours: dict[tuple[str, str], Cell]) -> list[str]:
    """The best score of each task of counts or labels next to what it would be if the predictions were right."""
    lines = ["| task | method | score | expected if right | score less expected, standard error |", "| --- " * 5 + "|"]
    entries = results.load()
    for task in TASKS:
        methods = sorted(complete(ours, task))
        found = [entries.get((task, methods[0][1], "ours", fold), {}) for fold in range(10)] if methods else []
        pairs = np.array([(e["nlpd"], e["expected"]) for e in found if e.get("expected") is not None])
        if len(pairs) > 1:
            excess = pairs[:, 0] - pairs[:, 1]
            gap = f"{excess.mean():+.4f} ± {excess.std(ddof=1) / np.sqrt(len(excess)):.4f}"
            lines.append(f"| {task} | {methods[0][1]} | {pairs[:, 0].mean():.4f} | {pairs[:, 1].mean():.4f} | {gap} |")
    return lines


def changes(ours: dict[tuple[str, str], Cell]) -> list[str]:
    """What single changes of the settings do."""
    lines = ["| task | method | as in the table | changed | to |", "| --- | --- | --- | --- | --- |"]
    for variant, name in CHANGES.items():
        for (method, task), cell in found(variant).items():
            lines.append(f"| {task} | {method} | {ours.get((method, task), '')} | {name} | {cell} |")
    return lines


def figures() -> list[str]:
    """Those that were drawn."""
    drawn = [task for task in TASKS if image(task).exists()]
    return [line for task in drawn for line in (f"![{task.capitalize()}](../images/{image(task).name})", "")]


def render() -> None:
    """Write the tables into the page."""
    wanted, ours, theirs = printed(), found("ours"), found("paper")
    sections = {
        "Table 1": table(ours, wanted),
        "The best of each task": best(ours, wanted),
        "How far from the floor": floors(ours),
        "With the paper's protocol": table(theirs, wanted, ("motorcycle", "coal", "banana")) if theirs else [],
        "What the settings are worth": changes(ours),
        "Seconds to learn one fold": seconds(),
        "Table 2: seconds of a training step": step_table(),
        "Baselines": baseline_table(wanted),
        "Figures": figures(),
    }
    # A table of nothing but its head is left out.
    filled = {title: lines for title, lines in sections.items() if len(lines) > 2}
    parts = [line for title, lines in filled.items() for line in ["", f"### {title}", "", *lines]]
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{chr(10).join(parts)}\n\n{END}{rest.split(END)[1]}")
