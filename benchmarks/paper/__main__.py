"""The experiments of [W20].

    python -m paper run coal banana [--methods "EEP 1" "VI(GH)"] [--protocol paper] [--folds 0 1 2] [--minutes 10]
                                    [--workers 2]
    python -m paper figures [coal ...]
    python -m paper render

from the folder `benchmarks`, or `make paper`. `run` adds what is missing to paper/results.jsonl and can be stopped at
any time; `figures` draws the best method of each task from there, `render` writes docs/results/paper.md.
"""

import argparse
import concurrent.futures
import multiprocessing
import time

from tasks import TASKS

from paper.figures import draw
from paper.methods import FAMILIES, METHODS
from paper.render import render
from paper.run import ALL_FOLDS, PROTOCOLS, run


def main() -> None:
    """Read the command and carry it out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="fill in what is missing")
    runner.add_argument("tasks", nargs="+", choices=list(TASKS))
    runner.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    runner.add_argument("--protocol", choices=list(PROTOCOLS), default="ours")
    runner.add_argument("--folds", nargs="+", type=int, default=ALL_FOLDS)
    runner.add_argument("--minutes", type=float, default=10.0, help="for each method on each task")
    runner.add_argument("--workers", type=int, default=1, help="processes side by side")
    drawer = commands.add_parser("figures", help="draw the best method of each task")
    drawer.add_argument("tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    commands.add_parser("render", help="write the tables")
    asked = parser.parse_args()
    if asked.command == "render":
        render()
        return
    if asked.command == "figures":
        for task in asked.tasks:
            draw(task)
        return
    begun = time.perf_counter()
    # A fresh process for each family: compiled programs are many, and nothing is shared beyond it.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(asked.workers, context, max_tasks_per_child=1) as pool:
        jobs = [
            pool.submit(run, task, wanted, asked.protocol, asked.folds, asked.minutes)
            for task in asked.tasks
            for family in FAMILIES
            if (wanted := [name for name in family if name in asked.methods])
        ]
        for job in concurrent.futures.as_completed(jobs):
            job.result()
    print(f"{(time.perf_counter() - begun) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
