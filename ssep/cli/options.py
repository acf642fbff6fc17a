"""The arguments of the commands."""

import argparse
import importlib.metadata
import math

from ssep.cli.demonstration import DEMOS, demonstrate
from ssep.cli.fitting import fit_file
from ssep.cli.information import show_information
from ssep.cli.predicting import predict_file
from ssep.tables.units import UNITS

_EXAMPLE = """\
example:
  ssep fit data.csv --time date --target count --likelihood poisson \\
      --kernel "matern52 + periodic(period=7) * matern32" --horizon 30 --out results
  ssep predict results --horizon 60
"""


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments."""
    top = argparse.ArgumentParser(
        prog="ssep",
        description="Gaussian processes in time, with any likelihood.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"ssep {importlib.metadata.version('ssep')}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _add_fit(commands)
    _add_predict(commands)
    _add_demo(commands)
    info = commands.add_parser("info", help="versions, devices, precision, threads")
    info.set_defaults(run=show_information)
    for command in commands.choices.values():
        command.add_argument("--traceback", action="store_true", help="show where in the program an error arose")
    return top


def _add_fit(commands) -> None:
    fit = commands.add_parser("fit", help="fit a model to a CSV file, and write what it says into a folder")
    fit.set_defaults(run=fit_file)
    data = fit.add_argument_group("data")
    data.add_argument("data", metavar="DATA.csv", help="a table with a row per observation; - reads standard input")
    data.add_argument("--time", required=True, metavar="COLUMN", help="dates, or numbers")
    data.add_argument("--target", required=True, metavar="COLUMN", help="observations; empty where missing")
    data.add_argument("--exposure", metavar="COLUMN", help="exposure, or number of trials, of each observation")
    data.add_argument("--unit", choices=UNITS, help="what one unit of time is, for dates (default: day)")
    data.add_argument("--date-format", metavar="FORMAT", help='for dates other than ISO 8601, such as "%%d/%%m/%%Y"')
    data.add_argument("--time-zone", metavar="NAME", help="time zone of the dates, such as Europe/Berlin")
    model = fit.add_argument_group("model")
    model.add_argument("--likelihood", default="gaussian", metavar="EXPRESSION", help="default: %(default)s")
    model.add_argument(
        "--kernel",
        action="append",
        metavar="EXPRESSION",
        help="such as matern52 or periodic(period=7)*matern32(lengthscale=30); one per latent; default: matern52. "
        "Numbers are where learning starts; those left out come from the data",
    )
    model.add_argument("--mean", type=_number, metavar="NUMBER", help="start of the latents' mean; from the data")
    model.add_argument("--rule", default="ep", metavar="EXPRESSION", help="ep, extended_ep, stat_lin_ep or cvi")
    model.add_argument("--alpha", type=_number, metavar="NUMBER", help="power of the rule")
    learning = fit.add_argument_group("learning")
    learning.add_argument("--steps", type=_whole, default=250, metavar="N", help="of learning (default: 250), or 0")
    learning.add_argument(
        "--hold",
        type=lambda text: tuple(part.strip() for part in text.split(",") if part.strip()),
        metavar="NAME,...",
        help='hyperparameters that keep their values (default: period); "" learns all',
    )
    learning.add_argument("--learning-rate", type=_positive, default=0.1, metavar="NUMBER", help="default: 0.1")
    output = fit.add_argument_group("output")
    output.add_argument("--out", default="results", metavar="FOLDER", help="where to write (default: results)")
    _add_questions(output)
    output.add_argument(
        "--paths", type=_whole, default=0, metavar="N", help="write so many joint paths of observations"
    )
    output.add_argument("--seed", type=_whole, default=0, metavar="N", help="for the paths (default: 0)")
    output.add_argument("--no-figure", action="store_true", help="draw nothing")
    output.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")


def _add_predict(commands) -> None:
    predict = commands.add_parser("predict", help="predict with a model that `ssep fit` wrote")
    predict.set_defaults(run=predict_file)
    predict.add_argument("model", metavar="FOLDER", help="what `ssep fit --out` wrote")
    predict.add_argument("--times", metavar="NEW.csv", help="a table with the same column of times; - reads input")
    _add_questions(predict)
    predict.add_argument("--out", metavar="FILE.csv", help="where to write (default: standard output)")


def _add_questions(group) -> None:
    group.add_argument("--horizon", type=_whole, default=0, metavar="N", help="steps to predict after the last time")
    group.add_argument("--every", type=_number, metavar="UNITS", help="length of these steps; that of the data")
    group.add_argument("--future-exposure", type=_number, metavar="NUMBER", help="exposure at times without a column")
    group.add_argument(
        "--quantiles", type=_levels, default=(0.05, 0.5, 0.95), metavar="Q,Q,...", help="default: 0.05,0.5,0.95"
    )


def _add_demo(commands) -> None:
    listed = "\n".join(f"  {name:<12}{demo.title}" for name, demo in DEMOS.items())
    demo = commands.add_parser(
        "demo",
        help="fit data that ship with the package",
        epilog=f"names:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.set_defaults(run=demonstrate, parse=lambda command: parser().parse_args(command))
    demo.add_argument("name", metavar="NAME", nargs="?", choices=DEMOS, help="one of those below; a list without it")
    demo.add_argument("--out", metavar="FOLDER", help="where to write (default: results-NAME)")


def _require(condition: bool, requirement: str, text: str) -> None:
    if not condition:
        raise argparse.ArgumentTypeError(f"{requirement}; got {text!r}")


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    _require(math.isfinite(value), "must be a finite number", text)
    return value


def _positive(text: str) -> float:
    value = _number(text)
    _require(value > 0, "must be positive", text)
    return value


def _whole(text: str) -> int:
    value = _number(text)
    _require(value >= 0, "must not be negative", text)
    _require(value == int(value), "must be a whole number", text)
    return int(value)


def _levels(text: str) -> tuple[float, ...]:
    levels = tuple(_number(part) for part in text.split(",") if part.strip())
    _require(all(0 < level < 1 for level in levels), "must lie between 0 and 1", text)
    return levels
