"""`ssep demo`: data that ship with the package, and a command that fits them."""

import argparse
import dataclasses
import shlex
from collections.abc import Callable

import numpy as np

from ssep import datasets
from ssep.cli.folder import as_folder


@dataclasses.dataclass(frozen=True)
class Demo:
    """Data, and the arguments of `ssep fit` that suit them.

    Attributes:
        title: What it shows.
        columns: Makes the columns of the table, the time first.
        arguments: What `ssep fit` is told.
    """

    title: str
    columns: Callable[[], dict[str, np.ndarray]]
    arguments: tuple[str, ...]


def _drivers() -> dict[str, np.ndarray]:
    t, counts = datasets.drivers()
    months = np.datetime64("1969-01") + np.arange(len(t))
    return {"month": np.datetime_as_string(months.astype("datetime64[D]")), "drivers": counts}


DEMOS = {
    "coal": Demo(
        "disasters in British coal mines: a rate that changes, from counts",
        lambda: dict(zip(("year", "disasters"), datasets.coal(), strict=True)),
        ("--likelihood", "poisson", "--kernel", "matern52", "--alpha", "0.5", "--horizon", "30"),
    ),
    "nile": Demo(
        "annual flow of the Nile: noise around a level that falls",
        lambda: dict(zip(("year", "flow"), datasets.nile(), strict=True)),
        ("--likelihood", "gaussian", "--kernel", "matern12", "--horizon", "10"),
    ),
    "drivers": Demo(
        "car drivers killed or injured each month: a trend and a season, from counts on dates",
        _drivers,
        (
            *("--likelihood", "negative_binomial(concentration=50)", "--unit", "month"),
            *("--kernel", "matern32(variance=0.1) + periodic(variance=0.02, period=12) * matern32(lengthscale=100)"),
            *("--rule", "ep(cubature=adaptive(20))", "--horizon", "24"),
        ),
    ),
    "motorcycle": Demo(
        "acceleration after an impact: noise that changes its size, a second latent",
        lambda: dict(zip(("milliseconds", "acceleration"), datasets.motorcycle(), strict=True)),
        ("--likelihood", "heteroscedastic_gaussian", "--kernel", "matern52(lengthscale=10)", "--alpha", "0.5"),
    ),
}


def demonstrate(arguments: argparse.Namespace) -> None:
    """Write a table into a folder, and fit it; without a name, list what there is."""
    if arguments.name is None:
        for name, demo in DEMOS.items():
            print(f"{name:<12}{demo.title}")
        return
    demo = DEMOS[arguments.name]
    folder = as_folder(arguments.out or f"results-{arguments.name}")
    folder.mkdir(parents=True, exist_ok=True)
    columns = demo.columns()
    path = folder / "data.csv"
    rows = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    time, target = columns
    command = ["fit", str(path), "--time", time, "--target", target, *demo.arguments, "--out", str(folder)]
    print(f"{demo.title}\n$ {shlex.join(['ssep', *command])}")
    parsed = arguments.parse(command)
    parsed.run(parsed)
