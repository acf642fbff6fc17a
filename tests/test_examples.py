"""Every example runs as a newcomer would run it, without data files, and agrees with what is known otherwise."""

import importlib
import os
import pathlib
import re
import subprocess
import sys

import jax.numpy as jnp
import matplotlib.image
import numpy as np
import pytest
from scipy import stats

import ssep

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def run_example(name, folder, call=None):
    """The script in a process and a folder of its own, or a call of its main function; its figure must be a picture."""
    command = [str(EXAMPLES / f"{name}.py")] if call is None else ["-c", f"import {name}; {name}.{call}"]
    run = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={
            "MPLBACKEND": "agg",
            "PATH": "/usr/bin:/bin",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": str(EXAMPLES),
            "XLA_FLAGS": os.environ["XLA_FLAGS"],
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    image = matplotlib.image.imread(folder / "build" / f"{name}.png")
    assert image.shape[0] > 400
    assert image.std() > 0.05
    return run.stdout


def numbers(pattern, printed):
    """The numbers in the groups of every match, one after the other."""
    rows = re.findall(pattern, printed)
    assert rows, printed
    return [float(value) for row in rows for value in ([row] if isinstance(row, str) else row)]


@pytest.fixture
def example(monkeypatch):
    """Imports an example, for what it was made from."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module


def test_every_example_is_tested_and_listed():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    tested = set(re.findall(r'run_example\(\n? *"(\w+)"', pathlib.Path(__file__).read_text()))
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    assert names == tested
    assert names == set(re.findall(r"`(\w+)\.py`", page))


def test_coal_prints_its_tables(tmp_path):
    printed = run_example("coal", tmp_path)
    assert "1870s          36" in printed


def test_forecast_beats_a_constant_rate_and_is_short(tmp_path):
    printed = run_example("forecast", tmp_path)
    score = float(printed.split()[-1])
    counts = np.loadtxt(EXAMPLES / "van_drivers.csv", delimiter=",", skiprows=1, usecols=1)
    assert score < -stats.poisson.logpmf(counts[-24:], counts[:-24].mean()).mean()
    assert len((EXAMPLES / "forecast.py").read_text().splitlines()) <= 30


def test_stations_covers_what_held_out_stations_measured(tmp_path):
    printed = run_example("stations", tmp_path, "main(num_steps=10)")
    coverage, count = numbers(r"hold (\d+\.\d) % of (\d+) readings", printed)
    assert count > 300
    assert 80 < coverage < 98


def test_detection_limit_shows_what_deletion_costs(tmp_path):
    censored, deleted = numbers(r"mean error ([+-]\d\.\d+)", run_example("detection_limit", tmp_path))
    assert abs(censored) < 0.1
    assert deleted > 0.15


def test_events_covers_the_years_whose_records_were_kept_from_it(tmp_path):
    printed = run_example("events", tmp_path)
    expected, lost, others = numbers(r"(\d+)%", printed)
    assert lost >= 80
    # Whole counts: intervals of 90 % hold more, and the counts that were learned from a little more than others would.
    assert expected - 5 <= others <= 100
    low, high = numbers(r"1900s +0 +.*\((.*) to (.*)\) +records lost", printed)
    assert low < 1.1 < high  # eleven disasters in these ten years


def test_activities_is_nearly_as_good_as_the_truth(tmp_path):
    score, best, chance = numbers(r": (\d\.\d{3})", run_example("activities", tmp_path))
    assert score < best + 0.05 < chance


def test_seat_belts_finds_the_effect_and_prefers_overdispersed_counts(tmp_path):
    printed = run_example("seat_belts", tmp_path)
    poisson, negative_binomial = numbers(r"score (\d\.\d+)", printed)
    assert negative_binomial < poisson - 0.03
    best, low, high = numbers(r"by (-\d+) % \(90 %: (-\d+) to (-\d+) %\)", printed)
    # Harvey and Durbin found a reduction of 23 % in the number of car drivers killed or seriously injured.
    assert low < -23 < high < 0
    assert low < best < high


def test_motorcycle_finds_the_size_of_the_noise_and_prefers_it_to_change(tmp_path):
    printed = run_example("motorcycle", tmp_path, "main(num_steps=60)")
    constant, changing = numbers(r"score (\d\.\d+)", printed)
    assert changing < constant - 0.2
    ms, g = ssep.datasets.motorcycle()
    small, large = numbers(r"(\d+\.\d) g at", printed)
    # Before the impact nothing but noise; 35 ms after it, what a straight line leaves.
    after = (ms > 31) & (ms < 39)
    left = g[after] - np.polyval(np.polyfit(ms[after], g[after], 1), ms[after])
    assert 1 / 2 < small / g[ms < 12].std() < 2
    assert 2 / 3 < large / left.std() < 3 / 2


def test_banana_is_nearly_as_good_as_the_densities_it_was_drawn_from(tmp_path, example):
    printed = run_example("banana", tmp_path, "main(num_steps=25)")
    assert "made up" in printed
    score, chance = numbers(r"NLPD (\d\.\d+) \((\d\.\d+) by chance\)", printed)
    module = example("banana")
    x1, x2, label = module.simulate()
    away = np.stack([x1, x2], -1)[:, None, None] - module.arcs(np.linspace(0, np.pi, 1001))
    density = np.exp(-(away**2).sum(-1) / (2 * 0.4**2)).mean(-1)
    given = density[np.arange(len(label)), label.astype(int)] / density.sum(-1)
    held_out = np.random.default_rng(1).permutation(len(x1)) % 5 == 0
    assert score < -np.log(given[held_out]).mean() + 0.1 < chance


def test_binary_is_nearly_as_good_as_the_truth(tmp_path):
    printed = run_example("binary", tmp_path, "main(num_steps=40)")
    (score,) = numbers(r"held-out labels: (\d\.\d+)", printed)
    s, y = ssep.datasets.binary()[0] / 100, ssep.datasets.binary()[1]
    wave = 12 * np.sin(4 * np.pi * s) / (0.25 * np.pi * s + 1)
    best = -stats.norm.logcdf((2 * y - 1) * wave / 0.1)
    # The labels that were held out are a tenth of these.
    assert best.mean() - 0.05 < score < best.mean() + 0.1


def test_demodulation_fills_gaps(tmp_path):
    printed = run_example("demodulation", tmp_path, "main(length=90.0)")
    assert "made up" in printed
    score, baseline = numbers(r"gaps: NLPD (\d\.\d+), of a normal distribution (\d\.\d+)", printed)
    # Noise of variance 0.3 is the least that there can be.
    least = (1 + np.log(2 * np.pi * 0.3)) / 2
    assert least - 0.3 < score < baseline - 0.5
    assert numbers(r"(\d+)% of their variance", printed)[0] > 50


def test_airline_finds_the_patterns_that_were_put_in(tmp_path):
    printed = run_example("airline", tmp_path, "main()")
    assert "made up" in printed
    for_year, for_week = numbers(r"year ([+-]\d+\.\d), for the week ([+-]\d+\.\d)", printed)
    assert min(for_year, for_week) > 5
    best, low, high = numbers(r"(\d\.\d+) times as many as usual \(90 %: (\d\.\d+) to (\d\.\d+)\)", printed)
    # Two days of seven have -0.7: Saturday is that less the average.
    assert low < np.exp(-0.7 * 5 / 7) < high
    assert low < best < high


def test_robust_sees_through_outliers(tmp_path, example):
    gaussian, student = numbers(r"error (\d\.\d+)", run_example("robust", tmp_path, "main()"))
    t, y, truth, outlier = example("robust").simulate()
    gap = np.sqrt(5) * np.abs(t[:, None] - t[~outlier]) / 1.0
    matern = 0.7 * (1 + gap + gap**2 / 3) * np.exp(-gap)
    clean = matern @ np.linalg.solve(matern[~outlier] + 0.04 * np.eye(matern.shape[1]), y[~outlier])
    best = np.sqrt(np.mean((clean - truth) ** 2))  # of somebody who knows the outliers
    assert student < 1.5 * best
    assert gaussian > 3 * best


def test_exposure_forecasts_what_a_constant_rate_cannot(tmp_path, example):
    printed = run_example("exposure", tmp_path, "main(num_steps=40)")
    aware, ignorant = numbers(r"NLPD of the last year (\d+\.\d+)", printed)
    rates, counts = numbers(r"hold (\d+) rates and (\d+) counts", printed)
    _, days, _, y = example("exposure").simulate()
    constant = days[-12:] * y[:-12].sum() / days[:-12].sum()
    assert aware < -stats.poisson.logpmf(y[-12:], constant).mean() < ignorant
    assert min(rates, counts) >= 8  # of 12; fewer happens once in 200 times


def test_panel_recovers_the_prior_and_padding_changes_nothing(tmp_path):
    printed = run_example("panel", tmp_path, "main()")
    assert numbers(r"traced (\d+) time", printed) == [1]
    (excess,) = numbers(r"its energy is (\d+\.\d+) higher", printed)
    assert excess < stats.chi2.ppf(0.99, 3) / 2
    assert numbers(r"without padding: (\S+)", printed)[0] < 1e-8


def test_energy_surface_has_its_least_where_learning_ends(tmp_path):
    printed = run_example("energy_surface", tmp_path, "main(side=15)")
    (on_grid,), (learned,) = numbers(r"least energy (\d+\.\d+)", printed), numbers(r"steps: energy (\d+\.\d+)", printed)
    assert learned <= on_grid + 0.001
    places = np.log(numbers(r"variance (\d\.\d+), lengthscale (\d+\.\d+)", printed)).reshape(2, 2)
    spacing = np.log([40, 100 / 3]) / [13, 14]
    assert np.all(np.abs(places[0] - places[1]) < spacing)


def test_full_bayes_mixes_and_both_samplers_agree_with_a_grid(tmp_path):
    printed = run_example("full_bayes", tmp_path, "main(num_warmup=100, num_samples=100)")
    grid = np.reshape(numbers(r"grid: mean (-?\d\.\d+), sd (\d\.\d+)", printed), (2, 1, 2))
    pattern = r"mean (-?\d\.\d+), sd (\d\.\d+), error of the mean (\d\.\d+), r-hat (\d\.\d+), effective draws (\d+)"
    mean, sd, error, r_hat, size = np.moveaxis(np.reshape(numbers(pattern, printed), (2, 2, 5)), -1, 0)
    assert np.all(r_hat < 1.05)
    assert np.all(size > 80)
    assert np.all(np.abs(mean - grid[..., 0]) < 4 * error)
    assert np.all(np.abs(sd / grid[..., 1] - 1) < 0.25)


def test_custom_likelihood_learns_the_share_that_was_rounded(tmp_path, example):
    printed = run_example("custom_likelihood", tmp_path, "main(num_steps=40)")
    rounded, poisson = numbers(r"leave-one-out score (\d\.\d+)", printed)
    assert rounded < poisson - 0.3
    learned, true = numbers(r"learned (\d\.\d+), true (\d\.\d+)", printed)
    module = example("custom_likelihood")
    # Of answers that are not rounded a fifth are multiples of five.
    fives = np.mean(module.simulate()[1] % 5 == 0)
    error = np.sqrt(fives * (1 - fives) / 300) / 0.8
    assert abs(learned - (fives - 0.2) / 0.8) < error
    assert abs(learned - true) < 3 * error
    lik = module.RoundedPoisson(jnp.asarray(0.6))
    total = sum(np.exp(lik.log_prob(float(y), jnp.array([2.0]), None)) for y in range(60))
    np.testing.assert_allclose(total, 1, rtol=1e-9)


def test_streaming_forecasts_better_than_averages_and_as_well_as_with_all_data(tmp_path, example):
    printed = run_example("streaming", tmp_path, "main()")
    score, averages = numbers(r"NLPD (\d\.\d+); of averages (\d\.\d+)", printed)
    module = example("streaming")
    _, y, mean = module.simulate()
    by_day = y.reshape(module.DAYS, module.HOURS)
    before = np.cumsum(by_day, 0)[module.FIRST - 1 : -1] / np.arange(module.FIRST, module.DAYS)[:, None]
    np.testing.assert_allclose(averages, -stats.poisson.logpmf(by_day[module.FIRST :], before).mean(), atol=1e-3)
    best = -stats.poisson.logpmf(y, mean)[module.FIRST * module.HOURS :].mean()
    assert best < score < (best + averages) / 2
    assert numbers(r"(\d+)% are in 90 % intervals", printed)[0] >= 87
    assert numbers(r"(\S+) standard deviations", printed)[0] < 0.05


def test_rainforest_is_nearly_as_good_as_the_field_it_was_drawn_from(tmp_path, example):
    printed = run_example("rainforest", tmp_path, "main(num_steps=12)")
    assert "made up" in printed
    score, constant = numbers(r"held-out cells (\d\.\d+), of one rate for all (\d\.\d+)", printed)
    module = example("rainforest")
    along, across, counts = module.load()
    held_out = np.random.default_rng(2).uniform(size=counts.shape) < 0.1
    best = -stats.poisson.logpmf(counts, np.exp(module.simulate(along, across)))[held_out].mean()
    assert best < score < best + 0.1 < constant
    learned = numbers(r"lengthscales (\d+\.\d) m along and (\d+\.\d) m across", printed)
    assert np.all(np.abs(np.log(learned) - np.log([module.TRUTH["along"], module.TRUTH["across"]])) < 0.5)
