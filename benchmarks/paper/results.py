"""What was found so far: one line of JSON for each task, method, protocol and fold."""

import json
import pathlib
from typing import Any

STORE = pathlib.Path(__file__).parent / "results.jsonl"
BASELINES = STORE.with_name("baselines.jsonl")

Results = dict[tuple[str, str, str, int], dict[str, Any]]
"""By task, method, protocol and fold."""


def load(store: pathlib.Path = STORE) -> Results:
    """All results; of repeated ones the last counts."""
    lines = store.read_text().splitlines() if store.exists() else []
    entries = [json.loads(line) for line in lines]
    return {(entry["task"], entry["method"], entry["protocol"], entry["fold"]): entry for entry in entries}


def add(entry: dict[str, Any], store: pathlib.Path = STORE) -> None:
    """Write one result down at once: a run that is stopped loses nothing."""
    with store.open("a") as file:
        file.write(json.dumps(entry) + "\n")
