"""The command line: the same numbers as the Python interface, files that work, and errors that help."""

import dataclasses
import io
import json
import os
import shutil
import subprocess
import sys
import zoneinfo

import jax
import matplotlib.image
import numpy as np
import optax
import pandas as pd
import pytest
from matplotlib import dates as mdates
from matplotlib import pyplot
from scipy import special

import ssep
from ssep.cli import fitting, main
from ssep.cli.csv_file import read_csv
from ssep.cli.demonstration import DEMOS
from ssep.cli.describing import describe_data
from ssep.cli.figures import draw
from ssep.cli.holding import all_but
from ssep.cli.results import Columns, read_model, write_model
from ssep.cli.starting import starting_model
from ssep.compatibility import check_compatible
from ssep.expressions import parse_kernel

LIKELIHOODS = ssep.likelihoods
MODEL = ("--likelihood", "poisson", "--kernel", "matern32(1.0, lengthscale=8)", "--mean", "0.5", "--alpha", "0.5")
COLUMNS = ("--time", "date", "--target", "count", "--exposure", "days")


def table():
    """Daily counts with gaps, a repeated day, missing counts, exposures, and the rows in disorder."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-02-01", periods=30).delete([4, 5, 17]).append(pd.DatetimeIndex(["2024-02-10"]))
    counts = rng.poisson(3.0, len(days)).astype(float)
    counts[[2, 9]] = np.nan
    exposure = np.round(rng.uniform(0.5, 2.0, len(days)), 2)
    return pd.DataFrame({"date": days, "count": counts, "days": exposure}).sample(frac=1, random_state=1)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    data, out = folder / "data.csv", folder / "results"
    table().to_csv(data, index=False)
    future = ("--horizon", "4", "--future-exposure", "2", "--quantiles", "0.1,0.9")
    learning = ("--steps", "5", "--learning-rate", "0.05", "--paths", "3", "--seed", "7")
    assert main(["fit", str(data), *COLUMNS, *MODEL, *future, *learning, "--out", str(out)]) == 0
    return data, out


@pytest.fixture(scope="module")
def direct():
    """The same, from the same numbers, through the Python interface."""
    frame = table()
    ordered = frame.sort_values("date", kind="stable")
    t = (ordered["date"] - pd.Timestamp("2024-02-01")) / pd.Timedelta(1, "D")
    data = ssep.Data(t.to_numpy(), ordered["count"].to_numpy(), aux=ordered["days"].to_numpy())
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 8.0), mean=0.5)
    rule = ssep.PowerEP(alpha=0.5)
    return ssep.fit(prior, LIKELIHOODS.Poisson(), rule, data, optimiser=optax.adam(0.05), num_steps=5)


def all_times():
    frame = table()
    own = (frame["date"] - pd.Timestamp("2024-02-01")) / pd.Timedelta(1, "D")
    return np.append(own, [30.0, 31, 32, 33]), np.append(frame["days"], np.full(4, 2.0))


def test_fit_writes_what_the_python_interface_computes(results, direct):
    found = pd.read_csv(results[1] / "predictions.csv", parse_dates=["date"])
    frame = table()
    assert list(found) == ["date", "count", "days", "mean", "sd", "q0.1", "q0.9", "f_mean", "f_sd"]
    expected_dates = [*frame["date"], *pd.date_range("2024-03-02", periods=4)]
    assert list(found["date"]) == expected_dates
    np.testing.assert_array_equal(found["count"], [*frame["count"], *[np.nan] * 4])
    t, exposure = all_times()
    np.testing.assert_array_equal(found["days"], exposure)
    prediction = ssep.predict(direct, t, aux=exposure)
    low, high = prediction.quantile([0.1, 0.9])
    expected = {
        "mean": prediction.y_mean,
        "sd": np.sqrt(prediction.y_var),
        "q0.1": low,
        "q0.9": high,
        "f_mean": prediction.f_mean[:, 0],
        "f_sd": np.sqrt(prediction.f_var[:, 0]),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], np.asarray(values), rtol=1e-10)


def test_fit_writes_hyperparameters_that_can_be_read_again(results, direct):
    written = json.loads((results[1] / "hyperparameters.json").read_text())
    kernel = parse_kernel(written["kernel"][0])
    np.testing.assert_allclose(kernel.lengthscale, direct.prior.kernels[0].lengthscale, rtol=1e-12)
    np.testing.assert_allclose(kernel.variance, direct.prior.kernels[0].variance, rtol=1e-12)
    np.testing.assert_allclose(written["mean"], direct.prior.means, rtol=1e-12)
    np.testing.assert_allclose(written["energy"], direct.solution.energy, rtol=1e-12)
    assert written["start"]["kernel"] == ["matern32(variance=1.0, lengthscale=8.0)"]
    assert written["rule"].startswith("power_ep(alpha=0.5")
    assert written["converged"]


def test_fit_saves_a_model(results, direct):
    again = ssep.load(results[1] / "model.ssep")
    np.testing.assert_array_equal(again.energies, direct.energies)
    np.testing.assert_allclose(again.solution.posterior.mean, direct.solution.posterior.mean, rtol=1e-12)


def test_fit_draws_a_figure(results):
    image = matplotlib.image.imread(results[1] / "figure.png")
    assert image.shape[0] > 400
    assert image.std() > 0.05


def test_fit_writes_joint_paths(results, direct):
    found = pd.read_csv(results[1] / "paths.csv")
    t, exposure = all_times()
    expected = ssep.sample(jax.random.key(7), direct, t, 3, aux=exposure).y
    assert list(found) == ["date", "path_1", "path_2", "path_3"]
    np.testing.assert_array_equal(found.to_numpy()[:, 1:].T.astype(float), expected)


def test_predict_continues_a_written_model(results, capsys):
    _, out = results
    levels = ("--quantiles", "0.1,0.9")
    assert main(["predict", str(out), "--horizon", "4", "--future-exposure", "2", *levels]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    expected = pd.read_csv(out / "predictions.csv").tail(4).drop(columns="count").reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-10)
    times, written = out / "new.csv", out / "new-predictions.csv"
    expected[["date", "days"]].to_csv(times, index=False)
    assert main(["predict", str(out / "model.ssep"), "--times", str(times), "--out", str(written), *levels]) == 0
    pd.testing.assert_frame_equal(pd.read_csv(written), expected, rtol=1e-10)
    expected[["date"]].to_csv(times, index=False)
    assert main(["predict", str(out), "--times", str(times), "--future-exposure", "2", *levels]) == 0
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(capsys.readouterr().out)), expected, rtol=1e-10)


def again(results, *more, out="again"):
    data, folder = results
    learning = ("--steps", "5", "--learning-rate", "0.05")
    return main(["fit", str(data), *COLUMNS, *MODEL, *learning, "--no-figure", "--out", str(folder / out), *more])


def test_a_bar_is_shown_on_a_terminal_only(results, capsys, monkeypatch):
    assert again(results) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "28 rows, 26 observed, 2 missing, from 2024-02-01 to 2024-03-01; time in days since 2024-02-01" in shown.out
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert again(results) == 0
    assert "5/5" in capsys.readouterr().err
    assert again(results, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_input_may_come_through_a_pipe_with_dates_in_a_format(results, monkeypatch, tmp_path):
    frame = table()
    text = frame.assign(date=frame["date"].dt.strftime("%d/%m/%Y")).to_csv(index=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    arguments = ["--date-format", "%d/%m/%Y", "--steps", "0", "--no-figure", "--quiet", "--out", str(tmp_path)]
    assert main(["fit", "-", *COLUMNS, *MODEL, *arguments]) == 0
    written = pd.read_csv(tmp_path / "predictions.csv")
    assert list(written["date"]) == list(frame["date"].dt.strftime("%d/%m/%Y"))
    described = json.loads((tmp_path / "hyperparameters.json").read_text())
    assert described["kernel"] == described["start"]["kernel"] == ["matern32(variance=1.0, lengthscale=8.0)"]


def test_some_hyperparameters_can_be_held():
    prior = ssep.SDEPrior(ssep.kernels.Periodic(2.0, 3.0, 7.0) * ssep.kernels.Matern32(5.0, 11.0), mean=13.0)
    model = (prior, LIKELIHOODS.Gaussian(17.0))
    cases = {None: [2, 3, 5, 11, 13, 17], ("lengthscale", "mean"): [2, 7, 5, 17], (): [2, 3, 7, 5, 11, 13, 17]}
    for names, learned in cases.items():
        trainable, held = all_but(model, names)
        assert [float(leaf) for leaf in trainable(*model)] == learned
        assert held == (["period"] if names is None else sorted(names))


# Where learning starts


def test_the_mean_starts_at_the_level_of_the_data():
    rng = np.random.default_rng(0)
    t = np.arange(40.0)
    counts, exposure = rng.poisson(300.0, 40), rng.uniform(1, 3, 40)
    trials = rng.integers(4, 9, 40)
    wins, real = trials // 2, np.where(t == 3, np.nan, rng.normal(-2000.0, 3.0, 40))
    cases = [
        ("poisson", ssep.Data(t, counts, aux=exposure), np.log((counts.sum() + 0.5) * 40 / 41 / exposure.sum())),
        ("binomial", ssep.Data(t, wins, aux=trials), special.logit((wins.sum() + 0.5) * 40 / 41 / trials.sum())),
        ("gaussian", ssep.Data(t, real), np.nanmean(real)),
    ]
    for likelihood, data, expected in cases:
        start = starting_model(data, likelihood, ["matern32"], None)
        np.testing.assert_allclose(start.prior.means, expected, rtol=1e-9)


def test_what_is_not_given_starts_on_the_scale_of_the_data():
    data = ssep.Data(np.array([0.0, 50.0, 200.0]), np.array([10.0, 30.0, 20.0]))
    start = starting_model(data, "gaussian", ["matern32 + periodic(period=7)*matern12"], None)
    trend, weekly = start.prior.kernels[0].parts
    variance = np.var([10, 30, 20])
    assert trend.lengthscale == weekly.factors[1].lengthscale == 20.0
    np.testing.assert_allclose([trend.variance, start.likelihood.variance], [0.9 * variance, 0.1 * variance], rtol=1e-6)
    assert [note.split(" not")[0] for note in start.notes] == [
        *("mean", "noise of the likelihood", "lengthscale", "variance"),
    ]
    given = starting_model(data, "gaussian(2)", ["matern32(2, 3)"], 1.5)
    assert given.notes == []
    assert (given.likelihood.variance, given.prior.kernels[0].variance, given.prior.means) == (2.0, 2.0, (1.5,))
    one = starting_model(data, "poisson", ["matern32(lengthscale=3)"], 1.5)
    assert [note.split(" not")[0] for note in one.notes] == ["variance"]


# Times in files


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "number"])
def test_a_written_model_knows_its_clock(zone, tmp_path):
    dates = pd.date_range("2024-03-25 06:00", periods=5, tz=None if zone == "number" else zone)
    frame = pd.DataFrame({"at": np.arange(5.0) if zone == "number" else dates, "y": [1.0, 2.0, np.nan, 1.0, 3.0]})
    series = ssep.tables.read(frame, "y", time="at", unit=None if zone == "number" else "hour")
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 30.0), mean=1.0)
    solution = ssep.infer(prior, LIKELIHOODS.Gaussian(), ssep.PowerEP(), series.data)
    columns = Columns("at", "y", None, None)
    write_model(tmp_path, solution, series, columns)
    _, again, known = read_model(str(tmp_path))
    assert known == columns
    assert again.clock == series.clock
    assert jax.tree.all(jax.tree.map(np.array_equal, again.data, series.data))
    # The clocks change in between.
    np.testing.assert_array_equal(again.future(4).values, series.future(4).values)


def read(tmp_path, lines, **options):
    path = tmp_path / "times.csv"
    path.write_text("\n".join(["time,y", *(f"{line},1" for line in lines)]))
    arguments = {"date_format": None, "zone": None, **options}
    return list(read_csv(str(path), "time", **arguments)["time"])


def test_times_are_read_as_pandas_reads_them(tmp_path):
    assert read(tmp_path, ["3.5", "1"]) == [3.5, 1.0]
    plain = ["2024-03-31", "2024-03-31T12:30", "2024-04-01 00:00:01"]
    assert read(tmp_path, plain) == [pd.Timestamp(each) for each in plain]
    assert read(tmp_path, plain[:2], zone="Europe/Berlin") == [
        pd.Timestamp(each, tz="Europe/Berlin") for each in plain[:2]
    ]
    offsets = ["2024-03-31T00:30+01:00", "2024-03-31T23:30Z"]
    assert read(tmp_path, offsets) == [pd.Timestamp(each).tz_convert("UTC") for each in offsets]
    (first, _) = read(tmp_path, offsets, zone="Asia/Tokyo")
    assert first == pd.Timestamp(offsets[0])
    assert str(first.tz) == "Asia/Tokyo"
    assert read(tmp_path, ["20240331", "20240401"], date_format="%Y%m%d")[1] == pd.Timestamp("2024-04-01")


# Errors

ROWS = ["date,count,days", "2024-01-01,3,1", "2024-01-02,,1", "2024-01-03,2,1", "2024-01-05,1,2"]
ERRORS = {
    "no file": ({}, ("missing.csv", "--time", "date"), "No such file"),
    "column": (
        {},
        ("--time", "dat"),
        "must be a column of the table; got 'dat'. Do you mean 'date' or 'days'?",
    ),
    "target": ({}, ("--target", "cnt"), "`--target` must be a column of the table; got 'cnt'. Do you mean 'count'?"),
    "date": ({3: "2024-13-03,2,1"}, (), "`--time date` must have a date such as 2024-01-31"),
    "date's line": ({3: "2024-13-03,2,1"}, (), "got '2024-13-03' in line 4. Correct"),
    "line after a blank one": ({2: "", 3: "soon,2,1"}, (), "got 'soon' in line 4"),
    "no date": ({3: ",2,1"}, (), "`--time date` must have a time in every line; got nothing in line 4"),
    "mixed offsets": ({3: "2024-01-03T00:00Z,2,1"}, (), "no difference from UTC, as in the first line, in every line"),
    "format": ({}, ("--date-format", "%d.%m.%Y"), "must have a date as '%d.%m.%Y'"),
    "clock": (
        {3: "2024-03-31T02:30,2,1"},
        ("--time-zone", "Europe/Berlin"),
        "that the clocks of the time zone show exactly once in every line; got '2024-03-31T02:30' in line 4",
    ),
    "zone": ({}, ("--time-zone", "Europe/Berln"), "must know the time zone; got 'Europe/Berln'"),
    "number": (
        {3: "2024-01-03,two,1"},
        (),
        "`--target count` must have a number, or nothing, in every line; got 'two' in line 4",
    ),
    "exposure": (
        {3: "2024-01-03,2,"},
        ("--exposure", "days"),
        "the exposure of what was observed in every line; got nothing in line 4",
    ),
    "future exposure": ({}, ("--exposure", "days", "--horizon", "3"), "`--horizon` needs the exposure of the forecast"),
    "support": (
        {3: "2024-01-03,-2,1"},
        (),
        "non-negative integer counts in y; got -2.0 in line 4, at 2024-01-03",
    ),
    "uneven": ({4: "2024-01-05T01:07,2,1"}, ("--horizon", "3"), "got times that are not evenly spaced"),
    "kernel": ({}, ("--kernel", "matern52 + periodc(period=7)"), "matern52 + periodc(period=7)\n               ^"),
    "likelihood": ({}, ("--likelihood", "poison"), "Did you mean `poisson`?\n\n    poison\n    ^"),
    "rule": ({}, ("--rule", "ep(2, 3, 4)"), "^"),
    "alpha": ({}, ("--rule", "cvi", "--alpha", "0.5"), "`--alpha` is for rules with a power; got the rule cvi"),
    "latents": ({}, ("--kernel", "matern32", "--kernel", "matern52"), "`--kernel` must be given for 1 latents; got 2"),
    "held": ({}, ("--hold", "variance,lengthscale,mean"), "`--hold` must leave something to learn"),
    "held by another name": (
        {},
        ("--hold", "lenghtscale"),
        "must name hyperparameters: lengthscale, mean, var",
    ),
    "name": ({0: "date,mean,days"}, ("--target", "mean"), "`column mean` must not be called as one of the predictions"),
    "numbers have no unit": ({}, ("--time", "days", "--unit", "day"), "`--unit` is for dates; got numbers"),
    "no observations": (dict.fromkeys((1, 3, 4), "2024-01-01,,1"), (), "`--target` must have observations; got none"),
    "empty": (dict.fromkeys(range(1, 5), ""), (), "must have rows below the names of its columns"),
    "one column twice": ({}, ("--target", "date"), "must name different columns; got ['date', 'date']"),
    "period": ({}, ("--kernel", "matern32 + periodic"), "`kernel` must give the period of a pattern"),
    "exposure for nothing": (
        {},
        ("--likelihood", "gaussian", "--exposure", "days"),
        "`--exposure` is for likelihoods that use it; got Gaussian",
    ),
    "trials": (
        {},
        ("--likelihood", "binomial"),
        "its trials, through `--exposure`; got none. Name a column of the table.",
    ),
    "step": ({4: "2024-01-05T01:07,2,1"}, ("--horizon", "3"), "`--every` must be given"),
    "unit": (
        {1: "2024-01-01T00:00Z,3,1", 2: "", 3: "", 4: ""},
        ("--unit", "month"),
        "`--unit` must have a fixed length",
    ),
    "option of a kernel": ({}, ("--kernel", "matern5"), "`--kernel` does not know this name; got `matern5`."),
    "short name": ({}, ("--rule", "epp"), "`--rule` does not know this name; got `epp`. Did you mean `ep`?"),
    "folder": ({}, ("--out", "data.csv/results"), "`--out` must be a folder to write to; got 'data.csv/results', but"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_mistakes_are_explained_without_a_traceback(name, tmp_path, capsys, monkeypatch):
    changes, arguments, message = ERRORS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("\n".join(changes.get(index, row) for index, row in enumerate(ROWS)) + "\n")
    path, *rest = arguments if arguments and arguments[0].endswith(".csv") else ("data.csv", *arguments)
    code = main(["fit", path, "--time", "date", "--target", "count", "--likelihood", "poisson", *rest])
    shown = capsys.readouterr().err
    assert code == 1
    assert shown.startswith("ssep: error: ")
    assert message in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required"),
        (["fit", "data.csv", "--time", "t"], "--target"),
        (["fit", "d.csv", "--time", "t", "--target", "y", "--quantiles", "0.5,2"], "must lie between 0 and 1"),
        (["fit", "d.csv", "--time", "t", "--target", "y", "--steps", "-1"], "must not be negative"),
        (["fit", "d.csv", "--time", "t", "--target", "y", "--steps", "1.5"], "must be a whole number; got '1.5'"),
        (["fit", "d.csv", "--time", "t", "--target", "y", "--quantiles", "low"], "must be a finite number; got 'low'"),
        (["fit", "d.csv", "--time", "t", "--target", "y", "--mean", "nan"], "must be a finite number; got 'nan'"),
        (["fit", "d.csv", "--time", "t", "--target", "y", "--learning-rate", "0"], "must be positive; got '0'"),
        (["demo", "cola"], "invalid choice: 'cola'"),
    ],
)
def test_arguments_that_cannot_be_understood_end_with_code_two(argv, message, capsys):
    assert main(argv) == 2
    assert message in capsys.readouterr().err


def test_predict_needs_a_model_and_times(results, tmp_path, capsys):
    assert main(["predict", str(tmp_path), "--horizon", "2"]) == 1
    assert "needs a folder with model.ssep" in capsys.readouterr().err
    assert main(["predict", str(results[1])]) == 1
    assert "must know when" in capsys.readouterr().err
    assert main(["predict", str(results[1]), "--horizon", "2"]) == 1
    assert "`--horizon` needs the exposure" in capsys.readouterr().err


def test_long_numbers_are_described_in_full():
    frame = pd.DataFrame({"t": [20240103.0, 20240330.0], "y": [1.0, 2.0]})
    series = ssep.tables.read(frame, "y", time="t")
    assert describe_data("data.csv", series).endswith("from 20240103 to 20240330")


def test_exposures_that_cannot_be_are_no_predictions(results, tmp_path, capsys):
    assert main(["predict", str(results[1]), "--horizon", "2", "--future-exposure", "-2"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "`Poisson` needs positive exposures in `--exposure`; got -2.0" in shown.err
    times = tmp_path / "new.csv"
    times.write_text("date,days\n2024-03-05,1\n2024-03-06,-3\n")
    assert main(["predict", str(results[1]), "--times", str(times)]) == 1
    assert "got -3.0" in capsys.readouterr().err
    times.write_text("date,days\n2024-03-05,1\n2024-03-06,\n")
    assert main(["predict", str(results[1]), "--times", str(times)]) == 1
    assert "days" in capsys.readouterr().err


def test_a_day_on_which_clocks_change_is_drawn_in_its_length(tmp_path, monkeypatch):
    hours = pd.date_range("2024-10-26", periods=72, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame({"hour": hours, "y": np.sin(np.arange(72.0))})
    series = ssep.tables.read(frame, "y", time="hour", unit="hour")
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 5.0))
    solution = ssep.infer(prior, LIKELIHOODS.Gaussian(0.1), ssep.ExtendedEP(0), series.data)
    monkeypatch.setattr(pyplot, "close", lambda figure: None)
    draw(tmp_path, solution, series, series.predict(solution, horizon=2), "hour", "y")
    (ax,) = pyplot.gcf().axes
    data = next(line for line in ax.lines if line.get_label() == "data")
    np.testing.assert_allclose(np.diff(ax.convert_xunits(data.get_xdata())) * 24, 1.0)
    midnights = [text.get_text() for text in ax.get_xticklabels() if text.get_text().startswith("Oct")]
    assert midnights == ["Oct-26", "Oct-27", "Oct-28", "Oct-29"]
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    ticks = [mdates.num2date(tick, zone) for tick in ax.get_xticks()]
    assert {tick.hour % 12 for tick in ticks} == {0}


@pytest.mark.parametrize("content", [None, "", "{}", "[1]", "date,count"])
def test_a_folder_that_is_damaged_is_named_as_such(content, results, tmp_path, capsys):
    shutil.copy(results[1] / "model.ssep", tmp_path)
    if content is not None:
        (tmp_path / "table.json").write_text(content)
    assert main(["predict", str(tmp_path), "--horizon", "2"]) == 1
    assert "needs a folder that `ssep fit` wrote; got a file table.json" in capsys.readouterr().err


@pytest.mark.parametrize(("library", "extra"), [("pandas", "cli"), ("matplotlib", "plot")])
def test_a_library_that_is_not_there_is_named_with_its_extra(library, extra, results, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["fit", str(results[0]), *COLUMNS, *MODEL]) == 1
    assert f'pip install "ssep[{extra}]"' in capsys.readouterr().err


def test_an_error_can_be_traced(tmp_path):
    with pytest.raises(FileNotFoundError):
        main(["fit", str(tmp_path / "none.csv"), "--time", "t", "--target", "y", "--traceback"])


# Demonstrations and information


@pytest.mark.parametrize("name", DEMOS)
def test_demonstrations_are_models_of_their_data(name, tmp_path, monkeypatch, capsys):
    seen = {}

    def caught(prior, likelihood, rule, data, **options):
        check_compatible(prior, likelihood, None, rule, data, "fit")
        seen.update(data=data, options=options, learned=jax.tree.leaves(options["trainable"](prior, likelihood)))
        raise RuntimeError("enough seen")

    monkeypatch.setattr(fitting, "fit", caught)
    assert main(["demo", name, "--out", str(tmp_path)]) == 1
    assert f"$ ssep fit {tmp_path / 'data.csv'} --time" in capsys.readouterr().out
    _, values = getattr(ssep.datasets, name)()
    np.testing.assert_allclose(seen["data"].y, values)
    assert seen["options"]["num_steps"] == 250
    assert 12.0 not in seen["learned"]  # the months of a year


def test_a_demonstration_runs(tmp_path, monkeypatch):
    demo = DEMOS["nile"]
    shorter = dataclasses.replace(demo, arguments=(*demo.arguments, "--steps", "2", "--quiet"))
    monkeypatch.setitem(DEMOS, "nile", shorter)
    assert main(["demo", "nile", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        *("data.csv", "figure.png", "hyperparameters.json", "model.ssep", "predictions.csv", "table.json"),
    }
    years = pd.read_csv(tmp_path / "predictions.csv")["year"]
    assert list(years) == list(range(1871, 1981))


def test_demonstrations_and_versions_are_listed(capsys):
    assert main(["demo"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in DEMOS)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ssep {ssep.__version__}\n"


def alone(code, *arguments):
    environment = {
        name: value for name, value in os.environ.items() if name not in ("OPENBLAS_NUM_THREADS", "XLA_FLAGS")
    }
    run = subprocess.run(
        [sys.executable, *code, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return run.returncode, run.stdout, run.stderr


def test_a_process_of_its_own_has_double_precision_and_one_thread():
    code, shown, _ = alone(["-m", "ssep"], "info")
    assert code == 0
    assert f"jax           {jax.__version__}" in shown
    assert "precision     double" in shown
    assert "OPENBLAS_NUM_THREADS=1" in shown


def test_the_library_behind_factorisations_has_one_thread():
    program = """
import ssep.cli, sys
ssep.cli.main(["demo"])
import jax.numpy as jnp, threadpoolctl
jnp.linalg.eigh(jnp.eye(3))
import scipy.linalg
libraries = [each for each in threadpoolctl.threadpool_info() if "scipy.libs" in each["filepath"]]
assert libraries and all(each["num_threads"] == 1 for each in libraries), libraries
"""
    assert alone(["-c", program])[::2] == (0, "")


def test_a_mistake_in_a_process_of_its_own():
    code, shown, error = alone(["-m", "ssep"], "fit", "nowhere.csv", "--time", "t", "--target", "y")
    assert (code, shown) == (1, "")
    assert error.startswith("ssep: error: ")
    assert "Traceback" not in error
