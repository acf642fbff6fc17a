"""What users do with fields: records in, maps, paths and terms out, learning, streaming, files, and errors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssep
from ssep import scanning
from ssep.kernels import Constant, Matern12, Matern32, Matern52, SpatialKernel, SquaredExponential
from tests import fields
from tests.test_spacetime import close, counts

POISSON = ssep.likelihoods.Poisson()
RULE = ssep.CVI(ssep.GaussHermite(12))
seeds = st.integers(0, 2**32 - 1)


class Cauchy(SpatialKernel):
    def __call__(self, x1, x2):
        return 1 / (1 + jnp.sum((jnp.asarray(x1) - jnp.asarray(x2)) ** 2))


@eqx.filter_jit
def one_sweep(prior, data):
    return ssep.sweep(prior, POISSON, None, RULE, data)


def solve(field, seed):
    """A solution after one sweep: its posterior is that of its sites, which is all that prediction needs."""
    data = ssep.Data(field.t, counts(field, seed), r=field.r)
    return ssep.infer(field.prior, POISSON, RULE, data, max_sweeps=0, throw=False)


def dense_prediction(field, solution, t_new, r_new):
    """Mean and covariance of the latent at new points (one latent), by dense conditioning on the sites."""
    times, places = field.flat
    linear, precision = (np.asarray(part).ravel() for part in (solution.sites.linear, solution.sites.precision))
    at_data, at_new = (
        field.covariances(times, places, times, places)[0][0],
        field.covariances(t_new, r_new, t_new, r_new)[1][0],
    )
    across = field.covariances(t_new, r_new, times, places)[0][0]
    gain = np.linalg.solve(np.eye(len(linear)) + precision[:, None] * at_data, np.diag(precision)).T
    inside = np.linalg.solve(np.eye(len(linear)) + at_data * precision, at_data)
    return across @ (linear - precision * (inside @ linear)), at_new - across @ gain @ across.T


@pytest.mark.parametrize("layout", ["sum", "many places", "one by one"])
@pytest.mark.parametrize("conditional", [True, False])
def test_predictions_at_new_places_are_dense_conditioning(layout, conditional):
    field = fields.draw(layout, 3)
    field.conditional = conditional
    solution, rng = solve(field, 3), np.random.default_rng(0)
    t_new = np.array([field.t[3], field.t[0] - 0.5, field.t[-1] + 1.0, field.t[1]])
    r_new = rng.uniform(-2, 2, (3, field.r.shape[-1]))
    got = ssep.predict(solution, t_new, r_new=r_new, joint=True)
    mean, cov = dense_prediction(field, solution, np.repeat(t_new, 3), np.tile(r_new, (4, 1)))
    close(got.f_mean, mean)
    close(got.f_joint_cov.reshape(12, 12), cov)
    close(got.f_cov, np.diag(cov))
    assert got.y_mean.shape == got.log_prob(np.ones((4, 3))).shape == (4, 3)
    assert got.quantile([0.1, 0.9]).shape == (2, 4, 3)
    moving = ssep.predict(solution, t_new, r_new=np.stack([r_new, r_new + 0.1, r_new - 0.1, r_new]))
    close(moving.f_mean[0], got.f_mean[0])
    at_second = dense_prediction(field, solution, np.full(3, t_new[1]), r_new + 0.1)
    close(moving.f_mean[1], at_second[0])
    close(moving.f_cov[1], np.diag(at_second[1]))


def test_at_the_datas_places_a_prediction_is_the_posterior():
    field = fields.draw("grid", 5)
    solution = solve(field, 5)
    for places in (None, field.r):
        got = ssep.predict(solution, field.t[::-1], r_new=places)
        close(got.f_mean, solution.posterior.mean[::-1])
        close(got.f_cov, solution.posterior.cov[::-1])
    held_out = ssep.Data(field.t, np.ones(field.shape), r=field.r)
    marginals = ssep.predict(solution, field.t)
    close(ssep.nlpd(solution, held_out), -np.mean(marginals.log_prob(np.ones(field.shape))))
    scattered = ssep.Data(field.t, np.ones(len(field.t)), r=field.r[np.arange(5) % 4])
    close(
        ssep.nlpd(solution, scattered),
        -np.mean(np.asarray(marginals.log_prob(np.ones(field.shape)))[np.arange(5), np.arange(5) % 4]),
        1e-6,
    )


@pytest.mark.parametrize("layout", ["grid", "many places", "one by one"])
def test_paths_have_the_posterior_and_the_prior_covariance(layout):
    field, count = fields.draw(layout, 7), 20_000
    solution, rng = solve(field, 7), np.random.default_rng(1)
    t_new, r_new = np.array([field.t[2] + 0.1, field.t[0]]), rng.uniform(-2, 2, (3, field.r.shape[-1]))
    flat_t, flat_r = np.repeat(t_new, 3), np.tile(r_new, (2, 1))
    wanted = dense_prediction(field, solution, flat_t, flat_r)
    before = np.zeros(6), field.covariances(flat_t, flat_r, flat_t, flat_r)[1][0]
    for source, (mean, cov) in [(solution, wanted), (field.prior, before)]:
        flat = np.asarray(ssep.sample(jax.random.key(2), source, t_new, count, r_new=r_new).f).reshape(count, -1)
        np.testing.assert_array_less(np.abs(flat.mean(0) - mean), 5 * np.sqrt(np.diag(cov) / count))
        error = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / count)
        np.testing.assert_array_less(np.abs(np.cov(flat.T) - cov), 5 * error)
    # Places that differ from time to time see the same field.
    moving = ssep.sample(jax.random.key(3), solution, t_new, count, r_new=np.stack([r_new, r_new[::-1]]))
    flat = np.asarray(moving.f).reshape(count, -1)
    order = [0, 1, 2, 5, 4, 3]
    cov = wanted[1][np.ix_(order, order)]
    error = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / count)
    np.testing.assert_array_less(np.abs(np.cov(flat.T) - cov), 5 * error)


def test_components_add_up_and_equal_dense_conditioning():
    field = fields.draw("sum", 9)
    solution = solve(field, 9)
    r_new = np.array([[0.3], [-1.0]])
    terms = ssep.components(solution, field.t[:2], r_new=r_new)
    whole = ssep.predict(solution, field.t[:2], r_new=r_new)
    close(terms[0].mean + terms[1].mean, whole.f_mean[..., 0])
    close(terms.cov.sum((-2, -1)), whole.f_var[..., 0])
    times, places = field.flat
    linear, precision = (np.asarray(part).ravel() for part in (solution.sites.linear, solution.sites.precision))
    at_data = field.covariances(times, places, times, places)[0][0]
    pull = np.linalg.solve(np.eye(len(linear)) + precision[:, None] * at_data, linear)
    first = fields.Field(field.t, field.r, field.shape, field.terms[:1])
    across = first.covariances(np.repeat(field.t[:2], 2), np.tile(r_new, (2, 1)), times, places)[1][0]
    close(terms[0].mean, across @ pull)
    assert terms[0].kernel.temporal == field.terms[0][1]


@given(seed=seeds)
def test_records_in_any_order_are_the_rows_that_they_came_from(seed):
    rng = np.random.default_rng(seed)
    field = fields.draw("ragged", seed)
    t = field.t + 0.01 * np.arange(len(field.t))
    y = counts(field, seed)
    rows, columns = np.nonzero(~np.isnan(y))
    order = rng.permutation(len(rows))
    rows, columns = rows[order], columns[order]
    records = t[rows], field.r[rows, columns], y[rows, columns]
    data = ssep.Data.from_records(*records, aux=records[2] + 10)
    assert int(data.mask.sum()) == len(rows)
    taken = {(float(a), *map(float, b), float(c)) for a, b, c in zip(*records, strict=True)}
    kept = np.asarray(data.mask)
    times = np.broadcast_to(np.asarray(data.t)[:, None], kept.shape)[kept]
    found = zip(times, np.asarray(data.r)[kept], np.asarray(data.y)[kept], strict=True)
    assert {(float(a), *map(float, b), float(c)) for a, b, c in found} == taken
    np.testing.assert_array_equal(np.asarray(data.aux)[kept], np.asarray(data.y)[kept] + 10)
    narrow = ssep.Data.from_records(*records, per_step=2)
    assert narrow.y.shape[1] == 2
    assert int(narrow.mask.sum()) == len(rows)
    assert np.all(np.diff(narrow.t) >= 0)


def test_records_of_stations_share_their_columns():
    t, station, y = [2.0, 1.0, 1.0, 2.0, 1.0], [0.5, 0.5, 0.1, 0.1, 0.1], [1.0, 2.0, 3.0, 4.0, 5.0]
    data = ssep.Data.from_records(t, station, y, fixed_places=True)
    np.testing.assert_array_equal(data.r, [[0.1], [0.5]])
    # The second reading of one station at one time has a row of its own, at the same time.
    np.testing.assert_array_equal(data.t, [1.0, 1.0, 2.0])
    np.testing.assert_array_equal(np.where(data.mask, data.y, -1), [[3.0, 2.0], [5.0, -1.0], [4.0, 1.0]])
    # Named stations keep their columns, also one that is silent.
    named = ssep.Data.from_records(t, station, y, fixed_places=[0.5, 0.9, 0.1])
    np.testing.assert_array_equal(named.r[:, 0], [0.5, 0.9, 0.1])
    np.testing.assert_array_equal(np.where(named.mask, named.y, -1)[0], [2.0, -1.0, 3.0])
    with pytest.raises(ValueError, match=r"must name the places of all records; got a record at \[0.1\]"):
        ssep.Data.from_records(t, station, y, fixed_places=[0.5, 0.9])


def test_splitting_a_time_into_several_rows_does_not_change_the_posterior():
    rng = np.random.default_rng(0)
    t, r, y = np.sort(rng.integers(0, 4, 30)) / 2.0, rng.uniform(-1, 1, (30, 2)), rng.poisson(2.0, 30)
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 1.0), Matern52(1.0, 1.0), rng.uniform(-1, 1, (4, 2)))
    wide, narrow = (
        ssep.infer(
            prior,
            POISSON,
            RULE,
            ssep.Data.from_records(t, r, y, per_step=width),
            tol=1e-10,
            objective=ssep.FreeEnergy(),
        )
        for width in (None, 3)
    )
    close(wide.energy, narrow.energy)
    at = ssep.predict(wide, t, r_new=r[:, None]), ssep.predict(narrow, t, r_new=r[:, None])
    close(at[0].f_mean, at[1].f_mean)
    close(at[0].f_cov, at[1].f_cov)


def test_gradients_equal_finite_differences_also_in_inducing_places():
    field = fields.draw("few places", 11)
    prior, data = field.prior, ssep.Data(field.t, counts(field, 11), r=field.r)
    _, sites, _ = ssep.sweep(prior, POISSON, None, RULE, data)
    arrays, static = eqx.partition(prior, eqx.is_inexact_array)
    flat, unflatten = jax.flatten_util.ravel_pytree(arrays)

    @jax.jit
    def energy(flat):
        model = eqx.combine(unflatten(flat), static)
        return ssep.sweep(model, POISSON, sites, RULE, data, objective=ssep.FreeEnergy())[2]

    gradient = jax.grad(energy)(flat)
    assert len(flat) == 2 + 3 + 10
    for i in range(len(flat)):
        step = 1e-6 * np.eye(len(flat))[i]
        close(gradient[i], (energy(flat + step) - energy(flat - step)) / 2e-6, 1e-6)


def test_inducing_places_that_coincide_do_no_harm():
    rng = np.random.default_rng(0)
    t, r = np.sort(rng.uniform(0, 5, 12)), rng.uniform(-1, 1, 12)
    data, places = ssep.Data(t, rng.poisson(2.0, 12), r=r), np.linspace(-1, 1, 5)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def energy(prior):
        return ssep.sweep(prior, POISSON, None, RULE, data, objective=ssep.FreeEnergy())[2]

    def at(inducing):
        value, gradient = energy(ssep.SpatioTemporalPrior(Matern52(1.0, 1.0), SquaredExponential(1.0, 1.0), inducing))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
        return value

    apart = at(places)
    close(at(np.append(places, places)), apart, 1e-6)
    close(at(np.append(places, places + 1e-9)), apart, 1e-6)


def test_learning_moves_inducing_places_and_recovers_a_lengthscale():
    rng = np.random.default_rng(3)
    t, r = np.arange(30.0), np.linspace(0, 10, 8)
    truth = ssep.SpatioTemporalPrior(Matern32(1.0, 8.0), Matern32(1.0, 3.0))
    path = ssep.sample(jax.random.key(4), truth, t, r_new=r).f[0, ..., 0]
    data = ssep.Data(t, path + 0.2 * rng.normal(size=path.shape), r=r)
    start = ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), Matern32(1.0, 1.0), np.linspace(2, 5, 5))
    lik, schedule = ssep.likelihoods.Gaussian(0.1), ssep.Interleave(frozen=True)
    fit = ssep.fit(start, lik, ssep.CVI(), data, num_steps=60, schedule=schedule, objective=ssep.FreeEnergy())
    found = fit.prior.terms[0]
    assert 4.0 < float(found.temporal.lengthscale) < 16.0
    assert np.ptp(found.inducing) > 5.0
    assert fit.solution.energy < fit.energies[0] - 20


def test_updating_day_by_day_is_a_first_pass_over_all_days():
    field = fields.draw("few places", 13)
    y = counts(field, 13)
    whole = ssep.infer(field.prior, POISSON, RULE, ssep.Data(field.t, y, r=field.r), max_sweeps=0, throw=False)
    parts = ssep.infer(field.prior, POISSON, RULE, ssep.Data(field.t[:3], y[:3], r=field.r), max_sweeps=0, throw=False)
    parts = ssep.update(parts, ssep.Data(field.t[3:], y[3:], r=field.r))
    close(parts.end.mean, whole.end.mean)
    close(parts.end.cov, whole.end.cov)
    with pytest.raises(ValueError, match="same fixed places"):
        ssep.update(whole, ssep.Data(field.t[-1:] + 1.0, y[-1:], r=field.r + 0.1))
    with pytest.raises(ValueError, match="places that are fixed, or that differ from time to time, as those before"):
        ssep.update(whole, ssep.Data(field.t[-1:] + 1.0, y[-1:], r=field.r[None]), refresh=2)


def test_leaving_one_out_is_exact_for_gaussian_noise():
    field = fields.draw("few places", 17)
    y = np.random.default_rng(0).normal(size=field.shape)
    lik = ssep.likelihoods.Gaussian(0.4)
    data = ssep.Data(field.t, y, r=field.r)
    found = ssep.leave_one_out(ssep.infer(field.prior, lik, ssep.PowerEP(), data))
    mask = np.ones(field.shape, bool)
    mask[2, 1] = False
    without = ssep.infer(field.prior, lik, ssep.PowerEP(), ssep.Data(field.t, y, r=field.r, mask=mask))
    wanted = ssep.predict(without, field.t, r_new=field.r).log_prob(y)[2, 1]
    close(found.pointwise[2, 1], wanted)


def test_latents_with_and_without_inducing_places_go_together():
    """An exact latent beside one with inducing places and no conditional variance: their remainders stay apart."""
    field = fields.draw("grid", 31, num_latents=2)
    (_, *exact), (_, temporal, spatial, _) = field.terms
    inducing = field.r[:2] + 0.3
    for order in (0, 1):
        terms = [exact, (temporal, spatial, inducing)][:: 1 - 2 * order]
        prior = ssep.SpatioTemporalPrior(
            [term[0] for term in terms],
            [term[1] for term in terms],
            tuple(term[2] for term in terms),
            conditional_variance=False,
        )
        y = np.random.default_rng(0).normal(size=field.shape)
        lik = ssep.likelihoods.HeteroscedasticGaussian()
        data = ssep.Data(field.t, y, r=field.r)
        solution = ssep.infer(prior, lik, ssep.CVI(ssep.GaussHermite(5)), data, max_sweeps=0, throw=False)
        got = ssep.predict(solution, field.t[:2], r_new=field.r + 0.1, joint=True)
        diagonal = np.einsum("ijkijl->ijkl", got.f_joint_cov)
        close(diagonal, got.f_cov)
        paths = ssep.sample(jax.random.key(0), solution, field.t[:2], 4000, r_new=field.r + 0.1).f
        spread = np.asarray(got.f_var)
        np.testing.assert_array_less(np.abs(np.var(paths, 0) - spread), 6 * spread * np.sqrt(2 / 4000))


def test_a_place_far_from_all_inducing_ones_is_no_obstacle():
    t, y = np.arange(6.0), np.array([1.0, 2.0, 0.0, 3.0, 1.0, 2.0])
    prior = ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), SquaredExponential(1.0, 1.0), [0.0, 1.0])
    r = np.array([0.0, 0.5, 1.0, 100.0, 0.2, 0.7])
    solution = ssep.infer(prior, POISSON, RULE, ssep.Data(t, y, r=r))
    assert solution.result == ssep.RESULTS.converged
    near = ssep.infer(prior, POISSON, RULE, ssep.Data(np.delete(t, 3), np.delete(y, 3), r=np.delete(r, 3)))
    close(np.delete(solution.posterior.mean, 3), near.posterior.mean, 1e-3)
    # Nothing is known there but the prior.
    close(solution.posterior.cov[3], 1.0)


def test_folds_and_importance_weights_of_a_field():
    field = fields.draw("few places", 37)
    y = np.random.default_rng(0).normal(size=field.shape)
    data, lik = ssep.Data(field.t, y, r=field.r), ssep.likelihoods.Gaussian(0.5)
    folds = np.arange(y.size).reshape(y.shape) % 3 == np.arange(3)[:, None, None]
    found = ssep.cross_validate((field.prior, lik, ssep.PowerEP()), data, folds)
    without = ssep.infer(field.prior, lik, ssep.PowerEP(), ssep.Data(field.t, np.where(folds[1], np.nan, y), r=field.r))
    wanted = ssep.predict(without, field.t, r_new=field.r).log_prob(y)
    close(np.asarray(found.pointwise[1])[folds[1]], np.asarray(wanted)[folds[1]])
    # Under FITC, PowerEP's model, the sites of Gaussian noise are exact: equal weights and the exact evidence.
    whole = ssep.infer(field.prior, lik, ssep.PowerEP(), data)
    weights = ssep.importance_correct(jax.random.key(0), whole, 50)
    close(weights.effective_sample_size, 50.0, 1e-5)
    close(weights.log_evidence, -whole.energy, 1e-6)


def test_a_field_survives_a_file(tmp_path):
    field = fields.draw("sum", 19)
    solution = solve(field, 19)
    ssep.save(tmp_path / "field", solution)
    again = ssep.load(tmp_path / "field")
    close(ssep.predict(again, [9.0], r_new=[0.5]).f_mean, ssep.predict(solution, [9.0], r_new=[0.5]).f_mean, 0)


def test_vmap_over_lengthscales_is_a_loop():
    field = fields.draw("one by one", 23)
    data = ssep.Data(field.t, counts(field, 23), r=field.r)
    inducing = field.terms[0][3]

    def energy(lengthscale):
        prior = ssep.SpatioTemporalPrior(Matern32(1.0, 1.0), Matern52(1.0, lengthscale), inducing)
        return ssep.sweep(prior, POISSON, None, RULE, data)[2]

    grid = jnp.array([0.5, 1.0, 2.0])
    close(jax.vmap(energy)(grid), [energy(value) for value in grid])


def test_kernels_of_space_are_functions_of_scaled_distance():
    x = np.random.default_rng(0).normal(size=(4, 3))
    scale = np.array([0.5, 1.0, 2.0])
    squared = (((x[:, None] - x[None]) / scale) ** 2).sum(-1)
    close(SquaredExponential(1.3, scale).gram(x, x), 1.3 * np.exp(-squared / 2))
    close(Matern12(0.7, scale).gram(x, x), 0.7 * np.exp(-np.sqrt(squared)))
    mixed = SquaredExponential(1.3, scale) * Matern12(0.7, 2.0) + Constant(0.5)
    plain = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    close(mixed.gram(x, x), 1.3 * np.exp(-squared / 2) * 0.7 * np.exp(-plain / 2) + 0.5)


@pytest.mark.parametrize("length", [30, 31])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_in_stretches_is_a_scan(monkeypatch, length, reverse):
    """30 splits evenly, 31 needs padding; values and derivatives."""
    inputs = jnp.asarray(np.random.default_rng(0).normal(size=(length, 2)))

    def body(carry, entry):
        moved = jnp.sin(carry) + entry
        return moved, moved[0] * entry[1]

    def total(start, inputs):
        last, outputs = scanning.scan(body, start, inputs, reverse=reverse)
        return jnp.sum(last**2) + jnp.sum(outputs * jnp.arange(length))

    plain = jax.value_and_grad(total, (0, 1))(jnp.ones(2), inputs)
    monkeypatch.setattr(scanning, "_KEEP", 0)
    stretched = jax.value_and_grad(total, (0, 1))(jnp.ones(2), inputs)
    jax.tree.map(close, stretched, plain)
    checkpoints = str(jax.make_jaxpr(jax.grad(total))(jnp.ones(2), inputs))
    assert "checkpoint" in checkpoints or "remat" in checkpoints


FIELD = fields.draw("few places", 0)
PLACES, VALUES = FIELD.r, np.ones(FIELD.shape)
PRIOR = ssep.SpatioTemporalPrior(Matern32(), Matern32(), PLACES)
CASES = {
    "no places": (lambda: one_sweep(PRIOR, ssep.Data(FIELD.t, VALUES)), r"`sweep\(data\)` must have places"),
    "places in time": (
        lambda: one_sweep(ssep.SDEPrior(Matern32()), ssep.Data(FIELD.t, VALUES, r=PLACES)),
        r"must have no places for an `SDEPrior`.*SpatioTemporalPrior",
    ),
    "other dimension": (
        lambda: one_sweep(PRIOR, ssep.Data(FIELD.t, VALUES, r=PLACES[:, 0])),
        r"must have places in 2 dimensions, as the inducing ones; got 1 dimensions",
    ),
    "moving without inducing": (
        lambda: one_sweep(
            ssep.SpatioTemporalPrior(Matern32(), Matern32()), ssep.Data(FIELD.t, VALUES, r=np.ones((5, 3, 2)))
        ),
        r"`SpatioTemporalPrior\(inducing\)` may be None only for a fixed set of places",
    ),
    "shape of places": (
        lambda: ssep.Data(FIELD.t, VALUES, r=PLACES[:2]),
        r"`Data\(r\)` must have shape \(J, R\) or \(n, J, R\) for y of shape \(5, 3\); got shape \(2, 2\)",
    ),
    "unknown place": (
        lambda: ssep.Data(FIELD.t, VALUES, r=np.full((5, 3, 2), np.nan)),
        r"`Data\(r\)` must be finite where y is observed",
    ),
    "kernel of space in time": (
        lambda: one_sweep(ssep.SpatioTemporalPrior(Cauchy(), Matern32(), PLACES), ssep.Data(FIELD.t, VALUES, r=PLACES)),
        r"`Cauchy` must be a kernel in space.*Matern52",
    ),
    "lengthscales": (
        lambda: one_sweep(
            ssep.SpatioTemporalPrior(Matern32(), Matern32(1.0, [1.0, 1.0, 1.0]), PLACES),
            ssep.Data(FIELD.t, VALUES, r=PLACES),
        ),
        r"must be a number, or one per dimension of the points, shape \(2,\); got shape \(3,\)",
    ),
    "sum": (lambda: PRIOR + ssep.SDEPrior(Matern32()), r"`SpatioTemporalPrior \+ other` needs another"),
    "counts of kernels": (
        lambda: ssep.SpatioTemporalPrior((Matern32(), Matern32()), (Matern32(), Matern32(), Matern32()), PLACES),
        r"must be one, or one per latent; got 2, 3 and 3",
    ),
    "places of a prediction": (
        lambda: ssep.predict(solve(fields.draw("one by one", 0), 0), [1.0]),
        r"`predict\(r_new\)` must be given, because the places of the data differ",
    ),
    "shape of a prediction": (
        lambda: ssep.predict(solve(FIELD, 0), [1.0, 2.0], r_new=np.ones((3, 2, 2))),
        r"`predict\(r_new\)` must have shape \(J, R\), or \(2, J, R\).*r_new\[:, None\]",
    ),
    "records": (
        lambda: ssep.Data.from_records([1.0, 2.0], [0.0], [1.0, 2.0]),
        r"`Data.from_records\(t, r, y\)` must have shapes",
    ),
    "memory": (
        lambda: one_sweep(
            ssep.SpatioTemporalPrior(Matern32(), Matern32()),
            ssep.Data(np.arange(20_000.0), np.broadcast_to(np.ones(1), (20_000, 2_000)), r=np.arange(2_000.0)),
        ),
        # Per step 4000 x 2000 and twice 2000 x 2000 numbers of 8 bytes: 2384 GiB, and a little for the rest.
        r"`sweep\(prior, data\)` must fit into memory; got 20000 times, a state of 4000 numbers.*about 2\.39e\+03 GiB",
    ),
    "memory of a map": (
        lambda: ssep.predict(solve(FIELD, 0), np.arange(1e5), r_new=np.zeros((100_000, 2))),
        r"`predict\(t_new\)` must fit into memory; got 100000 times, a state of 10 numbers and 5 nodes.*GiB",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_name(name):
    call, message = CASES[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        call()
