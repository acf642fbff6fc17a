"""What others offer, next to the best of this library on the same folds."""

from typing import Any

import numpy as np
from tasks import TASKS

from paper import results


def baseline_table() -> list[str]:
    """One row for each task and method: scores and median seconds over the folds that were run."""
    lines = ["| task | method | folds | NLPD | seconds a fold |", "| --- | --- | --- | --- | --- |"]
    others, own = results.load(results.BASELINES), results.load()
    for task in TASKS:
        rows = _by_method(others, task, "baseline")
        if rows:
            folds = set.union(*(set(row) for row in rows.values()))
            lines += [_line(task, method, row) for method, row in rows.items()]
            lines += _best(task, _by_method(own, task, "ours"), folds)
    return lines


def _by_method(entries: results.Results, task: str, protocol: str) -> dict[str, dict[int, dict[str, Any]]]:
    """The entries of a task by method and by fold."""
    rows: dict[str, dict[int, dict[str, Any]]] = {}
    for (own_task, method, own_protocol, fold), entry in entries.items():
        if (own_task, own_protocol) == (task, protocol) and entry["nlpd"] is not None:
            rows.setdefault(method, {})[fold] = entry
    return rows


def _best(task: str, rows: dict[str, dict[int, dict[str, Any]]], folds: set[int]) -> list[str]:
    """The method of this library with the lowest score, of those that have all of these folds."""
    able = {method: {fold: row[fold] for fold in folds} for method, row in rows.items() if folds <= set(row)}
    method = min(able, key=lambda name: np.mean(_column(able[name], "nlpd")), default=None)
    return [] if method is None else [_line(task, f"ssep, {method}", able[method])]


def _line(task: str, method: str, row: dict[int, dict[str, Any]]) -> str:
    scores = _column(row, "nlpd")
    spread = f" ± {np.std(scores):.2f}" if len(scores) > 1 else ""
    seconds = np.median(_column(row, "seconds"))
    return f"| {task} | {method} | {len(scores)} | {np.mean(scores):.3f}{spread} | {seconds:.1f} |"


def _column(row: dict[int, dict[str, Any]], name: str) -> list[float]:
    return [entry[name] for entry in row.values()]
