"""Intensities have the distribution of the link of a Gaussian, and simulated events that of their intensity."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import ssep
from ssep.events.log_linear import LogLinear
from ssep.kernels import Matern12, Matern32, Matern52

POISSON = ssep.likelihoods.Poisson()
SOFTPLUS = ssep.likelihoods.Poisson(ssep.links.softplus)
GAP = np.array([(0.0, 4.0), (6.0, 10.0)])
EVENTS = ssep.Events(np.linspace(0.1, 3.9, 30), GAP)
PRIOR = ssep.SDEPrior(Matern52(0.5, 3.0), mean=1.0)
T_NEW = np.array([12.0, 2.0, 5.0])
seeds = st.integers(0, 2**32 - 1)


def solve(lik, data=None):
    data = EVENTS.binned(count=20) if data is None else data
    return ssep.infer(PRIOR, lik, ssep.CVI(), data)


@pytest.fixture(scope="module")
def solution():
    return solve(POISSON)


def test_intensity_of_the_exponential_link_is_log_normal(solution):
    found, latents = ssep.intensity(solution, T_NEW), ssep.predict(solution, T_NEW)
    sd = np.sqrt(np.asarray(latents.f_var[:, 0]))
    exact = stats.lognorm(sd, scale=np.exp(np.asarray(latents.f_mean[:, 0])))
    np.testing.assert_allclose(found.mean, exact.mean(), rtol=1e-12)
    np.testing.assert_allclose(found.quantile([[0.05], [0.5]])[:, 0], [exact.ppf(0.05), exact.ppf(0.5)], rtol=1e-10)
    assert found.quantile(0.3).shape == found.mean.shape == (3,)
    # The expected count of a small bin there is exposure times intensity.
    np.testing.assert_allclose(
        ssep.predict(solution, T_NEW, aux=np.full(3, 0.1)).y_mean, 0.1 * np.asarray(found.mean), rtol=1e-12
    )


def test_intensity_of_another_link_is_integrated():
    found = ssep.intensity(solve(SOFTPLUS), T_NEW)
    for k in range(3):
        normal = stats.norm(float(found.f_mean[k]), float(np.sqrt(found.f_var[k])))
        wanted = integrate.quad(lambda f, p=normal: np.logaddexp(0, f) * p.pdf(f), *normal.interval(1 - 1e-14))[0]
        assert float(found.mean[k]) == pytest.approx(wanted, rel=1e-8)
        assert float(found.quantile(0.9)[k]) == pytest.approx(np.logaddexp(0, normal.ppf(0.9)), rel=1e-10)


def test_overdispersed_counts_have_the_intensity_of_their_mean_and_no_events():
    solution = solve(ssep.likelihoods.NegativeBinomial(5.0))
    found = ssep.intensity(solution, T_NEW)
    np.testing.assert_allclose(ssep.predict(solution, T_NEW, aux=np.ones(3)).y_mean, found.mean, rtol=1e-6)
    with pytest.raises(ValueError, match=r"`simulate_events\(source\)` needs a `Poisson` .* got `NegativeBinomial`"):
        ssep.simulate_events(jax.random.key(0), solution, GAP)


def steep(rng, cells=()):
    """A grid in two windows, with values that jump about, some of them equal and some very small."""
    times = np.array([0.0, 0.5, 2.0, 2.1, 5.0, 6.0])
    values = rng.normal(0, 2, (6, *cells))
    values[1], values[4] = values[0], -40.0
    left = np.array([0, 1, 3, 4])
    return LogLinear(times[left], times[left + 1], values[left], values[left + 1])


def log_value(path, segment, share):
    return path.log_left[segment] + share * (path.log_right[segment] - path.log_left[segment])


@given(seeds)
def test_nothing_exceeds_the_bound_and_the_integral_is_exact(seed):
    rng = np.random.default_rng(seed)
    path = steep(rng)
    for segment in range(4):
        share = np.append(rng.random(50), [0.0, 1.0])
        assert np.exp(log_value(path, segment, share)).max() == pytest.approx(path.bound[segment], rel=1e-14)
        length = path.end[segment] - path.start[segment]
        wanted = integrate.quad(lambda s, k=segment: np.exp(log_value(path, k, s)), 0, 1)[0] * length
        assert path.integral[segment] == pytest.approx(wanted, rel=1e-7)


def test_thinned_events_have_the_rate_and_the_times_of_the_intensity():
    rng = np.random.default_rng(0)
    path = steep(rng)
    drawn = [path.draw(rng, scale=3.0) for _ in range(400)]
    counts = np.array([np.bincount(segment, minlength=4) for _, (segment,) in drawn])
    total = 400 * 3.0 * path.integral
    np.testing.assert_array_less(np.abs(counts.sum(0) - total), 4 * np.sqrt(total) + 1e-9)
    # Neither more nor less regular than a Poisson process.
    assert counts.sum(1).var() == pytest.approx(3 * path.integral.sum(), rel=5 * np.sqrt(2 / 400))
    # In units of the expected number, times are uniform.
    t, segment = np.concatenate([t for t, _ in drawn]), np.concatenate([index[0] for _, index in drawn])
    share = (t - path.start[segment]) / (path.end - path.start)[segment]
    slope = (path.log_right - path.log_left)[segment]
    flat = np.abs(slope) < 1e-12
    within = np.where(flat, share, np.expm1(slope * share) / np.expm1(np.where(flat, 1, slope)))
    before = np.cumsum(path.integral) - path.integral
    rescaled = (before[segment] + within * path.integral[segment]) / path.integral.sum()
    assert len(t) > 2000
    assert stats.kstest(rescaled, "uniform").pvalue > 0.01


def test_cells_are_thinned_each_by_its_own_intensity():
    rng = np.random.default_rng(1)
    path = steep(rng, (3,))
    counts = np.zeros((4, 3))
    for _ in range(300):
        _, index = path.draw(rng)
        np.add.at(counts, index, 1)
    expected = 300 * path.integral
    np.testing.assert_array_less(np.abs(counts - expected), 4 * np.sqrt(expected) + 1)


def known(t):
    return 1.0 + np.sin(np.asarray(t))


NEARLY_KNOWN = ssep.SDEPrior(Matern52(1e-12, 3.0), mean=lambda t: 1.0 + jax.numpy.sin(t))


@pytest.mark.parametrize(("lik", "link"), [(POISSON, np.exp), (SOFTPLUS, lambda f: np.logaddexp(0, f))])
def test_simulated_events_follow_a_known_intensity_with_windows_and_exposure(lik, link):
    scope = ssep.Events([], GAP, exposure=lambda t: 0.2 + t)
    new = ssep.simulate_events(jax.random.key(1), NEARLY_KNOWN, scope, 200, lik=lik, resolution=0.02)
    assert len(new) == 200
    assert all(isinstance(one, ssep.Events) and one.exposure is scope.exposure for one in new)
    fine = np.concatenate([np.linspace(*window, 4001) for window in GAP])
    rate = link(known(fine)) * (0.2 + fine)
    inside = np.append(np.diff(fine), 0) * (np.arange(len(fine)) != 4000)
    expected = np.cumsum(rate * inside)
    counts = np.array([len(one.t) for one in new])
    assert abs(counts.mean() - expected[-1]) < 4 * np.sqrt(expected[-1] / 200)
    assert counts.var() == pytest.approx(expected[-1], rel=5 * np.sqrt(2 / 200))
    t = np.concatenate([one.t for one in new])
    assert not ((t > 4) & (t < 6)).any()
    assert stats.kstest(np.interp(t, fine, expected / expected[-1]), "uniform").pvalue > 0.01


def test_posterior_events_have_the_expected_number(solution):
    new = ssep.simulate_events(jax.random.key(2), solution, EVENTS, 400, resolution=0.1)
    fine = np.concatenate([np.linspace(*window, 41) for window in GAP])
    mean = np.asarray(ssep.intensity(solution, fine).mean)
    expected = sum(integrate.trapezoid(part, dx=0.1) for part in np.split(mean, 2))
    counts = np.array([len(one.t) for one in new])
    assert abs(counts.mean() - expected) < 4 * counts.std() / np.sqrt(400)
    # Paths differ, and with them numbers: more than those of one Poisson process.
    assert counts.var() > 1.2 * counts.mean()


def test_a_key_says_everything(solution):
    def times(key, **extra):
        return [one.t for one in ssep.simulate_events(key, solution, GAP, 3, resolution=0.1, **extra)]

    first, again, other = times(jax.random.key(0)), times(jax.random.key(0)), times(jax.random.key(1))
    for one, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, same)
    pooled = np.concatenate(first + other)
    assert len(np.unique(pooled)) == len(pooled)


def test_the_resolution_of_the_default_is_that_of_the_data(solution):
    by_default, given_ = (
        ssep.simulate_events(jax.random.key(0), solution, GAP, resolution=value)[0].t for value in (None, 0.008)
    )
    np.testing.assert_array_equal(by_default, given_)


def test_simulated_fields_have_the_intensity_of_their_cells():
    """A field that is known: three times as dense in the upper half, with an exposure that grows along the line."""
    prior = ssep.SpatioTemporalPrior(
        Matern12(1e-12, 3.0),
        Matern32(1.0, 1.0),
        mean=lambda t, r: jax.numpy.where(r[..., 0] > 1, np.log(6.0), np.log(2.0)),
    )
    scope = ssep.Events([], GAP, r=np.empty((0, 1)), region=(0, 2), exposure=lambda t, r: 0.5 + r[:, 0])
    new = ssep.simulate_events(jax.random.key(3), prior, scope, 100, lik=POISSON, resolution=1.0, cells=4)
    r = np.concatenate([one.r for one in new])[:, 0]
    counts = np.histogram(r, [0, 0.5, 1, 1.5, 2])[0]
    expected = 100 * 8 * np.array([2, 2, 6, 6]) * 0.5 * np.array([0.75, 1.25, 1.75, 2.25])
    np.testing.assert_array_less(np.abs(counts - expected), 4 * np.sqrt(expected))
    # The exposure is taken where an event is, not at the centre of its cell.
    first = r[r < 0.5]
    assert stats.kstest(first, lambda x: (0.5 * x + x**2 / 2) / 0.375).pvalue > 0.01
    t = np.concatenate([one.t for one in new])
    assert stats.kstest(np.where(t > 5, t - 2, t) / 8, "uniform").pvalue > 0.01


KEY = jax.random.key(0)
CASES = {
    "not counts": (
        lambda: ssep.intensity(
            ssep.infer(PRIOR, ssep.likelihoods.Gaussian(1.0), ssep.CVI(), ssep.Data(T_NEW[:1], [1.0])), [1.0]
        ),
        r"`intensity\(solution\)` needs a likelihood with a rate, `Poisson` or `NegativeBinomial`; got `Gaussian`",
    ),
    "level": (
        lambda: ssep.intensity(solve(POISSON), T_NEW).quantile(1.0),
        r"`Intensity.quantile\(q\)` must lie between",
    ),
    "a prior alone": (
        lambda: ssep.simulate_events(KEY, PRIOR, GAP),
        r"`simulate_events\(lik\)` needs a `Poisson` .* got `NoneType`",
    ),
    "two likelihoods": (
        lambda: ssep.simulate_events(KEY, solve(POISSON), GAP, lik=POISSON),
        r"`simulate_events\(lik\)` is for a prior",
    ),
    "resolution": (
        lambda: ssep.simulate_events(KEY, PRIOR, GAP, lik=POISSON, resolution=0),
        r"`simulate_events\(resolution\)` must be pos",
    ),
    "windows": (
        lambda: ssep.simulate_events(KEY, PRIOR, [(1, 0)], lik=POISSON),
        r"`Events\(windows\)` must have positive",
    ),
    "no samples": (
        lambda: ssep.simulate_events(KEY, PRIOR, GAP, 0, lik=POISSON),
        r"`sample\(num_samples\)` must be a positive",
    ),
    "cells in time": (
        lambda: ssep.simulate_events(KEY, PRIOR, GAP, lik=POISSON, cells=3),
        r"`simulate_events\(cells\)` is for",
    ),
    "field without a region": (
        lambda: ssep.simulate_events(
            KEY,
            ssep.infer(
                ssep.SpatioTemporalPrior(Matern12(1.0, 1.0), Matern12(1.0, 1.0)),
                POISSON,
                ssep.CVI(),
                ssep.Events([1.0], GAP, r=[0.5], region=(0, 1)).binned(count=2, cells=2),
            ),
            GAP,
        ),
        r"`simulate_events\(where\)` must have a region, because the data have places",
    ),
    "too many": (
        lambda: ssep.simulate_events(
            KEY, ssep.SDEPrior(Matern12(1e-6, 1.0), mean=30.0), GAP, lik=POISSON, resolution=1.0
        ),
        r"`simulate_events` draws at most 1e\+07 events a sample; got .*e\+1",
    ),
    "exposure with a peak": (
        lambda: ssep.simulate_events(
            KEY,
            NEARLY_KNOWN,
            ssep.Events([], GAP, exposure=lambda t: 1 + 20.0 * ((t % 1 > 0.3) & (t % 1 < 0.7))),
            lik=POISSON,
            resolution=1.0,
        ),
        r"`simulate_events\(resolution\)` must resolve the exposure, which is at most 2 .* got an exposure of 21",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_say_what_to_do(name):
    call, message = CASES[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        call()
