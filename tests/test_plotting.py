"""Figures show what the library computes: artists' data against the API, NumPy and SciPy."""

import datetime
import itertools
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest
from scipy import stats

matplotlib.use("agg")
from matplotlib import dates as mdates
from matplotlib import pyplot as plt

import ssep
from ssep import plotting
from ssep.kernels import Matern12, Matern32, Matern52
from ssep.likelihoods import Gaussian, HeteroscedasticGaussian, Outputs, Poisson
from ssep.plotting.calibration import binomial_quantiles
from ssep.plotting.columns import pick
from ssep.plotting.extras import _constant
from ssep.plotting.horizon import grid_over
from ssep.plotting.marks import mark_beyond

T = np.linspace(0, 9, 20)
T_NEW = np.array([4.0, -1.0, 11.5, 2.5, 7.75])
EXPOSURE = np.where(T < 4, 1.0, 2.0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fit():
    """Counts with a gap, a sum of kernels and a learned mean."""
    y = np.random.default_rng(0).poisson(np.exp(1 + np.sin(T))).astype(float)
    y[8:11] = np.nan
    prior = ssep.SDEPrior(Matern52(1.0, 3.0) + Matern12(0.2, 1.0), mean=1.0)
    return ssep.fit(prior, Poisson(), ssep.PowerEP(0.5), ssep.Data(T, y), num_steps=3)


@pytest.fixture(scope="module")
def smooth():
    """Gaussian readings, two per time."""
    rng = np.random.default_rng(1)
    y = np.sin(T)[:, None] + 0.3 * rng.normal(size=(20, 2))
    y[3], y[5, 1] = np.nan, np.nan
    return ssep.infer(ssep.SDEPrior(Matern32(1.0, 2.0)), Gaussian(0.1), ssep.CVI(), ssep.Data(T, y))


@pytest.fixture(scope="module")
def noisy():
    """Two latents."""
    y = np.sin(T) + np.where(T < 5, 0.1, 0.5) * np.random.default_rng(2).normal(size=20)
    y[3] = np.nan
    prior = ssep.SDEPrior((Matern32(1.0, 2.0), Matern32(1.0, 3.0)))
    return ssep.infer(prior, HeteroscedasticGaussian(), ssep.CVI(), ssep.Data(T, y))


@pytest.fixture(scope="module")
def large():
    """Counts so large that inference does not begin with the sites of the forward pass."""
    data = ssep.Data(T[:6], [500.0, 520.0, 480.0, 510.0, 495.0, 505.0])
    return ssep.infer(ssep.SDEPrior(Matern32(1.0, 2.0)), Poisson(), ssep.CVI(), data)


@pytest.fixture(scope="module")
def mixed():
    """A number and a count per time, told apart by their extras."""
    rng = np.random.default_rng(3)
    y = np.stack([np.sin(T) + 0.2 * rng.normal(size=20), rng.poisson(np.exp(np.cos(T)))], 1)
    y[4:6, 0] = np.nan
    lik = Outputs((Gaussian(0.05), Poisson()), [[1.0], [-0.5]])
    return ssep.infer(ssep.SDEPrior(Matern52(1.0, 2.0)), lik, ssep.CVI(), ssep.Data(T, y, aux=lik.columns(y)))


@pytest.fixture(scope="module")
def line():
    """A field on a line."""
    r = np.array([0.0, 1.0, 2.5])
    y = np.sin(T[:, None] + r) + 0.1 * np.random.default_rng(4).normal(size=(20, 3))
    y[2:5, 1] = np.nan
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), Matern32(1.0, 2.0))
    return ssep.infer(prior, Gaussian(0.02), ssep.CVI(), ssep.Data(T, y, r=r))


@pytest.fixture(scope="module")
def plane():
    """A field on the plane, at places that change."""
    rng = np.random.default_rng(5)
    r = rng.uniform(0, 4, (6, 3, 2))
    y = r.sum(-1) + rng.normal(size=(6, 3))
    y[2, 1] = np.nan
    inducing = np.stack(np.meshgrid([0.0, 2.0, 4.0], [0.0, 2.0, 4.0]), -1).reshape(-1, 2)
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), Matern52(1.0, 2.0), inducing, mean=4.0)
    return ssep.infer(prior, Gaussian(0.5), ssep.CVI(), ssep.Data(np.arange(6.0), y, r=r))


def bands(ax, x):
    """Lower and upper edges of each band at x, from the vertices of its polygon."""
    found = []
    for polygon in ax.collections:
        vertices = np.concatenate([path.vertices for path in polygon.get_paths()])
        edges = [vertices[vertices[:, 0] == value, 1] for value in x]
        found.append([[edge.min() for edge in edges], [edge.max() for edge in edges]])
    return np.array(found)


def line_named(ax, label):
    (found,) = [each for each in ax.get_lines() if each.get_label() == label]
    return found


def dots(ax, label):
    return np.stack(line_named(ax, label).get_data(), -1)


def test_predictive_bands_lie_between_the_quantiles_whatever_the_order_of_times(smooth):
    ax = plotting.predictive(smooth, T_NEW, coverage=(0.5, 0.9))
    order = np.argsort(T_NEW)
    wanted = np.asarray(ssep.predict(smooth, T_NEW).quantile([[0.05, 0.95], [0.25, 0.75]]))[..., order]
    np.testing.assert_allclose(bands(ax, T_NEW[order]), wanted, atol=1e-12)
    median = dots(ax, "median")
    np.testing.assert_allclose(median[:, 0], T_NEW[order])
    np.testing.assert_allclose(median[:, 1], ssep.predict(smooth, T_NEW).quantile(0.5)[order], atol=1e-12)
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["90 % interval", "50 % interval"]


def test_all_columns_that_are_predicted_alike_are_in_one_panel(smooth):
    ax = plotting.predictive(smooth, T_NEW)
    mask = np.asarray(smooth.data.mask)
    shown = dots(ax, "data")
    np.testing.assert_array_equal(shown[:, 0], np.repeat(T, 2)[mask.ravel()])
    np.testing.assert_array_equal(shown[:, 1], np.asarray(smooth.data.y)[mask])
    np.testing.assert_array_equal(dots(ax, "missing")[:, 0], T[[3]])  # one of two is there at the fifth
    crowd = ssep.infer(smooth.prior, Gaussian(0.1), ssep.CVI(), ssep.Data(T, np.zeros((20, 13))))
    assert len(dots(plotting.predictive(crowd, T_NEW, coverage=()), "data")) == 260
    one = plotting.predictive(smooth, T_NEW, columns=[1], coverage=())
    assert not one.collections
    np.testing.assert_array_equal(dots(one, "data")[:, 1], np.asarray(smooth.data.y)[mask[:, 1], 1])
    np.testing.assert_array_equal(dots(one, "missing")[:, 0], T[[3, 5]])


def test_counts_have_bands_with_steps_and_their_mean(fit):
    t_new = np.sort(T_NEW)
    ax = plotting.predictive(fit, t_new, coverage=0.8)
    prediction = ssep.predict(fit, t_new)
    low, high = np.asarray(prediction.quantile([[0.1, 0.9]]))[0]
    (path,) = ax.collections[0].get_paths()
    for t, bottom, top in zip(t_new[1:-1], low[1:-1], high[1:-1], strict=True):
        inside = [path.contains_point((t + side, y)) for side in (-0.1, 0.1) for y in (bottom + 0.01, top - 0.01)]
        assert all(inside)
        assert not any(path.contains_point((t, y)) for y in (bottom - 0.01, top + 0.01))
    np.testing.assert_allclose(dots(ax, "mean")[:, 1], prediction.y_mean, atol=1e-12)
    np.testing.assert_array_equal(dots(ax, "missing")[:, 0], T[8:11])
    assert all(tick == round(tick) for tick in ax.get_yticks())


def test_own_times_are_a_grid_with_those_of_the_data_unless_they_are_thousands(smooth):
    t = dots(plotting.latents(smooth), "mean")[:, 0]
    assert (t[0], t[-1]) == (T[0], T[-1])
    assert np.diff(t).max() < 0.03
    few, many = np.array([0.0, 0.12345, 9.0]), np.linspace(0, 1, 2001) ** 2
    assert np.isin(few, grid_over(few)).all()
    assert len(grid_over(many)) < 1000


def test_extras_that_change_are_used_where_they_are_known():
    y = np.where(np.arange(20) == 7, np.nan, 2.0)
    data = ssep.Data(T, y, aux=EXPOSURE)
    solution = ssep.infer(ssep.SDEPrior(Matern32(1.0, 2.0)), Poisson(), ssep.CVI(), data)
    shown = dots(plotting.predictive(solution, coverage=0.5), "mean")
    wanted = np.where(np.isnan(y), np.nan, ssep.predict(solution, T, aux=EXPOSURE).y_mean)
    np.testing.assert_array_equal(shown[:, 0], T)
    np.testing.assert_allclose(shown[:, 1], wanted, atol=1e-12)
    constant = _constant(np.array([3.0, 1.0, np.nan, 1.0 + 1e-12]), np.array([False, True, False, True]))
    assert constant == pytest.approx(1.0)  # up to rounding, and whatever stands where nothing was observed
    with pytest.raises(ValueError, match=r"`plotting.predictive\(aux\)` must be given with new times"):
        plotting.predictive(solution, T_NEW)
    given = dots(plotting.predictive(solution, T, aux=np.full(20, 3.0), coverage=0.5), "mean")
    np.testing.assert_allclose(given[:, 1], ssep.predict(solution, T, aux=np.full(20, 3.0)).y_mean, atol=1e-12)


def test_columns_with_extras_of_their_own_have_panels_of_their_own(mixed):
    axes = plotting.predictive(mixed, np.sort(T_NEW), coverage=0.6)
    for column, (ax, label) in enumerate(zip(axes, ["median", "mean"], strict=True)):
        prediction = ssep.predict(mixed, np.sort(T_NEW), aux=np.full(5, float(column)))
        wanted = prediction.y_mean if column else prediction.quantile(0.5)
        np.testing.assert_allclose(dots(ax, label)[:, 1], wanted, atol=1e-12)
        seen = np.asarray(mixed.data.mask)[:, column]
        np.testing.assert_array_equal(dots(ax, "data")[:, 1], np.asarray(mixed.data.y)[seen, column])
        assert ax.get_title(loc="left") == f"column {column}"
    alone = plotting.predictive(mixed, T_NEW, aux=np.zeros(5))  # one prediction for both columns
    assert len(dots(alone, "data")) == int(mixed.data.mask.sum())


def test_places_have_panels_and_new_places_no_data(line):
    t_new = np.sort(T_NEW)
    axes = plotting.predictive(line, t_new, columns=[2, 1], coverage=0.9)
    wanted = np.asarray(ssep.predict(line, t_new).quantile([0.05, 0.95]))
    for ax, place in zip(axes, [2, 1], strict=True):
        np.testing.assert_allclose(bands(ax, t_new)[0], wanted[:, :, place], atol=1e-12)
        assert len(dots(ax, "data")) == (20 if place == 2 else 17)
    assert [ax.get_title(loc="left") for ax in axes] == ["place 2: 2.5", "place 1: 1"]
    there = plotting.predictive(line, t_new, r_new=[0.5], held_out=ssep.Data(T[:2], [[0.1], [0.3]], r=[0.5]))
    wanted = ssep.predict(line, t_new, r_new=[0.5]).quantile(0.5)[:, 0]
    np.testing.assert_allclose(dots(there, "median")[:, 1], wanted, atol=1e-12)
    np.testing.assert_array_equal(dots(there, "held out"), [[T[0], 0.1], [T[1], 0.3]])
    assert "data" not in [each.get_label() for each in there.get_lines()]


def test_constant_extras_are_carried_to_new_times_but_not_to_new_places():
    data = ssep.Data(T, np.full((20, 2), 3.0), r=[0.0, 1.0], aux=np.tile([2.0, 5.0], (20, 1)))
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), Matern32(1.0, 2.0))
    solution = ssep.infer(prior, Poisson(), ssep.CVI(), data)
    axes = plotting.predictive(solution, T_NEW, coverage=())
    wanted = ssep.predict(solution, np.sort(T_NEW), aux=np.tile([2.0, 5.0], (5, 1))).y_mean
    np.testing.assert_allclose(np.stack([dots(ax, "mean")[:, 1] for ax in axes], 1), wanted, atol=1e-12)
    with pytest.raises(ValueError, match=r"`predict\(aux\)` must be given to predict observations"):
        plotting.predictive(solution, T_NEW, r_new=[0.5, 3.0])


def test_latents_have_normal_bands_and_a_panel_each(noisy):
    axes = plotting.latents(noisy, np.sort(T_NEW), coverage=0.8)
    prediction = ssep.predict(noisy, np.sort(T_NEW))
    for latent, ax in enumerate(axes):
        mean, deviation = prediction.f_mean[:, latent], np.sqrt(prediction.f_var[:, latent])
        low, high = mean - stats.norm.ppf(0.9) * deviation, mean + stats.norm.ppf(0.9) * deviation
        np.testing.assert_allclose(bands(ax, np.sort(T_NEW))[0], [low, high], atol=1e-9)
        np.testing.assert_allclose(dots(ax, "mean")[:, 1], mean, atol=1e-12)
        assert ax.get_ylabel() == f"f[{latent}]"


def test_latents_of_a_field_have_a_curve_for_each_place(line):
    ax = plotting.latents(line, np.sort(T_NEW), columns=[0, 2], coverage=0.8)
    prediction = ssep.predict(line, np.sort(T_NEW))
    for place in (0, 2):
        np.testing.assert_allclose(dots(ax, f"place {place}")[:, 1], prediction.f_mean[:, place, 0], atol=1e-12)


def test_components_are_those_of_the_sum(fit):
    axes = plotting.components(fit, np.sort(T_NEW), coverage=0.8)
    found = ssep.components(fit, np.sort(T_NEW))
    for ax, term, name in zip(axes, found.terms, ["Matern52", "Matern12"], strict=True):
        reach = stats.norm.ppf(0.9) * np.sqrt(term.var)
        np.testing.assert_allclose(bands(ax, np.sort(T_NEW))[0], [term.mean - reach, term.mean + reach], atol=1e-9)
        assert ax.get_title(loc="left") == name


def test_components_of_a_field_name_both_kernels(line):
    ax = plotting.components(line, T_NEW)
    assert ax.get_title(loc="left") == "Matern32 in time, Matern32 in space"


def test_trace_names_hyperparameters_as_they_are_read(fit):
    axes = plotting.trace(fit)
    np.testing.assert_array_equal(axes[0].get_lines()[0].get_ydata(), fit.energies)
    names = [ax.get_title() for ax in axes[1:]]
    assert set(names) == {
        f"prior.kernels[0].parts[{i}].{field}" for i in (0, 1) for field in ("variance", "lengthscale")
    } | {"prior.means[0]"}
    prior, _ = fit.hyperparameters
    for name, ax in zip(names, axes[1:], strict=True):
        (shown,) = ax.get_lines()
        np.testing.assert_array_equal(shown.get_ydata(), eval(name, {"prior": prior}))


def test_trace_shows_what_was_learned_alone_and_each_number_of_an_array(mixed):
    weights = np.array([[[1.0], [-0.5]], [[1.1], [-0.4]], [[1.2], [-0.2]]])
    models = (mixed.prior, eqx.tree_at(lambda lik: lik.weights, mixed.likelihood, jnp.asarray(weights)))
    _, ax = plotting.trace(ssep.Fit(mixed, jnp.array([3.0, 2.0, 1.5]), models))
    assert ax.get_title() == "likelihood.weights"
    np.testing.assert_array_equal([each.get_ydata() for each in ax.get_lines()], weights[..., 0].T)


def test_sites_of_one_latent_are_readings_with_errors(fit):
    above, below = plotting.sites(fit)
    sites, seen = fit.solution.sites, np.asarray(fit.solution.data.mask)
    precision = np.asarray(sites.precision)[seen, 0, 0]
    (container,) = above.containers
    readings, _, (errors,) = container
    np.testing.assert_allclose(readings.get_xdata(), T[seen])
    np.testing.assert_allclose(readings.get_ydata(), np.asarray(sites.linear)[seen, 0] / precision)
    lengths = [np.ptp(segment[:, 1]) for segment in errors.get_segments()]
    np.testing.assert_allclose(lengths, 2 / np.sqrt(precision))
    weights = below.collections[0].get_segments()
    np.testing.assert_allclose([segment[1] for segment in weights], np.stack([T[seen], precision], -1))
    for ax in (above, below):
        np.testing.assert_array_equal(dots(ax, "missing")[:, 0], T[8:11])


def test_sites_of_two_latents_have_the_others_integrated_out(noisy):
    axes = plotting.sites(noisy)
    seen = np.asarray(noisy.data.mask)
    mean, cov = (np.asarray(part)[seen] for part in (noisy.posterior.mean, noisy.posterior.cov))
    site_linear, site_precision = (np.asarray(part)[seen] for part in (noisy.sites.linear, noisy.sites.precision))
    # Divide the site out of the joint posterior, in natural parameters, and compare the margins of each latent.
    cavity_cov = np.linalg.inv(np.linalg.inv(cov) - site_precision)
    cavity_mean = np.einsum("nij,nj->ni", cavity_cov, np.linalg.solve(cov, mean[..., None])[..., 0] - site_linear)
    for latent in range(2):
        inside, outside = cov[:, latent, latent], cavity_cov[:, latent, latent]
        precision = 1 / inside - 1 / outside
        reading = (mean[:, latent] / inside - cavity_mean[:, latent] / outside) / precision
        positive, negative = axes[2 * latent + 1].collections[:2]
        found = {x: y for part in (positive, negative) for x, y in (segment[1] for segment in part.get_segments())}
        np.testing.assert_allclose([found[t] for t in T[seen]], precision, rtol=1e-6)
        (container,) = axes[2 * latent].containers
        np.testing.assert_allclose(container[0].get_ydata(), reading[precision > 0], rtol=1e-6)


def test_readings_out_of_range_are_marked_at_the_edge(fit):
    above, _ = plotting.sites(fit)
    low, high = above.get_ylim()
    assert high - low < 2.6 * np.ptp([np.asarray(fit.solution.posterior.mean) + side for side in (-3, 3)])
    narrow = plt.figure().subplots()
    narrow.set_ylim(0, 1)
    mark_beyond(narrow, np.arange(4.0), np.array([-0.1, 0.5, 1.2, 7.0]))
    top, bottom = narrow.get_lines()
    assert list(top.get_xdata()) == [2, 3]
    assert list(bottom.get_xdata()) == [0]


def test_sites_of_a_field_need_a_place_unless_places_move(line, plane):
    with pytest.raises(ValueError, match=r"`plotting.sites\(column\)` must name one of 3 places; got None"):
        plotting.sites(line)
    above, _ = plotting.sites(line, column=1)
    assert len(above.containers[0][0].get_xdata()) == 17
    above, _ = plotting.sites(plane)
    shown = dots(above, "posterior")
    mask = np.asarray(plane.data.mask)
    np.testing.assert_allclose(shown[:, 1], np.asarray(plane.posterior.mean)[mask, 0])


@pytest.mark.parametrize("which", ["large", "noisy"])
def test_convergence_runs_the_sweeps_of_inference(which, request):
    solution = request.getfixturevalue(which)
    given = plt.figure().subplot_mosaic("a;b")
    above, below = plotting.convergence(solution, ax=given)
    assert [above, below] == list(given.values())
    assert (below.get_xlabel(), below.get_ylabel()) == ("sweep", "energy")
    kept, back = dots(above, "kept"), [each for each in above.get_lines() if each.get_label() == "taken back"]
    taken_back = len(back[0].get_xdata()) if back else 0
    assert len(kept) + taken_back == int(solution.num_sweeps)
    assert kept[-1, 1] == pytest.approx(float(solution.change), rel=1e-6)
    energies = below.get_lines()[0].get_ydata()
    assert len(energies) == 1 + int(solution.num_sweeps)
    assert energies[-1] == pytest.approx(float(solution.energy), abs=1e-9)
    assert taken_back > 0 or which == "large"


def test_residuals_are_normal_quantiles(fit, smooth):
    values = np.asarray(ssep.pit(jax.random.key(7), fit))
    seen = ~np.isnan(values)
    ax = plotting.residuals(fit, seed=7)
    shown = ax.get_lines()[1]
    np.testing.assert_array_equal(shown.get_xdata(), T[seen])
    np.testing.assert_allclose(shown.get_ydata(), stats.norm.ppf(values[seen]), atol=1e-9)
    held_out = ssep.Data([2.0, 3.0], [[0.1, np.nan], [50.0, 0.2]])
    ax = plotting.residuals(smooth, held_out, columns=[0])
    prediction = ssep.predict(smooth, [2.0])
    wanted = (0.1 - prediction.f_mean[0, 0]) / np.sqrt(prediction.f_var[0, 0] + 0.1)
    # The second is farther out than double precision can say.
    np.testing.assert_allclose(ax.get_lines()[1].get_ydata(), [wanted, stats.norm.isf(2.0**-53)], atol=1e-6)


def test_calibration_counts_transforms_and_knows_the_binomial_distribution(fit):
    values = np.asarray(ssep.pit(jax.random.key(0), fit))
    ax = plotting.calibration(fit, bins=4, coverage=0.9)
    bars = [patch for patch in ax.patches if patch.get_label() != "90 % if the model is right"]
    counts, _ = np.histogram(values[~np.isnan(values)], 4, (0, 1))
    assert [bar.get_height() for bar in bars[:4]] == list(counts)
    (span,) = [patch for patch in ax.patches if patch.get_label() == "90 % if the model is right"]
    wanted = stats.binom.ppf([0.05, 0.95], 17, 1 / 4)
    assert [span.get_y(), span.get_y() + span.get_height()] == list(wanted)
    many = binomial_quantiles(np.array([0.005, 0.5, 0.995]), 200_000, 0.05)
    np.testing.assert_array_equal(many, stats.binom.ppf([0.005, 0.5, 0.995], 200_000, 0.05))


def test_a_field_on_a_line_is_drawn_over_time(line):
    t_new, grid = np.array([1.0, 4.0, 6.0]), np.array([0.0, 0.5, 2.0, 3.0])
    ax = plotting.field(line, t_new=t_new, grid=grid, quantity=lambda p: p.f_var[..., 0], label="variance")
    mesh = ax.collections[0]
    np.testing.assert_allclose(
        mesh.get_array().reshape(4, 3), ssep.predict(line, t_new, r_new=grid[:, None]).f_var[..., 0].T, atol=1e-12
    )
    shown = dots(ax, "observed")
    assert len(shown) == 57
    assert {tuple(point) for point in shown} >= {(T[0], 1.0), (T[19], 2.5)}
    assert (T[3], 1.0) not in {tuple(point) for point in shown}
    assert mesh.colorbar.ax.get_ylabel() == "variance"


def test_a_field_on_the_plane_is_a_map_at_a_time(plane):
    across, up = np.linspace(0, 4, 3), np.linspace(0, 3, 2)
    ax = plotting.field(plane, 2.2, grid=(across, up))
    corner = ssep.predict(plane, [2.2], r_new=[[4.0, 0.0]]).f_mean[0, 0, 0]
    assert ax.collections[0].get_array().reshape(2, 3)[0, 2] == pytest.approx(float(corner))
    np.testing.assert_allclose(dots(ax, "observed"), np.asarray(plane.data.r)[2, [0, 2]])
    np.testing.assert_allclose(dots(ax, "missing"), np.asarray(plane.data.r)[2, [1]])
    assert ax.collections[0].colorbar.ax.get_ylabel() == "posterior mean of f"


def test_dates_are_those_of_the_calendar():
    days = plotting.since("1969-03-01", np.timedelta64(1, "D"))(np.array([0.0, 1.5, -1.0]))
    wanted = [datetime.datetime(1969, 3, 1) + datetime.timedelta(days=day) for day in (0, 1.5, -1)]
    assert days.astype(datetime.datetime).tolist() == wanted
    years = plotting.decimal_years(np.array([1969.5, 1972.5, 2000.0])).astype(datetime.datetime).tolist()
    # Noon of the 183rd day of 365, and midnight after 183 days of 366.
    assert years == [datetime.datetime(1969, 7, 2, 12), datetime.datetime(1972, 7, 2), datetime.datetime(2000, 1, 1)]
    with pytest.raises(ValueError, match=r"`plotting.since\(unit\)` must be a time of fixed length"):
        plotting.since("1969-03-01", np.timedelta64(1, "M"))


def test_every_figure_over_time_can_have_dates(fit, noisy, line):
    times = plotting.since("2001-01-01", np.timedelta64(1, "D"))
    t_new = np.array([0.0, 1.0, 3.0, 4.0, 5.0])
    drawn = [
        plotting.predictive(fit, t_new, times=times),
        plotting.latents(fit, t_new, times=times),
        plotting.components(fit, t_new, times=times)[0],
        plotting.sites(fit, times=times)[0],
        plotting.residuals(fit, times=times),
        plotting.field(line, t_new=t_new, grid=[0.0, 1.0], times=times),
    ]
    for ax in drawn:
        low, high = (mdates.num2date(end).replace(tzinfo=None) for end in ax.get_xlim())
        assert datetime.datetime(2000, 12, 30) < low <= datetime.datetime(2001, 1, 1)
        assert datetime.datetime(2001, 1, 4) <= high < datetime.datetime(2001, 1, 12)
        assert ax.get_xlabel() == ""
        ax.figure.canvas.draw()


def test_dates_do_not_run_into_each_other_and_leave_a_format_alone(fit):
    times = plotting.since("2023-12-30", np.timedelta64(1, "D"))
    ax = plotting.predictive(fit, np.array([0.0, 1.0, 3.0, 5.0]), times=times)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert len(boxes) > 3
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    _, own = plt.subplots()
    own.xaxis.set_major_formatter(mdates.DateFormatter("%d.%m."))
    plotting.predictive(fit, np.array([0.0, 1.0]), times=times, ax=own)
    own.figure.canvas.draw()
    assert "30.12." in [label.get_text() for label in own.get_xticklabels()]


CALLS = {
    "predictive": (lambda fit, ax: plotting.predictive(fit, T_NEW, ax=ax), 1),
    "latents": (lambda fit, ax: plotting.latents(fit, T_NEW, ax=ax), 1),
    "components": (lambda fit, ax: plotting.components(fit, T_NEW, ax=ax), 2),
    "trace": (lambda fit, ax: plotting.trace(fit, ax=ax), 6),
    "sites": (lambda fit, ax: plotting.sites(fit, ax=ax), 2),
    "residuals": (lambda fit, ax: plotting.residuals(fit, ax=ax), 1),
    "calibration": (lambda fit, ax: plotting.calibration(fit, ax=ax), 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_axes_are_labelled_and_those_that_were_given(name, fit):
    call, count = CALLS[name]
    _, given = plt.subplots(count)
    before = plt.get_fignums()
    found = call(fit, given)
    assert plt.get_fignums() == before
    assert found is given if count == 1 else list(found) == list(given)
    last = np.atleast_1d(found)[-1]
    assert last.get_xlabel()
    assert last.get_ylabel() or last.get_title()
    assert name == "trace" or np.atleast_1d(found)[0].get_legend().get_texts()
    with pytest.raises(
        ValueError, match=rf"`plotting.{name}\(ax\)` must have one axes for each of {count} panels; got"
    ):
        call(fit, plt.subplots(count + 1)[1])
    with pytest.raises(ValueError, match=rf"`plotting.{name}\(ax\)` takes axes of matplotlib; got a `Figure`"):
        call(fit, plt.figure())


def test_without_matplotlib_the_error_names_the_extra(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call, _ in CALLS.values():
        with pytest.raises(ImportError, match=r'needs matplotlib: pip install "ssep\[plot\]"'):
            call(fit, None)


ERRORS = {
    "coverage": (
        lambda fit, line: plotting.latents(fit, coverage=1.2),
        r"latents\(coverage\)` must hold probabilities",
    ),
    "times": (
        lambda fit, line: plotting.latents(fit, times=lambda t: t[:2]),
        r"latents\(times\)` must return a date for",
    ),
    "no columns": (
        lambda fit, line: plotting.predictive(fit, columns=[0]),
        r"predictive\(columns\)` needs several obs",
    ),
    "columns": (lambda fit, line: plotting.predictive(line, columns=[3]), r"must name some of 3 columns; got \[3\]"),
    "aux": (lambda fit, line: plotting.predictive(fit, aux=[1.0]), r"predictive\(aux\)` belongs to new times; got no"),
    "held out": (
        lambda fit, line: plotting.predictive(line, T_NEW, held_out=ssep.Data(T, T)),
        r"predictive\(held_out\)` must have a column for every panel",
    ),
    "bins": (lambda fit, line: plotting.calibration(fit, bins=1), r"calibration\(bins\)` must be an integer above 1"),
    "no space": (lambda fit, line: plotting.field(fit), r"field\(solution\)` needs a prior in space and time"),
    "at": (lambda fit, line: plotting.field(line, 3.0), r"field\(at\)` does not fit 1 dimensions; got 3.0"),
    "grid": (lambda fit, line: plotting.field(line, grid=[[1.0]]), r"field\(grid\)` must hold coordinates"),
    "quantity": (
        lambda fit, line: plotting.field(line, quantity=lambda p: p.f_mean),
        r"field\(quantity\)` must give shape \(200, 60\)",
    ),
    "column": (lambda fit, line: plotting.sites(line, column=4), r"sites\(column\)` must name one of 3 columns; got 4"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_arguments_get_a_clear_sentence(name, fit, line):
    call, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        call(fit, line)


def test_too_many_places_have_to_be_chosen():
    with pytest.raises(ValueError, match=r"must name at most 12 columns; got 13 of them. .*columns=range\(12\)"):
        pick("predictive", None, 13, 12)
