"""Raw events become counts with exposures, and nothing is lost on the way."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import ssep
from ssep.kernels import Matern32, Matern52

POISSON = ssep.likelihoods.Poisson()
RULE = ssep.PowerEP(1.0)
GAP = [(0.0, 4.0), (6.0, 10.0)]
seeds = st.integers(0, 2**32 - 1)


def cubic(t):
    return 2.0 + 0.01 * (np.asarray(t) - 3.0) ** 3 / 8


def cubic_integral(start, end):
    return 2.0 * (end - start) + 0.01 * ((end - 3.0) ** 4 - (start - 3.0) ** 4) / 32


def totals(data):
    mask = np.asarray(data.mask)
    return np.asarray(data.y)[mask].sum(), np.asarray(data.aux)[mask].sum()


@given(seeds, st.sampled_from(["width", "count", "edges"]), st.booleans())
def test_every_event_and_all_exposure_is_in_one_bin(seed, how, varying):
    """Also where events, borders of windows and edges coincide."""
    rng = np.random.default_rng(seed)
    borders = np.sort(rng.choice(40, 6, replace=False) / 4) - 2
    windows = borders.reshape(3, 2)
    inside = np.concatenate([np.arange(start, end + 0.1, 0.25) for start, end in windows])
    events = ssep.Events(rng.choice(inside, 15), windows, exposure=cubic if varying else None)
    extent = borders[-1] - borders[0]
    choice = {
        "width": {"width": extent / 8.5},
        "count": {"count": 9},
        "edges": {"edges": np.concatenate([[borders[0]], borders[0] + extent * np.sort(rng.random(8)), [borders[-1]]])},
    }[how]
    data = events.binned(**choice)
    assert data.y.shape == (9,)
    exposure = sum(cubic_integral(*window) if varying else window[1] - window[0] for window in windows)
    count, total = totals(data)
    assert count == 15
    assert total == pytest.approx(exposure, rel=1e-13)
    assert events.mean_intensity == pytest.approx(15 / exposure, rel=1e-13)


def test_counts_are_a_histogram_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 7, 40)
    edges = np.array([-1.0, 0.5, 1.0, 4.0, 7.5])
    data = ssep.Events(t, [(0, 7)]).binned(edges=edges)
    np.testing.assert_array_equal(data.y, np.histogram(t, edges)[0])
    np.testing.assert_array_equal(ssep.Events(t[::-1], [(0, 7)]).binned(edges=edges).y, data.y)
    # Of the first and the last bin a part could be seen, and its middle is where they are.
    np.testing.assert_allclose(data.aux, [0.5, 0.5, 3.0, 3.0])
    np.testing.assert_allclose(data.t, [0.25, 0.75, 2.5, 5.5])


def test_a_partly_observed_bin_has_the_exposure_and_the_middle_of_what_was_seen():
    events = ssep.Events([0.5, 3.5, 6.5], GAP)
    data = events.binned(width=1.5)
    np.testing.assert_array_equal(data.mask, [True, True, True, False, True, True, True])
    # Bins from 3 to 4.5 (seen to 4), 4.5 to 6 (not at all), 9 to 10.5 (seen to 10).
    np.testing.assert_allclose(np.asarray(data.aux)[data.mask], [1.5, 1.5, 1.0, 1.5, 1.5, 1.0])
    np.testing.assert_allclose(data.t, [0.75, 2.25, 3.5, 5.25, 6.75, 8.25, 9.5])
    # Two windows in one bin: the middle of what was seen of it.
    (middle,) = ssep.Events([], [(0.0, 1.0), (3.0, 6.0)]).binned(count=1).t
    assert float(middle) == pytest.approx((1 * 0.5 + 3 * 4.5) / 4)


def test_an_event_at_the_end_of_a_window_is_counted_before_the_gap():
    data = ssep.Events([4.0, 4.0, 6.0, 10.0], GAP).binned(width=2.0)
    np.testing.assert_array_equal(np.where(data.mask, data.y, -1), [0, 2, -1, 1, 1])
    # Windows that touch: an event at their border begins the second.
    touching = ssep.Events([4.0], [(0.0, 4.0), (4.0, 10.0)]).binned(edges=[0.0, 4.0, 10.0])
    np.testing.assert_array_equal(touching.y, [0, 1])


def test_edges_that_miss_a_border_by_rounding_are_meant_to_hit_it():
    windows = [(0.0, 0.3), (0.6, 1.0)]
    edges = np.cumsum(np.full(11, 0.1)) - 0.1
    assert edges[3] != 0.3
    events = ssep.Events([0.3, 0.6], windows)
    for data in (events.binned(edges=edges), events.binned(width=0.1)):
        np.testing.assert_allclose(np.where(data.mask, data.aux, 0), np.repeat([0.1, 0.0, 0.1], [3, 3, 4]), rtol=1e-12)
        np.testing.assert_array_equal(np.where(data.mask, data.y, 0), [0, 0, 1, 0, 0, 0, 1, 0, 0, 0])


def test_the_default_resolves_events_and_windows():
    t = np.linspace(0, 10, 51)
    assert ssep.Events(t).binned().y.shape == (200,)
    assert ssep.Events(np.linspace(0, 10, 501)).binned().y.shape == (1002,)
    # Half of the time cannot be seen: twice as many bins, each as short as before.
    half = ssep.Events(np.linspace(0, 5, 501), [(0.0, 5.0), (9.0, 10.0), (14.0, 14.0 + 5.0 / 4)]).binned()
    assert float(half.t[1] - half.t[0]) == pytest.approx(7.25 / 1002, rel=1e-3)
    assert ssep.Events([], [(0.0, 1.0), (1e6, 1e6 + 1)]).binned().y.shape == (20_000,)


def test_no_events_are_data_too():
    data = ssep.Events([], [(0.0, 5.0)]).binned(count=5)
    np.testing.assert_array_equal(data.y, np.zeros(5))
    np.testing.assert_allclose(data.aux, np.ones(5))


def test_bins_in_gaps_are_as_good_as_deleted():
    rng = np.random.default_rng(1)
    data = ssep.Events(np.concatenate([rng.uniform(0, 4, 12), rng.uniform(6, 10, 20)]), GAP).binned(count=20)
    assert int(data.mask.sum()) == 16
    prior = ssep.SDEPrior(Matern52(0.7, 2.0), mean=1.0)
    whole = ssep.infer(prior, POISSON, RULE, data)
    keep = np.asarray(data.mask)
    kept = ssep.infer(
        prior, POISSON, RULE, ssep.Data(data.t[keep], np.asarray(data.y)[keep], aux=np.asarray(data.aux)[keep])
    )
    assert float(whole.energy) == pytest.approx(float(kept.energy), abs=1e-9)
    np.testing.assert_allclose(whole.posterior.mean[keep], kept.posterior.mean, atol=1e-8)
    # In the middle of the gap less is known.
    sd = np.sqrt(np.asarray(whole.posterior.cov[:, 0, 0]))
    assert sd[9] > 1.3 * sd[keep].mean()


def grid_events(intensity, end, count):
    """Events where the expected number up to them is k + 1/2: none of the noise of random ones."""
    t = np.linspace(0, end, 20_001)
    cumulative = integrate.cumulative_simpson(intensity(t), x=t, initial=0)
    return np.interp((np.arange(count) + 0.5) / count * cumulative[-1], cumulative, t)


def test_error_of_binning_is_of_second_order_and_bins_do_not_change_the_unit():
    t = grid_events(lambda t: 1.2 + np.sin(t), 10.0, 4000)
    prior = ssep.SDEPrior(Matern52(1.0, 3.0), mean=np.log(400.0))
    where = np.array([0.7, 3.0, 5.1, 8.6])

    def log_intensity(count):
        solution = ssep.infer(prior, POISSON, ssep.CVI(), ssep.Events(t, [(0, 10)]).binned(count=count))
        return np.asarray(ssep.intensity(solution, where).f_mean)

    errors = [np.abs(log_intensity(count) - log_intensity(320)).max() for count in (10, 20, 40)]
    assert errors[0] < 0.15
    assert 3 < errors[0] / errors[1] < 5.5
    assert 3 < errors[1] / errors[2] < 5.5


def test_binning_of_random_events_converges():
    rng = np.random.default_rng(3)
    events = ssep.Events(np.concatenate([rng.uniform(0, 4, 30), rng.uniform(6, 10, 60)]), GAP)
    prior = ssep.SDEPrior(Matern52(1.0, 4.0), mean=np.log(events.mean_intensity))
    where = np.array([1.0, 5.0, 9.5])

    def found(count):
        return ssep.intensity(ssep.infer(prior, POISSON, RULE, events.binned(count=count)), where)

    fine = found(800)
    # In posterior standard deviations, and at most the width over the lengthscale.
    for count in (25, 100):
        error = np.abs(np.asarray(found(count).f_mean - fine.f_mean) / np.sqrt(np.asarray(fine.f_var)))
        assert error.max() < 10 / count / 4.0


def test_windows_that_end_inside_a_bin_cost_no_order():
    """The middle of what was seen, not of the bin: otherwise a slope would shift the level."""
    t = grid_events(lambda t: np.exp(t / 2), 10.0, 4000)
    prior = ssep.SDEPrior(Matern52(4.0, 10.0), mean=5.0)
    seen = t[(t < 4.6) | (t > 7.4)]
    events = ssep.Events(seen, [(0.0, 4.6), (7.4, 10.0)])
    exact, halves = (
        ssep.intensity(ssep.infer(prior, POISSON, RULE, events.binned(count=count)), [4.5, 6.0, 7.5]).f_mean
        for count in (500, 10)
    )
    np.testing.assert_allclose(halves, exact, atol=0.03)


def test_the_unit_of_time_scales_the_intensity_and_nothing_else():
    rng = np.random.default_rng(4)
    t = np.concatenate([rng.uniform(0, 4, 12), rng.uniform(6, 10, 20)])

    def found(unit):
        events = ssep.Events(unit * t, unit * np.array(GAP), exposure=lambda s: 1 + s / unit)
        prior = ssep.SDEPrior(Matern52(0.7, 2.0 * unit), mean=np.log(events.mean_intensity))
        solution = ssep.infer(prior, POISSON, RULE, events.binned(count=20))
        return ssep.intensity(solution, unit * np.array([1.0, 5.0, 12.0]))

    years, days = found(1.0), found(365.25)
    np.testing.assert_allclose(365.25 * days.mean, years.mean, rtol=1e-8)
    np.testing.assert_allclose(365.25 * days.quantile([0.1, 0.9]), years.quantile([0.1, 0.9]), rtol=1e-8)


def test_a_varying_exposure_divides_the_counts():
    """Twice the exposure in the second half, and twice the events: a constant intensity."""
    t = np.concatenate([np.linspace(0.01, 4.99, 100), np.linspace(5.01, 9.99, 200)])
    events = ssep.Events(t, [(0, 10)], exposure=lambda s: np.where(s < 5, 1.0, 2.0))
    data = events.binned(count=20)
    np.testing.assert_allclose(data.aux, np.repeat([0.5, 1.0], 10))
    assert events.mean_intensity == pytest.approx(20.0)
    solution = ssep.infer(ssep.SDEPrior(Matern52(1.0, 3.0), mean=3.0), POISSON, RULE, data)
    np.testing.assert_allclose(ssep.intensity(solution, [2.0, 4.9, 5.1, 8.0]).mean, 20.0, rtol=0.05)
    # No exposure: nothing could be seen, as outside the windows.
    masked = ssep.Events(t[:100], [(0, 10)], exposure=lambda s: np.where(s < 5, 1.0, 0.0)).binned(count=20)
    np.testing.assert_array_equal(masked.mask, np.repeat([True, False], 10))


def test_log_prob_is_that_of_a_poisson_process():
    events = ssep.Events([0.5, 3.5, 6.5], GAP, exposure=cubic)

    def intensity(t):
        return np.exp(np.sin(t))

    integral = sum(integrate.quad(lambda t: cubic(t) * intensity(t), *window)[0] for window in GAP)
    wanted = np.log(cubic(events.t) * intensity(events.t)).sum() - integral
    assert events.log_prob(intensity) == pytest.approx(wanted, abs=1e-10)
    assert events.log_prob(intensity, count=1) == pytest.approx(wanted, abs=0.05)
    assert events.log_prob(intensity, count=1) != pytest.approx(wanted, abs=1e-9)


def box(seed, exposure=None):
    rng = np.random.default_rng(seed)
    t, r = rng.uniform(0, 6, 50), rng.uniform(0, 1, (50, 2)) * [4.0, 3.0] + [1.0, 0.0]
    return ssep.Events(t, [(0, 6)], r=r, region=[(1, 5), (0, 3)], exposure=exposure), t, r


def test_events_with_places_are_a_histogram_in_time_and_space():
    events, t, r = box(5)
    data = events.binned(count=6, cells=(4, 3))
    wanted = np.histogramdd(np.column_stack([t, r]), [np.arange(7), np.arange(1, 6), np.arange(4)])[0]
    np.testing.assert_array_equal(data.y, wanted.reshape(6, 12))
    assert data.r is not None
    np.testing.assert_allclose(
        data.r, np.stack(np.meshgrid([1.5, 2.5, 3.5, 4.5], [0.5, 1.5, 2.5], indexing="ij"), -1).reshape(12, 2)
    )
    np.testing.assert_allclose(data.aux, 1.0)
    np.testing.assert_allclose(events.binned(count=3, cells=2).aux, 2 * 2 * 1.5)
    assert events.mean_intensity == pytest.approx(50 / (6 * 4 * 3))
    assert events.binned().y.shape == (200, 64)
    on_line = ssep.Events(t, [(0, 6)], r=r[:, 0], region=(1, 5)).binned(count=6, cells=4)
    np.testing.assert_array_equal(on_line.y, wanted.sum(2))


def test_exposures_in_space_are_integrals():
    events, _, _ = box(5, exposure=lambda t, r: (1 + t) * r[:, 0] * (1 + r[:, 1] ** 2))
    data = events.binned(count=2, cells=(2, 1))
    in_time, across, along = np.array([3 + 4.5, 3 + 13.5]), np.array([4.0, 8.0]), 3 + 9.0
    np.testing.assert_allclose(data.aux, np.outer(in_time, across * along), rtol=1e-12)


def test_a_field_from_events_finds_where_they_are_dense():
    rng = np.random.default_rng(7)
    r = np.concatenate([rng.uniform(0, 1, 20), rng.uniform(1, 2, 180)])
    events = ssep.Events(rng.uniform(0, 5, 200), [(0, 5)], r=r, region=(0, 2))
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 5.0), Matern52(1.0, 1.0), mean=np.log(events.mean_intensity))
    solution = ssep.infer(prior, POISSON, ssep.CVI(), events.binned(count=5, cells=6))
    found = ssep.intensity(solution, [1.0, 4.0], r_new=[0.3, 1.7])
    assert found.mean.shape == (2, 2)
    assert found.quantile([0.1, 0.5, 0.9]).shape == (3, 2, 2)
    # Per unit of time and of length: 4 and 36.
    np.testing.assert_array_less(found.quantile(0.001), np.broadcast_to([4.0, 36.0], (2, 2)))
    np.testing.assert_array_less(np.broadcast_to([4.0, 36.0], (2, 2)), found.quantile(0.999))


def test_single_precision_in_calendar_years():
    """In a process of its own, where JAX has no double precision; the windows end inside bins."""
    code = """
import jax, numpy as np, ssep
events = ssep.Events(ssep.datasets.coal_dates(), [(1851, 1963)])
data = events.binned(width=0.9)
assert data.t.dtype == data.aux.dtype == np.float32
prior = ssep.SDEPrior(ssep.kernels.Matern32(0.5, 20.0), mean=np.log(events.mean_intensity))
solution = ssep.infer(prior, ssep.likelihoods.Poisson(), ssep.PowerEP(1.0), data)
print(*ssep.intensity(solution, [1860.0, 1950.0]).mean)
(new,) = ssep.simulate_events(jax.random.key(0), solution, events, resolution=1.0)
assert 120 < len(new.t) < 260
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    early, late = (float(value) for value in run.stdout.split())
    dates = ssep.datasets.coal_dates()
    events = ssep.Events(dates, [(1851, 1963)])
    prior = ssep.SDEPrior(Matern32(0.5, 20.0), mean=np.log(events.mean_intensity))
    wanted = ssep.intensity(ssep.infer(prior, POISSON, RULE, events.binned(width=0.9)), [1860.0, 1950.0]).mean
    np.testing.assert_allclose([early, late], wanted, rtol=2e-3)


EVENTS = ssep.Events([1.0, 2.0, 7.0], GAP)
PLACES = {"r": np.zeros((1, 2)), "region": [(0, 1), (0, 1)]}
CASES = {
    "no windows": (lambda: ssep.Events([]), r"`Events\(windows\)` must be given unless .* got 0 events"),
    "one time": (lambda: ssep.Events([2.0, 2.0]), r"`Events\(windows\)` must be given .* all events at 2.0"),
    "rank": (lambda: ssep.Events([[1.0]], GAP), r"`Events\(t\)` must have shape \(N,\); got shape \(1, 1\)"),
    "NaN": (lambda: ssep.Events([1.0, np.nan], GAP), r"`Events\(t\)` must be finite; got nan at position 1"),
    "dates": (
        lambda: ssep.Events(np.array(["2020-01-01"], "M8[D]"), GAP),
        r"`Events\(t\)` must be real numbers; got datetime64\[D\]. Convert dates",
    ),
    "traced": (lambda: jax.jit(lambda t: ssep.Events(t, GAP).windows)(np.ones(2)), r"`Events\(t\)` must be known"),
    "in a gap": (lambda: ssep.Events([1.0, 5.0], GAP), r"`Events\(t\)` must lie in a window; got 5.0 at position 1"),
    "before": (lambda: ssep.Events([-1.0], GAP), r"`Events\(t\)` must lie in a window; got -1.0"),
    "after": (lambda: ssep.Events([10.5], GAP), r"`Events\(t\)` must lie in a window; got 10.5"),
    "window shape": (lambda: ssep.Events([1.0], (0.0, 4.0)), r"`Events\(windows\)` must be a sequence of \(start"),
    "ragged windows": (lambda: ssep.Events([1.0], [(0, 4), (5,)]), r"`Events\(windows\)` must be a sequence of"),
    "infinite window": (lambda: ssep.Events([1.0], [(0, np.inf)]), r"must be finite; got \(0.0, inf\) at position 0"),
    "window of no length": (
        lambda: ssep.Events([1.0], [(0, 1), (2, 2)]),
        r"`Events\(windows\)` must have positive length; got \(2.0, 2.0\) at position 1",
    ),
    "windows overlap": (lambda: ssep.Events([1.0], [(0, 2), (1, 3)]), r"overlap; got \(1.0, 3.0\) at position 1"),
    "windows unsorted": (lambda: ssep.Events([1.0], [(4, 5), (0, 2)]), r"must follow one another without overlap"),
    "region missing": (
        lambda: ssep.Events([1.0], GAP, r=[0.5]),
        r"`Events\(r, region\)` go together; got places without a region",
    ),
    "places missing": (lambda: ssep.Events([1.0], GAP, region=(0, 1)), r"got a region without places"),
    "region shape": (lambda: ssep.Events([1.0], GAP, r=[0.5], region=(1, 0)), r"`Events\(region\)` must be a sequence"),
    "region is no box": (lambda: ssep.Events([1.0], GAP, r=[0.5], region="all"), r"`Events\(region\)` must be a seq"),
    "outside the region": (
        lambda: ssep.Events([1.0, 2.0], GAP, r=[0.5, 1.5], region=(0, 1)),
        r"`Events\(r\)` must lie in the region; got 1.5 at position \(1, 0\)",
    ),
    "places shape": (
        lambda: ssep.Events([1.0], GAP, r=np.zeros((1, 3)), region=[(0, 1), (0, 1)]),
        r"`Events\(r\)` must have shape \(1, 2\), .* got shape \(1, 3\)",
    ),
    "NaN place": (lambda: ssep.Events([1.0], GAP, r=[np.nan], region=(0, 1)), r"`Events\(r\)` must be finite"),
    "exposure is a number": (lambda: ssep.Events([1.0], GAP, exposure=2.0), r"`Events\(exposure\)` must be a function"),
    "exposure shape": (
        lambda: ssep.Events([1.0, 2.0], GAP, exposure=lambda t: 1.0),
        r"`Events\(exposure\)` must return finite, non-negative numbers of shape \(2,\); got shape \(\)",
    ),
    "negative exposure": (
        lambda: ssep.Events([1.0, 2.0], GAP, exposure=lambda t: 1.5 - t).binned(),
        r"`Events\(exposure\)` must return .* got values from -0.5 to 0.5",
    ),
    "no exposure at an event": (
        lambda: ssep.Events([1.0, 2.0], GAP, exposure=lambda t: (t < 1.5) * 1.0),
        r"`Events\(exposure\)` must be positive at every event; got zero at the event 2.0 at position 1",
    ),
    "exposure of a moment": (
        lambda: ssep.Events([1.0], GAP, exposure=lambda t: (np.abs(t - 1) < 1e-3) * 1.0).binned(count=10),
        r"`Events\(exposure\)` must not vanish at all nodes of a bin with events",
    ),
    "two choices": (lambda: EVENTS.binned(width=1.0, count=3), r"`Events.binned` takes one of .* got width and count"),
    "wide": (lambda: EVENTS.binned(width=11.0), r"`Events.binned\(width\)` must be positive and at most .* 10.0"),
    "no width": (lambda: EVENTS.binned(width=0.0), r"`Events.binned\(width\)` must be positive"),
    "no count": (lambda: EVENTS.binned(count=0), r"`Events.binned\(count\)` must be a positive integer; got 0"),
    "edges unsorted": (lambda: EVENTS.binned(edges=[0, 12, 3]), r"`Events.binned\(edges\)` must be two or more inc"),
    "edges too short": (
        lambda: EVENTS.binned(edges=[0, 3, 9]),
        r"`Events.binned\(edges\)` must cover all windows, 0.0 to 10.0; got 0.0 to 9.0",
    ),
    "edges too late": (lambda: EVENTS.binned(edges=[1, 3, 10]), r"must cover all windows, .* got 1.0 to 10.0"),
    "cells without places": (lambda: EVENTS.binned(cells=3), r"`Events.binned\(cells\)` is for events with places"),
    "cells": (
        lambda: ssep.Events([1.0], GAP, **PLACES).binned(cells=(2, 2, 2)),
        r"`Events.binned\(cells\)` must be a positive integer, or 2 of them",
    ),
    "log_prob in space": (
        lambda: ssep.Events([1.0], GAP, **PLACES).log_prob(np.ones_like),
        r"`Events.log_prob` is for events in time alone",
    ),
    "log_prob of nothing": (
        lambda: EVENTS.log_prob(np.zeros_like, count=1),
        r"`Events.log_prob\(intensity\)` must return finite, positive numbers of shape \(13,\); got values from 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_errors_say_what_to_do(name):
    call, message = CASES[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        call()
