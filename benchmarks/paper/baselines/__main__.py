"""Baselines of the experiments of [W20].

    python -m paper.baselines dense [--tasks coal] [--methods "batch EP (GH)"] [--folds 0 1 2]
    python -m paper.baselines svgp [--tasks binary] [--methods "SVGP 15"] [--folds 0 1 2]

from the folder `benchmarks`, or `make paper-baselines`. `svgp` needs an environment with GPyTorch. Both add what is
missing to paper/baselines.jsonl and can be stopped at any time.
"""

import argparse
import importlib
import time

from paper import results
from paper.experiments import experiment
from paper.run import ALL_FOLDS, commit

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("kind", choices=["dense", "svgp"])
parser.add_argument("--tasks", nargs="+")
parser.add_argument("--methods", nargs="+")
parser.add_argument("--folds", nargs="+", type=int, default=ALL_FOLDS)
asked = parser.parse_args()
# By name: only one of the two environments can import each.
kind = importlib.import_module({"dense": "paper.baselines.learn_dense", "svgp": "paper.baselines.svgp"}[asked.kind])
for task in asked.tasks or kind.TASKS:
    setup = experiment(task)
    for method in asked.methods or kind.METHODS:
        for fold in asked.folds:
            key = {"task": task, "method": method, "protocol": "baseline", "fold": fold}
            if tuple(key.values()) in results.load(results.BASELINES):
                continue
            begun = time.process_time()
            found = kind.learn(task, method, setup, fold) | {"seconds_cpu": time.process_time() - begun}
            results.add(key | found | {"commit": commit()}, results.BASELINES)
            print(key | {"nlpd": found["nlpd"], "seconds": found["seconds"]}, flush=True)
