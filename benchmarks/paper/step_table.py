"""Seconds of a training step, next to table 2 of [W20]: ours are those that `make bench` measured."""

import csv
import json
import pathlib

from tasks import TASKS

PRINTED = pathlib.Path(__file__).parent / "table2.csv"
MEASURED = pathlib.Path(__file__).parents[1] / "speed.json"
RULES = {"EEP": "ExtendedEP(1)", "UEP": "StatLinEP(1)", "EP(GH)": "PowerEP(1)"}


def step_table() -> list[str]:
    """One row per method; what the paper prints is in brackets."""
    measured = json.loads(MEASURED.read_text())["tasks"]
    with PRINTED.open() as file:
        printed = {row["method"]: row for row in csv.DictReader(file)}
    lines = [f"| method | {' | '.join(TASKS)} |", "| --- " * (1 + len(TASKS)) + "|"]
    for method, rule in RULES.items():
        ours = [measured[task][rule]["step"]["median"] for task in TASKS]
        cells = [
            f"{seconds:.2g} [{printed[method][task] or 'none'}]" for seconds, task in zip(ours, TASKS, strict=True)
        ]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines
