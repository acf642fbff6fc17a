"""`ssep fit`: from a CSV file to a folder with results."""

import argparse
import importlib.util
import json
import sys
from typing import Any

import optax

from ssep.cli.describing import describe_data, describe_model
from ssep.cli.figures import COMPONENTS, FIGURE, draw
from ssep.cli.folder import as_folder
from ssep.cli.holding import all_but
from ssep.cli.inputs import future_exposure, read_frame, read_rule, read_series
from ssep.cli.outputs import Questions, draw_paths, predict_ahead, predict_rows, together, write_csv
from ssep.cli.results import HYPERPARAMETERS, Columns, summary, write_model
from ssep.cli.saying import Say, speaker
from ssep.cli.starting import Start, starting_model
from ssep.expressions import parse_likelihood
from ssep.inference import infer
from ssep.learning import fit
from ssep.plotting.panels import import_pyplot
from ssep.rules.base import Rule
from ssep.solution import Fit, Solution, as_solution
from ssep.tables.series import Series

PREDICTIONS, PATHS = "predictions.csv", "paths.csv"


def fit_file(arguments: argparse.Namespace) -> None:
    """Read a file, fit a model to it, and write predictions, hyperparameters, figures and the model."""
    say = speaker(arguments.quiet)
    likelihood, rule = parse_likelihood(arguments.likelihood), read_rule(arguments.rule, arguments.alpha)
    columns = Columns(arguments.time, arguments.target, arguments.exposure, arguments.date_format)
    questions = Questions(arguments.horizon, arguments.every, arguments.quantiles, future_exposure(columns, arguments))
    frame = read_frame(arguments.data, columns, arguments.time_zone, arguments.future_exposure)
    series = read_series(frame, columns, arguments.unit, likelihood)
    # What is going to fail had better fail before learning.
    as_folder(arguments.out)
    if questions.horizon:
        series.future(questions.horizon, questions.every)
    if not arguments.no_figure:
        import_pyplot("predictive")
    say(describe_data(arguments.data, series))
    start = starting_model(series.data, arguments.likelihood, arguments.kernel or ["matern52"], arguments.mean)
    solved = _solve(start, rule, series, arguments, say)
    _write(solved, start, series, frame, columns, questions, arguments, say)


def _solve(start: Start, rule: Rule, series: Series, arguments: argparse.Namespace, say: Say) -> Solution | Fit:
    """Learn, and say from where and what."""
    say("starts from\n" + describe_model(start.prior, start.likelihood))
    for note in start.notes:
        say(f"  ({note})")
    if arguments.steps:
        trainable, held = all_but((start.prior, start.likelihood), arguments.hold)
        if held:
            say(f"  (held fixed: {', '.join(held)})")
        solved = fit(
            start.prior,
            start.likelihood,
            rule,
            series.data,
            optimiser=optax.adam(arguments.learning_rate),
            num_steps=arguments.steps,
            trainable=trainable,
            progress=sys.stderr.isatty() and not arguments.quiet and importlib.util.find_spec("tqdm") is not None,
        )
        found = f"learned in {len(solved.energies)} steps"
    else:
        solved, found = infer(start.prior, start.likelihood, rule, series.data), "inferred, without learning"
    solution = as_solution("ssep fit", solved)
    say(f"{found}: energy {float(solution.energy):.6g}\n" + describe_model(solution.prior, solution.likelihood))
    return solved


def _write(
    solved: Solution | Fit,
    start: Start,
    series: Series,
    frame: Any,
    columns: Columns,
    questions: Questions,
    arguments: argparse.Namespace,
    say: Say,
) -> None:
    """Write everything into the folder."""
    solution, folder = as_solution("ssep fit", solved), as_folder(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (PATHS, FIGURE, COMPONENTS):  # of an earlier fit, which this one may not write again
        (folder / name).unlink(missing_ok=True)
    ahead = predict_ahead(solution, series, questions) if questions.horizon else None
    table = together(predict_rows(solution, series, frame, columns, questions), ahead)
    write_csv(table, folder / PREDICTIONS, columns)
    described = summary(solved, start.prior, start.likelihood)
    (folder / HYPERPARAMETERS).write_text(json.dumps(described, indent=2) + "\n")
    written = [folder / PREDICTIONS, folder / HYPERPARAMETERS, *write_model(folder, solved, series, columns)]
    if arguments.paths:
        paths = draw_paths(solution, series, table, columns, arguments.paths, arguments.seed)
        write_csv(paths, folder / PATHS, columns)
        written.append(folder / PATHS)
    if not arguments.no_figure:
        written += draw(folder, solution, series, ahead, columns.time, columns.target)
    say("wrote\n" + "\n".join(f"  {path}" for path in written))
