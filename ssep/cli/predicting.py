"""`ssep predict`: predictions of a model that was written before."""

import argparse

from ssep.checks import require
from ssep.cli.inputs import future_exposure, read_frame
from ssep.cli.outputs import Questions, predict_ahead, predict_rows, write_csv
from ssep.cli.results import read_model


def predict_file(arguments: argparse.Namespace) -> None:
    """Predict at the times of a file, or after the data."""
    either = (arguments.times is None) == bool(arguments.horizon)
    remedy = "Give --times FILE, or --horizon N."
    require(either, "ssep predict", "must know when", "neither or both of --times and --horizon", remedy)
    solution, series, columns = read_model(arguments.model)
    questions = Questions(arguments.horizon, arguments.every, arguments.quantiles, future_exposure(columns, arguments))
    if arguments.horizon:
        found = predict_ahead(solution, series, questions)
    else:
        zone = None if series.clock.zone is None else str(series.clock.zone)
        rows = read_frame(arguments.times, columns, zone, arguments.future_exposure, has_target=False)
        found = predict_rows(solution, series, rows, columns, questions)
    write_csv(found, arguments.out, columns)
