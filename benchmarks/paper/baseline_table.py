"""What others offer, next to the best of this library on the same folds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tasks import TASKS

from paper import results

METHODS = ("batch EP (GH)", "batch VGP (GH)", "SVGP 15", "SVGP 100", "SVGP 500")


def baseline_table(wanted: Mapping[tuple[str, str], Any]) -> list[str]:
    """One row for each task and method: scores and median seconds over the folds that were run.

    Args:
        wanted: What the paper prints, by method and task.
    """
    lines = ["| task | method | folds | NLPD | [W20] | seconds a fold |", "| --- " * 6 + "|"]
    others, own = results.load(results.BASELINES), results.load()
    for task in TASKS:
        rows = _by_method(others, task, "baseline")
        folds = {fold for row in rows.values() for fold in row}
        best = _best(_by_method(own, task, "ours"), folds) if folds else {}
        for method, row in {name: rows[name] for name in METHODS if name in rows}.items():
            lines.append(_line(task, method, row, wanted.get((method, task))))
        for method, row in best.items():
            lines.append(_line(task, f"ssep, {method}", row, wanted.get((method, task))))
    return lines


def _by_method(entries: results.Results, task: str, protocol: str) -> dict[str, dict[int, dict[str, Any]]]:
    """The entries of a task by method and by fold."""
    rows: dict[str, dict[int, dict[str, Any]]] = {}
    for (own_task, method, own_protocol, fold), entry in entries.items():
        if (own_task, own_protocol) == (task, protocol) and entry["nlpd"] is not None:
            rows.setdefault(method, {})[fold] = entry
    return rows


def _best(rows: dict[str, dict[int, dict[str, Any]]], folds: set[int]) -> dict[str, dict[int, dict[str, Any]]]:
    """The method with the lowest score, of those that have all of these folds."""
    able = {method: {fold: row[fold] for fold in folds} for method, row in rows.items() if folds <= set(row)}
    ranked = sorted(able, key=lambda method: float(np.mean(_column(able[method], "nlpd"))))
    return {method: able[method] for method in ranked[:1]}


def _line(task: str, method: str, row: dict[int, dict[str, Any]], printed: Any) -> str:
    scores, seconds = _column(row, "nlpd"), f"{np.median(_column(row, 'seconds')):.1f}"
    spread = f" ± {np.std(scores):.2f}" if len(scores) > 1 else ""
    if all("seconds_cpu" in entry for entry in row.values()):
        seconds += f" ({np.median(_column(row, 'seconds_cpu')):.1f} of CPU)"
    theirs = "" if printed is None else f"{printed.mean:.3f}"
    return f"| {task} | {method} | {len(scores)} | {np.mean(scores):.3f}{spread} | {theirs} | {seconds} |"


def _column(row: dict[int, dict[str, Any]], name: str) -> list[float]:
    return [entry[name] for entry in row.values()]
