"""The README, the documentation and the examples run."""

import inspect
import pathlib
import re
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from matplotlib import pyplot
from scipy import stats

import ssep

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Code, and what it prints where the page shows that.
BLOCKS = re.compile(CODE.pattern + r'(?:\n+```text title="prints"\n(.*?)^```)?', CODE.flags)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if CODE.search(page.read_text())], ids=lambda page: str(page.relative_to(ROOT))
)
def test_code_of_a_page_runs_and_prints_what_it_shows(page, capsys):
    scope = {}
    for code, shown in BLOCKS.findall(page.read_text()):
        exec(code, scope)
        printed = capsys.readouterr().out
        assert not shown or printed.split() == shown.split()
    pyplot.close("all")


@pytest.mark.parametrize(
    ("module", "base"),
    [(ssep.kernels, ssep.Kernel), (ssep.likelihoods, ssep.Likelihood)],
    ids=["kernels", "likelihoods"],
)
def test_gallery_shows_everything(module, base):
    page = (ROOT / "docs" / "concepts" / "gallery.md").read_text()
    classes = [value for value in vars(module).values() if inspect.isclass(value) and issubclass(value, base)]
    # Of flat numbers there is nothing to draw.
    final = [cls.__name__ for cls in classes if not inspect.isabstract(cls) and not cls.__name__.startswith("Flat")]
    assert len(final) > 20
    assert [name for name in final if f"| `{name}` |" not in page] == []


def test_readme_runs_and_shows_the_energy_that_it_prints(capsys):
    text = (ROOT / "README.md").read_text()
    (code,) = CODE.findall(text)
    exec(code, {})
    printed = float(capsys.readouterr().out.split()[0])
    shown = re.search(r"# (\d+\.\d+)\.\.\.", text)
    assert shown
    assert abs(printed - float(shown[1])) < 0.01


def run_example(name, folder, call=None):
    """As a newcomer would: its own process, in a folder of its own; or a call of its main function."""
    command = [str(ROOT / "examples" / name)] if call is None else ["-c", f"import {name}; {name}.{call}"]
    run = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={
            "MPLBACKEND": "agg",
            "PATH": "/usr/bin:/bin",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT / "examples"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def assert_is_a_plot(path):
    image = matplotlib.image.imread(path)
    assert image.shape[0] > 400
    assert image.std() > 0.05


def test_coal_example_prints_its_tables_and_writes_its_plot(tmp_path):
    printed = run_example("coal.py", tmp_path)
    assert "1870s          36" in printed
    assert_is_a_plot(tmp_path / "build" / "coal.png")


def test_forecast_example_beats_a_constant_rate_and_is_short(tmp_path):
    printed = run_example("forecast.py", tmp_path)
    score = float(printed.split()[-1])
    counts = np.loadtxt(ROOT / "examples" / "van_drivers.csv", delimiter=",", skiprows=1, usecols=1)
    assert score < -stats.poisson.logpmf(counts[-24:], counts[:-24].mean()).mean()
    assert_is_a_plot(tmp_path / "forecast.png")
    assert len((ROOT / "examples" / "forecast.py").read_text().splitlines()) <= 30


def test_station_example_covers_what_held_out_stations_measured(tmp_path):
    printed = run_example("stations", tmp_path, "main(num_steps=10)")
    coverage, count = re.search(r"hold (\d+\.\d) % of (\d+) readings", printed).groups()
    assert int(count) > 300
    assert 80 < float(coverage) < 98
    assert_is_a_plot(tmp_path / "build" / "stations.png")


def test_detection_limit_example_shows_what_deletion_costs(tmp_path):
    printed = run_example("detection_limit.py", tmp_path)
    errors = [float(value) for value in re.findall(r"mean error ([+-]\d\.\d+)", printed)]
    assert abs(errors[0]) < 0.1
    assert errors[1] > 0.15
    assert_is_a_plot(tmp_path / "detection_limit.png")


def test_events_example_covers_the_years_whose_records_were_kept_from_it(tmp_path):
    printed = run_example("events.py", tmp_path)
    expected, lost, others = (int(share) for share in re.findall(r"(\d+)%", printed))
    assert lost >= 80
    # Whole counts: intervals of 90 % hold more, and the counts that were learned from a little more than others would.
    assert expected - 5 <= others <= 100
    low, high = (float(value) for value in re.search(r"1900s +0 +.*\((.*) to (.*)\) +records lost", printed).groups())
    assert low < 1.1 < high  # eleven disasters in these ten years
    assert_is_a_plot(tmp_path / "events.png")


def test_activities_example_is_nearly_as_good_as_the_truth(tmp_path):
    printed = run_example("activities.py", tmp_path)
    score, best, chance = (float(value) for value in re.findall(r": (\d\.\d{3})", printed))
    assert score < best + 0.05 < chance
    assert_is_a_plot(tmp_path / "activities.png")


def test_seat_belt_example_finds_the_effect_and_prefers_overdispersed_counts(tmp_path):
    printed = run_example("seat_belts.py", tmp_path)
    poisson, negative_binomial = (float(value) for value in re.findall(r"score (\d\.\d+)", printed))
    assert negative_binomial < poisson - 0.03
    best, low, high = (int(value) for value in re.search(r"by (-\d+) % \(90 %: (-\d+) to (-\d+) %\)", printed).groups())
    # Harvey and Durbin found a reduction of 23 % in the number of car drivers killed or seriously injured.
    assert low < -23 < high < 0
    assert low < best < high
    assert_is_a_plot(tmp_path / "seat_belts.png")
