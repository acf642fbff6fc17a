"""Tables in and out: times as dates, rows in any order, predictions of the same kind, draws for ArviZ."""

import datetime
import subprocess
import sys
import zoneinfo

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from scipy import stats

import ssep
from ssep.kernels import Matern32
from ssep.tables.cadence import following
from ssep.tables.clock import Stamps, clock_of
from ssep.tables.units import UNITS

POISSON, RULE = ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5)
PRIOR = ssep.SDEPrior(Matern32(1.0, 6.0), mean=0.5)
FIELD = ssep.SpatioTemporalPrior(Matern32(1.0, 6.0), Matern32(1.0, 2.0))
QUANTILES = (0.1, 0.5, 0.9)
FIXED = {name: pd.Timedelta(1, name[0]) for name in ("hour", "minute", "second")} | {
    "nanosecond": pd.Timedelta(1, "ns"),
    "microsecond": pd.Timedelta(1, "us"),
    "millisecond": pd.Timedelta(1, "ms"),
    "day": pd.Timedelta(1, "D"),
    "week": pd.Timedelta(7, "D"),
}


def infer(data, prior=PRIOR):
    return ssep.infer(prior, POISSON, RULE, data)


def messy_frame():
    """Daily counts with gaps, a repeated day, missing counts, exposures, and the rows in disorder."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-02-01", periods=30).delete([4, 5, 17]).append(pd.DatetimeIndex(["2024-02-10"]))
    counts = rng.poisson(3.0, len(days)).astype(float)
    counts[[2, 9]] = np.nan
    exposure = rng.uniform(0.5, 2.0, len(days))
    exposure[9] = np.nan  # nothing was seen there
    frame = pd.DataFrame({"day": days, "count": counts, "exposure": exposure})
    return frame.sample(frac=1, random_state=1)


@pytest.fixture(scope="module")
def messy():
    frame = messy_frame().dropna(subset="exposure")
    series = ssep.tables.read(frame, "count", time="day", unit="day", aux="exposure")
    return frame, series, infer(series.data)


def expected_columns(prediction):
    low, middle, high = np.asarray(prediction.quantile(list(QUANTILES)))
    return {
        "mean": prediction.y_mean,
        "sd": np.sqrt(prediction.y_var),
        "q0.1": low,
        "q0.5": middle,
        "q0.9": high,
        "f_mean": prediction.f_mean[:, 0],
        "f_sd": np.sqrt(prediction.f_var[:, 0]),
    }


def assert_columns(frame, prediction, first=()):
    expected = expected_columns(prediction)
    assert list(frame.columns) == [*first, *expected]
    for name, values in expected.items():
        np.testing.assert_allclose(frame[name].to_numpy(), np.asarray(values), rtol=1e-12, atol=0)


# Clocks


@pytest.mark.parametrize("name", FIXED)
def test_fixed_units_count_as_pandas_does(name):
    dates = pd.DatetimeIndex(["2021-03-04 05:06:07.25", "1999-12-31", "2040-07-01 12:00"])
    data = ssep.tables.read(pd.Series([1.0, 2.0, 3.0], dates), unit=name).data
    np.testing.assert_allclose(data.t, np.sort((dates - dates.min()) / FIXED[name]), rtol=1e-15)
    from_origin = ssep.tables.read(pd.Series(1.0, dates), unit=name, origin="2000-01-01").data
    expected = np.sort((dates - pd.Timestamp("2000-01-01")) / FIXED[name])
    np.testing.assert_allclose(from_origin.t, expected, rtol=1e-15)


@pytest.mark.parametrize(("name", "months"), [("month", 1), ("quarter", 3), ("year", 12)])
def test_units_of_the_calendar_count_whole_months_and_the_part_that_has_passed(name, months):
    starts = pd.Series(1.0, pd.date_range("2019-05-01", periods=40, freq="MS"))
    np.testing.assert_array_equal(ssep.tables.read(starts, unit=name).data.t, np.arange(40) / months)
    within = pd.Series(1.0, pd.DatetimeIndex(["2024-01-01", "2024-02-15 12:00", "2023-02-15"]))
    got = ssep.tables.read(within, unit=name, origin="2024-01-01").data.t
    expected = np.array([-11 + 14 / 28, 0, 1 + 14.5 / 29]) / months
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-14)


def test_a_timedelta_is_a_unit():
    dates = pd.Series(1.0, pd.date_range("2020-01-01", periods=4))
    for unit in (datetime.timedelta(hours=6), np.timedelta64(6, "h")):
        np.testing.assert_array_equal(ssep.tables.read(dates, unit=unit).data.t, [0, 4, 8, 12])


SECONDS = np.sort(np.random.default_rng(3).integers(-(10**9), 2 * 10**9, 50)).astype("datetime64[s]")


def as_pandas(values, unit, zone):
    index = pd.DatetimeIndex(values).as_unit(unit)
    return pd.DataFrame({"at": index if zone is None else index.tz_localize("UTC").tz_convert(zone), "y": 1.0})


def as_polars(values, unit, zone):
    series = pl.Series("at", values.astype("M8[us]")).cast(pl.Datetime(unit))
    if zone is not None:
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return pl.DataFrame({"at": series, "y": np.ones(len(values))})


KINDS = {
    "pandas, seconds": lambda: as_pandas(SECONDS, "s", None),
    "pandas, nanoseconds": lambda: as_pandas(SECONDS, "ns", None),
    "pandas, with a zone": lambda: as_pandas(SECONDS, "us", "America/New_York"),
    "polars, milliseconds": lambda: as_polars(SECONDS, "ms", None),
    "polars, nanoseconds": lambda: as_polars(SECONDS, "ns", None),
    "polars, with a zone": lambda: as_polars(SECONDS, "us", "Asia/Kolkata"),
    "xarray": lambda: xr.Dataset({"y": ("at", np.ones(len(SECONDS)))}, {"at": SECONDS}),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", KINDS)
def test_dates_of_every_kind_come_back_from_numbers_in_every_unit(kind, unit):
    frame = KINDS[kind]()
    if "zone" in kind and unit in ("month", "quarter", "year"):
        with pytest.raises(ValueError, match=r"`tables.read\(unit\)` must have a fixed length for dates with a time"):
            ssep.tables.read(frame, "y", time="at", unit=unit)
        return
    series = ssep.tables.read(frame, "y", time="at", unit=unit, origin="1970-01-01 00:00:00.5")
    np.testing.assert_array_equal(series.clock.dates(series.data.t), SECONDS)


def test_dates_beyond_the_range_of_nanoseconds():
    dates = np.array(["1066-10-14", "1215-06-15", "2525-01-01"], "datetime64[s]")
    series = ssep.tables.read(pd.DataFrame({"y": [1.0, 2.0, 3.0]}, index=dates), unit="day")
    np.testing.assert_array_equal(series.clock.dates(series.data.t), dates)
    assert series.data.t[1] == (datetime.date(1215, 6, 15) - datetime.date(1066, 10, 14)).days


@pytest.mark.parametrize("unit", ["second", "hour", "week", "month", "year"])
def test_dates_of_a_millennium_come_back_to_the_second(unit):
    seconds = np.sort(np.random.default_rng(8).integers(-(3 * 10**10), 10**10, 200)).astype("datetime64[s]")
    series = ssep.tables.read(pd.DataFrame({"y": np.ones(200)}, index=seconds), unit=unit)
    np.testing.assert_array_equal(series.clock.dates(series.data.t), seconds)


def test_an_origin_without_an_offset_is_in_the_zone_of_the_dates():
    dates = pd.date_range("2024-06-01", periods=3, tz="Europe/Berlin")
    frame = pd.Series(1.0, dates)
    expected = [152 - 1 / 24, 153 - 1 / 24, 154 - 1 / 24]  # the clocks went one hour forward
    for origin in ("2024-01-01", "2024-01-01T00:00+01:00", pd.Timestamp("2024-01-01", tz="Europe/Berlin")):
        np.testing.assert_allclose(ssep.tables.read(frame, unit="day", origin=origin).data.t, expected, rtol=1e-14)


def test_polars_dates_without_a_time_of_day():
    days = [datetime.date(2020, 2, 28), datetime.date(2020, 3, 1)]
    series = ssep.tables.read(pl.DataFrame({"day": days, "y": [1, 2]}), "y", time="day", unit="day")
    np.testing.assert_array_equal(series.data.t, [0.0, 2.0])


# Rows


def test_rows_with_gaps_repeated_days_and_missing_values_are_sorted_and_kept():
    frame = messy_frame()
    data = ssep.tables.read(frame, "count", time="day", unit="day", aux="exposure").data
    ordered = frame.sort_values("day", kind="stable")
    t = (ordered["day"] - ordered["day"].iloc[0]).dt.days
    expected = ssep.Data(t.to_numpy(float), ordered["count"].to_numpy(), aux=ordered["exposure"].to_numpy())
    assert jax.tree.all(jax.tree.map(np.array_equal, data, expected))
    assert (np.diff(data.t) == 0).any()
    assert not data.mask.all()


def test_predictions_at_the_rows_keep_their_order_and_index(messy):
    frame, series, solution = messy
    found = series.predict(solution, quantiles=QUANTILES)
    pd.testing.assert_index_equal(found.index, frame.index)
    pd.testing.assert_series_equal(found["day"], frame["day"])
    t = (frame["day"] - frame["day"].min()).dt.days.to_numpy(float)
    assert_columns(found, ssep.predict(solution, t, aux=frame["exposure"].to_numpy()), ["day"])


def test_a_horizon_continues_the_days(messy):
    _, series, solution = messy
    found = series.predict(solution, horizon=4, aux=2.0, quantiles=QUANTILES)
    expected = pd.date_range("2024-03-02", periods=4)
    np.testing.assert_array_equal(found["day"], expected)
    assert found["day"].dtype == messy[0]["day"].dtype
    assert_columns(found, ssep.predict(solution, np.arange(30.0, 34.0), aux=np.full(4, 2.0)), ["day"])
    again = series.predict(solution, expected, aux={"exposure": np.full(4, 2.0)}, quantiles=QUANTILES)
    pd.testing.assert_frame_equal(found, again)
    table = pd.DataFrame({"day": expected, "exposure": 2.0}, index=list("abcd"))
    by_table = series.predict(solution, table, quantiles=QUANTILES)
    pd.testing.assert_frame_equal(by_table, found.set_index(table.index))
    half = series.predict(solution, horizon=4, step=0.5, aux=2.0)
    np.testing.assert_array_equal(half["day"], pd.date_range("2024-03-01 12:00", periods=4, freq="12h"))


def test_latents_alone_need_no_exposure(messy):
    _, series, solution = messy
    found = series.predict(solution, horizon=4, moments=False, quantiles=())
    assert list(found.columns) == ["day", "f_mean", "f_sd"]
    assert list(series.predict(solution, horizon=4, aux=1.0, latents=False, quantiles=()).columns)[1:] == ["mean", "sd"]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_an_index_of_dates_stays_one(messy, zone):
    frame, _, solution = messy
    indexed = frame.set_index("day")[["count", "exposure"]].sort_index()
    indexed.index = indexed.index.tz_localize(zone)
    series = ssep.tables.read(indexed, "count", unit="day", aux="exposure")
    found = series.predict(solution, horizon=4, aux=2.0)
    assert found.index.equals(pd.date_range("2024-03-02", periods=4, tz=zone))
    assert found.index.name == "day"
    assert found.index.dtype == indexed.index.dtype
    pd.testing.assert_index_equal(series.predict(solution).index, indexed.index)


def test_polars_gives_what_pandas_gives(messy):
    frame, series, solution = messy
    columns = {name: frame[name].to_numpy() for name in frame}
    table = pl.DataFrame(columns).with_columns(pl.col("count").fill_nan(None), pl.col("day").cast(pl.Date))
    own = ssep.tables.read(table, "count", time="day", unit="day", aux="exposure")
    assert jax.tree.all(jax.tree.map(np.array_equal, own.data, series.data))
    for arguments in ({}, {"horizon": 4, "aux": 2.0}):
        found, expected = (each.predict(solution, **arguments) for each in (own, series))
        assert isinstance(found, pl.DataFrame)
        assert found.schema["day"] == pl.Date
        np.testing.assert_array_equal(found["day"].to_numpy(), expected["day"].to_numpy())
        for name in list(expected)[1:]:
            np.testing.assert_array_equal(found[name].to_numpy(), expected[name].to_numpy())
    hourly = own.predict(solution, horizon=4, step=datetime.timedelta(hours=6), aux=2.0)
    assert hourly["day"].to_list()[-1] == datetime.datetime(2024, 3, 2)
    assert own.predict(solution, hourly.select("day"), aux=2.0).equals(hourly)


def test_polars_keeps_the_time_zone(messy):
    frame, _, solution = messy
    days = pl.Series("day", frame["day"].to_numpy()).dt.replace_time_zone("Europe/Berlin")
    table = pl.DataFrame({"day": days, "count": frame["count"].to_numpy(), "exposure": frame["exposure"].to_numpy()})
    series = ssep.tables.read(table, "count", time="day", unit="day", aux="exposure")
    found = series.predict(solution, horizon=4, aux=2.0)
    assert found.schema["day"] == table.schema["day"]
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    assert found["day"].to_list() == [datetime.datetime(2024, 3, day, tzinfo=berlin) for day in range(2, 6)]


def test_numbers_as_times_stay_as_they_are(messy):
    frame, _, solution = messy
    numbers = (frame["day"] - frame["day"].min()).dt.days
    series = ssep.tables.read(frame.assign(day=numbers), "count", time="day", aux="exposure")
    found = series.predict(solution, horizon=4, aux=2.0)
    assert list(found["day"]) == [30, 31, 32, 33]
    assert found["day"].dtype == numbers.dtype
    table = pl.DataFrame({"day": numbers.to_numpy(), "count": frame["count"].to_numpy()})
    plain = ssep.tables.read(table, time="day")
    assert plain.predict(infer(plain.data), horizon=4)["day"].to_list() == [30, 31, 32, 33]


def test_periods_stay_periods():
    months = pd.period_range("2020-01", periods=12, freq="M", name="month")
    series = ssep.tables.read(pd.Series(np.arange(12) % 4, months), unit="month")
    np.testing.assert_array_equal(series.data.t, np.arange(12))
    found = series.predict(infer(series.data), horizon=4)
    pd.testing.assert_index_equal(found.index, pd.period_range("2021-01", periods=4, freq="M", name="month"))


# The times that follow

CADENCES = {
    "days": pd.date_range("2024-02-20", periods=20),
    "weeks": pd.date_range("2023-12-04", periods=20, freq="W-MON"),
    "starts of months": pd.date_range("2020-11-01", periods=20, freq="MS"),
    "ends of months": pd.date_range("2020-11-30", periods=20, freq="ME"),
    "quarters": pd.date_range("2020-01-01", periods=20, freq="QS"),
    "years": pd.date_range("2000-01-01", periods=20, freq="YS"),
    "ten minutes": pd.date_range("2024-02-28 23:00", periods=20, freq="10min"),
    "hours through a change of the clock": pd.date_range("2024-03-30 20:00", periods=20, freq="h", tz="Europe/Berlin"),
    "days through a change of the clock": pd.date_range("2024-03-15", periods=20, tz="Europe/Berlin"),
    "months in a zone": pd.date_range("2024-01-01", periods=20, freq="MS", tz="America/New_York"),
}


@pytest.mark.parametrize("name", CADENCES)
@pytest.mark.parametrize("holes", [[], [3, 4, 8]])
def test_the_step_of_dates_is_found_in_spite_of_holes(name, holes):
    every = CADENCES[name]
    utc = every if every.tz is None else every.tz_convert("UTC").tz_localize(None)
    zone = None if every.tz is None else zoneinfo.ZoneInfo(str(every.tz))
    seen = np.delete(utc.to_numpy()[:12], holes)
    clock = clock_of(Stamps(seen, zone), "day", None)
    np.testing.assert_array_equal(following(clock, seen, 8), utc.to_numpy()[12:])


def test_the_step_of_numbers_is_found_in_spite_of_holes_and_rounding():
    every = np.linspace(1851.2, 1962.2, 333)
    seen = np.delete(every, [4, 5, 100, 101, 102])[:-10]
    clock = clock_of(Stamps(seen), None, None)
    np.testing.assert_allclose(following(clock, seen, 10), every[-10:], rtol=1e-12)


def test_a_declared_frequency_is_followed():
    weekdays = pd.bdate_range("2024-01-01", periods=15, name="day")
    series = ssep.tables.read(pd.Series(np.arange(15.0) % 3, weekdays, name="y"), unit="day")
    found = series.predict(infer(series.data), horizon=4)
    assert found.index.equals(pd.bdate_range("2024-01-22", periods=4))


def test_months_are_steps_where_they_are_units():
    dates = pd.Series(1.0, pd.DatetimeIndex(["2020-01-10", "2020-01-26", "2020-03-10"]))
    series = ssep.tables.read(dates, unit="month")
    got = following(series.clock, dates.index.to_numpy(), 2, 1)
    np.testing.assert_array_equal(got, np.array(["2020-04-10", "2020-05-10"], "M8[us]"))
    with pytest.raises(ValueError, match=r"`Series.predict\(step\)` must be whole months; got 0.5 months"):
        following(series.clock, dates.index.to_numpy(), 2, 0.5)
    with pytest.raises(ValueError, match=r"`Series.predict\(step\)` must be given; got times that are not evenly"):
        following(series.clock, dates.index.to_numpy(), 2)
    late = np.array(["2020-01-30"], "M8[us]")
    with pytest.raises(ValueError, match="must lead to days that every month has"):
        following(series.clock, late, 2, 1)


# Several targets, places


def test_several_targets_are_columns_of_y():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"t": np.arange(12.0), "a": rng.poisson(2.0, 12), "b": rng.poisson(6.0, 12), "ea": 1.0})
    frame = frame.assign(eb=rng.uniform(2, 3, 12), a=frame["a"].astype("Int64").mask(frame["t"] == 3))
    aux = (ssep.tables.TargetNumber(), ssep.tables.PerTarget(("ea", "eb")))
    series = ssep.tables.read(frame, ["a", "b"], time="t", aux=aux)
    y = np.stack([frame["a"].to_numpy(float, na_value=np.nan), frame["b"]], 1)
    outputs = ssep.likelihoods.Outputs
    expected = ssep.Data(frame["t"], y, aux=(outputs.columns(y), frame[["ea", "eb"]].to_numpy()))
    assert jax.tree.all(jax.tree.map(np.array_equal, series.data, expected))
    lik = outputs(POISSON, [[1.0], [0.5]])
    solution = ssep.infer(PRIOR, lik, RULE, series.data)
    found = series.predict(solution, horizon=3, aux={"ea": 1.0, "eb": [2.0, 3.0, 4.0]}, quantiles=(0.5,))
    assert list(found) == ["t", "a_mean", "a_sd", "a_q0.5", "b_mean", "b_sd", "b_q0.5", "f_mean", "f_sd"]
    for number, (name, exposure) in enumerate({"a": np.ones(3), "b": np.array([2.0, 3.0, 4.0])}.items()):
        each = ssep.predict(solution, [12.0, 13.0, 14.0], aux=(np.full(3, float(number)), exposure))
        np.testing.assert_allclose(found[f"{name}_mean"], each.y_mean, rtol=1e-12)
        np.testing.assert_allclose(found["f_mean"], each.f_mean[:, 0], rtol=1e-12)


def records():
    rng = np.random.default_rng(2)
    stations = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]])
    where, day = np.tile(np.arange(3), 8), np.repeat(np.arange(8), 3)
    kept = np.delete(rng.permutation(24), [3, 11])
    x, y = stations[where[kept]].T
    counts = rng.poisson(2.0, 22).astype(float)
    counts[4] = np.nan
    date = pd.Timestamp("2021-05-01") + pd.to_timedelta(day[kept], "D")
    return pd.DataFrame({"date": date, "x": x, "y": y, "n": counts, "area": rng.uniform(1, 2, 22)})


@pytest.mark.parametrize("fixed", [False, True, "named"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_long_format_is_from_records(library, fixed):
    frame = records()
    places = np.array([[1.0, 3.0], [0.0, 1.0], [2.0, 0.5]]) if fixed == "named" else fixed
    table = frame if library == "pandas" else pl.DataFrame({name: frame[name].to_numpy() for name in frame})
    series = ssep.tables.read(
        table, "n", time="date", unit="day", aux="area", places=("x", "y"), fixed_places=places, per_step=None
    )
    t = (frame["date"] - frame["date"].min()).dt.days.to_numpy(float)
    r, y, area = (frame[name].to_numpy() for name in (["x", "y"], "n", "area"))
    expected = ssep.Data.from_records(t, r, y, aux=area, fixed_places=places)
    assert jax.tree.all(jax.tree.map(np.array_equal, series.data, expected))
    if library == "polars":
        return
    prior = FIELD if fixed else ssep.SpatioTemporalPrior(FIELD.terms[0].temporal, FIELD.terms[0].spatial, r[:3])
    solution = infer(series.data, prior)
    found = series.predict(solution, quantiles=())
    direct = ssep.predict(solution, t, r_new=r[:, None], aux=area[:, None])
    assert list(found) == ["date", "x", "y", "mean", "sd", "f_mean", "f_sd"]
    np.testing.assert_array_equal(found[["date", "x", "y"]], frame[["date", "x", "y"]])
    np.testing.assert_allclose(found["mean"], direct.y_mean[:, 0], rtol=1e-8)
    np.testing.assert_allclose(found["f_sd"] ** 2, direct.f_var[:, 0, 0], rtol=1e-8)
    elsewhere = pd.DataFrame({"date": frame["date"].iloc[[2, 2, 0]], "x": [0.1, 0.2, 0.3], "y": 1.5, "area": 1.0})
    found = series.predict(solution, elsewhere, quantiles=())
    direct = ssep.predict(solution, t[[2, 2, 0]], r_new=elsewhere[["x", "y"]].to_numpy()[:, None], aux=np.ones((3, 1)))
    np.testing.assert_allclose(found["mean"], direct.y_mean[:, 0], rtol=1e-8)
    if not fixed:
        with pytest.raises(ValueError, match=r"must say where, because the places differ from time to time"):
            series.predict(solution, horizon=2, aux=1.0)
        return
    ahead = series.predict(solution, horizon=2, aux=[1.0, 2.0], quantiles=())
    stations = np.asarray(series.data.r)
    np.testing.assert_array_equal(ahead[["x", "y"]], np.tile(stations, (2, 1)))
    np.testing.assert_array_equal(ahead["date"], pd.DatetimeIndex(["2021-05-09"] * 3 + ["2021-05-10"] * 3))
    direct = ssep.predict(solution, [8.0, 9.0], aux=np.repeat([[1.0], [2.0]], 3, 1))
    np.testing.assert_allclose(ahead["mean"], np.asarray(direct.y_mean).ravel(), rtol=1e-12)


def counts_on_a_grid():
    rng = np.random.default_rng(5)
    values = rng.poisson(2.0, (2, 6, 3)).astype(float)
    values[1, 2, 0] = np.nan
    coords = {
        "time": ("time", pd.date_range("2022-01-01", periods=6, freq="MS")[::-1].to_numpy(), {"long_name": "month"}),
        "x": [0.0, 1.0],
        "y": [0.0, 2.0, 3.0],
        "season": ("time", list("abcdef")),
        "region": ("x", ["west", "east"]),
    }
    return xr.DataArray(values, coords, ("x", "time", "y"), name="trees")


def test_arrays_over_places_keep_their_dimensions_and_coordinates():
    array = counts_on_a_grid()
    series = ssep.tables.read(array, unit="month", places=("x", "y"))
    ordered = array.sortby("time").transpose("time", "x", "y")
    places = np.stack(np.meshgrid(array["x"], array["y"], indexing="ij"), -1).reshape(6, 2)
    expected = ssep.Data(np.arange(6.0), ordered.values.reshape(6, 6), r=places)
    assert jax.tree.all(jax.tree.map(np.array_equal, series.data, expected))
    solution = infer(series.data, FIELD)
    found = series.predict(solution, quantiles=QUANTILES)
    direct = ssep.predict(solution, np.arange(6.0))
    assert found["mean"].dims == array.dims
    assert set(found.coords) == {*array.coords, "level"}
    xr.testing.assert_identical(found["season"].drop_vars("season"), array["season"].drop_vars("season"))
    by_month = found.sortby("time").transpose("level", "time", "x", "y", ...)
    np.testing.assert_allclose(by_month["mean"].values.reshape(6, 6), direct.y_mean, rtol=1e-12)
    levels = np.asarray(direct.quantile(list(QUANTILES)))
    np.testing.assert_allclose(by_month["quantile"].values.reshape(3, 6, 6), levels, rtol=1e-12)
    np.testing.assert_allclose(by_month["f_sd"].values.reshape(6, 6) ** 2, direct.f_var[..., 0], rtol=1e-12)
    ahead = series.predict(solution, horizon=2, quantiles=(0.5,))
    np.testing.assert_array_equal(ahead["time"], np.array(["2022-07", "2022-08"], "M8[ns]"))
    assert ahead["time"].attrs == array["time"].attrs
    assert ahead["mean"].dims == array.dims
    assert list(ahead["region"].values) == ["west", "east"]
    ahead_mean = ahead["mean"].transpose("time", "x", "y").values.reshape(2, 6)
    np.testing.assert_allclose(ahead_mean, ssep.predict(solution, [6.0, 7.0]).y_mean, rtol=1e-12)
    stations = array.stack(station=("x", "y")).reset_index("station")
    by_station = ssep.tables.read(stations, unit="month", places=("x", "y"))
    assert jax.tree.all(jax.tree.map(np.array_equal, by_station.data, expected))


def test_datasets_with_extras_and_several_targets():
    dates = pd.date_range("2022-01-01", periods=10)
    rng = np.random.default_rng(4)
    dataset = xr.Dataset(
        {
            "a": ("time", rng.poisson(2.0, 10)),
            "b": ("time", rng.poisson(3.0, 10)),
            "e": ("time", rng.uniform(1, 2, 10)),
        },
        {"time": dates},
    )
    one = ssep.tables.read(dataset, "a", unit="day", aux="e")
    solution = infer(one.data)
    assert jax.tree.all(
        jax.tree.map(np.array_equal, one.data, ssep.Data(np.arange(10.0), dataset["a"].values, aux=dataset["e"].values))
    )
    found = one.predict(solution, dataset[["e"]].isel(time=[7, 2]), quantiles=())
    direct = ssep.predict(solution, [7.0, 2.0], aux=dataset["e"].values[[7, 2]])
    np.testing.assert_allclose(found["mean"], direct.y_mean, rtol=1e-12)
    several = ssep.tables.read(dataset, ["a", "b"], unit="day", aux="e")
    np.testing.assert_array_equal(several.data.y, np.stack([dataset["a"], dataset["b"]], 1))
    np.testing.assert_array_equal(several.data.aux, np.repeat(dataset["e"].values[:, None], 2, 1))
    both = several.predict(infer(several.data), quantiles=())
    assert both["mean"].dims == ("time", "target")
    assert list(both["target"].values) == ["a", "b"]
    assert both["f_mean"].dims == ("time",)


# Errors

DAYS = pd.date_range("2020-01-01", periods=4)
FRAME = pd.DataFrame({"day": DAYS, "count": [1.0, 2.0, 0.0, 1.0], "label": list("abca")})


def without_a_day():
    return FRAME.assign(day=FRAME["day"].mask(FRAME.index == 2))


ERRORS = {
    "column": (lambda: ssep.tables.read(FRAME, "cuont", time="day", unit="day"), r"'cuont'. Do you mean 'count'\?"),
    "no unit": (lambda: ssep.tables.read(FRAME, "count", time="day"), r"must say what one unit of time is"),
    "unit": (lambda: ssep.tables.read(FRAME, "count", time="day", unit="Days"), r"got 'Days'. Do you mean 'day'\?"),
    "no date": (
        lambda: ssep.tables.read(without_a_day(), "count", time="day", unit="day"),
        r"`tables.read\(time='day'\)` must have a time in every row; got NaT in row 2. Drop",
    ),
    "no date, polars": (
        lambda: ssep.tables.read(pl.DataFrame({"t": [1.0, None], "y": [1, 2]}), time="t"),
        r"must have a time in every row; got nan in row 1",
    ),
    "text": (lambda: ssep.tables.read(FRAME, "count", time="label"), r"must hold dates or numbers.*pd.to_datetime"),
    "label": (
        lambda: ssep.tables.read(FRAME, "label", time="day", unit="day"),
        r"must have numbers in column 'label'; got values of type",
    ),
    "infinite": (
        lambda: ssep.tables.read(FRAME.assign(count=[1, np.inf, 2, 3]), "count", time="day", unit="day"),
        r"must be finite, or missing, in column 'count'; got inf in row 1",
    ),
    "extras": (
        lambda: ssep.tables.read(FRAME.assign(e=[1, 2, np.nan, 1]), "count", time="day", unit="day", aux="e"),
        r"must be known in column 'e' wherever an observation is; got nothing in row 2",
    ),
    "extras of one target": (
        lambda: ssep.tables.read(FRAME, "count", time="day", unit="day", aux=ssep.tables.TargetNumber()),
        r"`tables.read\(aux\)` has one entry per target only where there are several targets",
    ),
    "no extras": (
        lambda: ssep.tables.read(FRAME.assign(e=1.0), "count", time="day", unit="day", aux="ee"),
        r"`table\['ee'\]` must be a column of the table; got 'ee'. Do you mean 'e'\?",
    ),
    "empty": (lambda: ssep.tables.read(FRAME.iloc[:0], "count", time="day", unit="day"), r"must hold times; got none"),
    "place": (
        lambda: ssep.tables.read(FRAME.assign(x=[0, 1, 2, np.nan]), "count", time="day", unit="day", places="x"),
        r"`tables.read\(places\)` must be known in every row; got \[nan\] in row 3",
    ),
    "unit of numbers": (lambda: ssep.tables.read(FRAME["count"], unit="day"), r"are for dates; got unit 'day'"),
    "origin": (
        lambda: ssep.tables.read(FRAME, "count", time="day", unit="day", origin="soon"),
        r"`tables.read\(origin\)` must be a date; got 'soon'",
    ),
    "lazy": (lambda: ssep.tables.read(pl.LazyFrame({"a": [1]}), time="a"), r"got a `LazyFrame`. Call `.collect\(\)`"),
    "no time": (lambda: ssep.tables.read(pl.DataFrame({"a": [1]})), r"polars has no index"),
    "arrays": (lambda: ssep.tables.read(np.ones(3)), r"must be a table of pandas, polars or xarray; got a `ndarray`"),
    "target": (lambda: ssep.tables.read(FRAME, time="day", unit="day"), r"Name one of \['count', 'label'\]"),
    "places without numbers": (
        lambda: ssep.tables.read(
            xr.DataArray(np.ones((4, 2)), {"time": DAYS, "site": ["a", "b"]}, ("time", "site")),
            unit="day",
            places="site",
        ),
        r"must have numbers in column 'site'; got values of type <U1",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_tables_are_named_with_the_row(name):
    call, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_impossible_observations_are_named_with_the_row():
    frame = FRAME.assign(count=[1.0, np.nan, -1.0, 2.0]).iloc[::-1]
    series = ssep.tables.read(frame, "count", time="day", unit="day")
    with pytest.raises(ValueError, match=r"non-negative integer counts in y; got -1.0 in row 1, at 2020-01-03T00:00"):
        series.check_support(POISSON)
    series.check_support(ssep.likelihoods.Gaussian())


def test_a_column_of_a_result_takes_no_name_twice(messy):
    frame, _, solution = messy
    series = ssep.tables.read(frame.rename(columns={"day": "mean"}), "count", time="mean", unit="day", aux="exposure")
    with pytest.raises(ValueError, match=r"`Series.predict` must not have two columns of a name; got 'mean'"):
        series.predict(solution)


def test_bad_questions(messy):
    _, series, solution = messy
    cases = {
        r"must have 'exposure', which observations at new times need; got None": {"horizon": 2},
        r"must name columns of extras; got \['area'\]": {"horizon": 2, "aux": {"area": 1.0}},
        r"must have 2 numbers; got \(3,\)": {"horizon": 2, "aux": [1.0, 2.0, 3.0]},
        r"are two ways to say when": {"horizon": 2, "at": [1.0]},
        r"`Series.predict\(at\)` must be a table, or several times; got Timestamp": {"at": DAYS[0], "aux": 1.0},
        r"`Series.predict\(at\)` must be a table, or several times; got '2020": {"at": "2020-01-05", "aux": 1.0},
        r"must be a number of units, or a timedelta; got '1D'": {"horizon": 2, "step": "1D", "aux": 1.0},
        r"must be a positive integer; got 0": {"horizon": 0},
        r"must be dates, as the times of the data are; got numbers": {"at": [1.0], "aux": 1.0},
        r"must have a time zone if the times of the data have one": {"at": DAYS.tz_localize("UTC"), "aux": 1.0},
    }
    for message, arguments in cases.items():
        with pytest.raises(ValueError, match=message):
            series.predict(solution, **arguments)


def test_one_quantile_needs_no_list(messy):
    _, series, solution = messy
    several = series.predict(solution, horizon=2, aux=1.0, quantiles=[0.25, 0.75])
    one = series.predict(solution, horizon=2, aux=1.0, quantiles=0.75)
    pd.testing.assert_frame_equal(one, several.drop(columns="q0.25"))


# ArviZ


def test_arviz_has_the_draws_and_their_log_likelihood(messy):
    _, series, solution = messy
    tree = series.to_arviz(jax.random.key(0), solution, num_samples=50)
    seen = np.asarray(series.data.mask)
    assert set(tree.children) == {"posterior", "posterior_predictive", "observed_data", "log_likelihood"}
    f = tree["posterior"]["f"]
    assert f.dims == ("chain", "draw", "time", "latent")
    dates = pd.DatetimeIndex(f["time"].values)
    np.testing.assert_array_equal((dates - dates.min()) / pd.Timedelta(1, "D"), series.data.t)
    rates = np.exp(f.values[0, :, :, 0]) * np.asarray(series.data.aux)
    expected = stats.poisson.logpmf(np.asarray(series.data.y), rates)[:, seen]
    for group in ("log_likelihood", "posterior_predictive", "observed_data"):
        np.testing.assert_array_equal(tree[group]["time"], dates[seen])
    np.testing.assert_allclose(tree["log_likelihood"]["y"].values[0], expected, rtol=1e-10)
    np.testing.assert_array_equal(tree["observed_data"]["y"], np.asarray(series.data.y)[seen])
    drawn = tree["posterior_predictive"]["y"].values
    # The average of 50 draws at 25 times, against its mean.
    prediction = ssep.predict(solution, series.data.t, aux=series.data.aux)
    error = np.asarray(drawn.mean((0, 1)) - prediction.y_mean[seen]) / np.sqrt(prediction.y_var[seen] / 50)
    assert abs(error.mean()) < 1


def test_arviz_of_several_observations_per_time():
    y = np.random.default_rng(6).poisson(2.0, (8, 3)).astype(float)
    for gap in (False, True):
        data = ssep.Data(np.arange(8.0), np.where(gap & (np.arange(24).reshape(8, 3) == 7), np.nan, y))
        solution = infer(data)
        tree = ssep.tables.to_arviz(jax.random.key(1), solution, num_samples=4)
        f = tree["posterior"]["f"].values
        np.testing.assert_array_equal(f[:, :, :, 0], f[:, :, :, 2])
        expected = stats.poisson.logpmf(y, np.exp(f[0, ..., 0]))
        found = tree["log_likelihood"]["y"]
        if gap:
            assert found.dims == ("chain", "draw", "observation")
            seen = np.asarray(data.mask)
            np.testing.assert_array_equal(found["column"], np.nonzero(seen)[1])
            np.testing.assert_array_equal(found["time"], np.nonzero(seen)[0])
            expected = expected[:, seen]
        np.testing.assert_allclose(found.values[0], expected, rtol=1e-10)


def test_arviz_of_scattered_places():
    rng = np.random.default_rng(7)
    data = ssep.Data(np.arange(6.0), rng.poisson(2.0, 6), r=rng.uniform(size=(6, 2)))
    prior = ssep.SpatioTemporalPrior(FIELD.terms[0].temporal, FIELD.terms[0].spatial, rng.uniform(size=(3, 2)))
    tree = ssep.tables.to_arviz(jax.random.key(2), infer(data, prior), num_samples=4)
    expected = stats.poisson.logpmf(np.asarray(data.y), np.exp(tree["posterior"]["f"].values[0, ..., 0]))
    np.testing.assert_allclose(tree["log_likelihood"]["y"].values[0], expected, rtol=1e-10)


def test_a_missing_library_is_named_with_its_extra(messy, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r'pip install "ssep\[arviz\]"'):
        messy[1].to_arviz(jax.random.key(0), messy[2])


def test_importing_imports_no_library_of_tables():
    code = "import ssep, sys; assert not {'pandas', 'polars', 'xarray', 'arviz_base'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
