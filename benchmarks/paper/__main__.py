"""The experiments of [W20].

    python -m paper run coal banana [--methods "EEP 1" "VI(GH)"] [--protocol paper] [--folds 0 1 2] [--minutes 10]
    python -m paper render

from the folder `benchmarks`, or `make paper`. `run` adds what is missing to paper/results.jsonl and can be stopped at
any time; `render` writes docs/results/paper.md and its figures from there.
"""

import argparse

from tasks import TASKS

from paper.methods import METHODS
from paper.protocols import PROTOCOLS
from paper.render import render
from paper.run import ALL_FOLDS, run

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
commands = parser.add_subparsers(dest="command", required=True)
runner = commands.add_parser("run", help="fill in what is missing")
runner.add_argument("tasks", nargs="+", choices=list(TASKS))
runner.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
runner.add_argument("--protocol", choices=list(PROTOCOLS), default="ours")
runner.add_argument("--folds", nargs="+", type=int, default=ALL_FOLDS)
runner.add_argument("--minutes", type=float, default=10.0, help="for each method on each task")
commands.add_parser("render", help="write the tables and the figures")
asked = parser.parse_args()
if asked.command == "render":
    render()
else:
    for task in asked.tasks:
        run(task, asked.methods, asked.protocol, asked.folds, asked.minutes)
