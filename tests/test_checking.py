"""Leave-one-out, held-out scores and cross-validation agree with doing it by hand."""

import numpy as np
import pytest
from scipy import stats

import ssep
from ssep.kernels import Matern32, Matern52
from tests.test_predict import solve
from tests.test_sweep import build


def brute_force(prior, lik, rule, data, every=1):
    """Infer again without each observation, and score it."""
    scores = np.full(data.y.shape, np.nan)
    for index in np.argwhere(np.asarray(data.mask))[::every]:
        y = np.where(data.mask, data.y, np.nan)
        y[tuple(index)] = np.nan
        solution = ssep.infer(prior, lik, rule, ssep.Data(data.t, y, aux=data.aux), tol=1e-8)
        at = solution.posterior.mean[tuple(index)], solution.posterior.cov[tuple(index)]
        prediction = ssep.Prediction(
            data.t[:1], None, at[0][None], at[1][None], None, solution.likelihood, None, _aux_missing=False
        )
        scores[tuple(index)] = prediction.log_prob([float(data.y[tuple(index)])])[0]
    return scores


@pytest.mark.parametrize("shape", [(9,), (9, 2)])
def test_leave_one_out_is_exact_for_gaussian_noise(shape):
    prior, lik, data, *_ = build(51, "gaussian", shape)
    loo = ssep.leave_one_out(ssep.infer(prior, lik, ssep.PowerEP(), data))
    wanted = brute_force(prior, lik, ssep.PowerEP(), data)
    np.testing.assert_allclose(loo.pointwise, wanted, rtol=0, atol=1e-9)
    seen = wanted[np.asarray(data.mask)]
    assert float(loo.total) == pytest.approx(seen.sum())
    assert float(loo.standard_error) == pytest.approx(np.sqrt(len(seen)) * seen.std(ddof=1))


def test_leave_one_out_of_counts_is_within_two_percent_of_the_spread():
    rng = np.random.default_rng(6)
    t = np.linspace(0, 10, 100)
    data = ssep.Data(t, rng.poisson(np.exp(1 + np.sin(t))).astype(float))
    prior, lik, rule = ssep.SDEPrior(Matern52(1.0, 2.0), mean=1.0), ssep.likelihoods.Poisson(), ssep.PowerEP(1.0)
    loo = ssep.leave_one_out(ssep.infer(prior, lik, rule, data, tol=1e-8))
    wanted = brute_force(prior, lik, rule, data, every=7)
    assert np.nanmax(np.abs(loo.pointwise - wanted)) < 0.02 * np.nanstd(wanted)


def test_nlpd_is_the_mean_over_what_was_held_out():
    prior, lik, data, *_ = build(52, "gaussian")
    solution = ssep.infer(prior, lik, ssep.CVI(), data)
    t_new, y_new = np.array([0.5, 2.0, 6.5]), np.array([0.3, np.nan, -0.4])
    prediction = ssep.predict(solution, t_new)
    sd = np.sqrt(np.asarray(prediction.f_var[:, 0]) + 0.3)
    wanted = -stats.norm.logpdf(y_new, prediction.f_mean[:, 0], sd)[[0, 2]].mean()
    assert float(ssep.nlpd(solution, ssep.Data(t_new, y_new))) == pytest.approx(wanted, abs=1e-10)
    rows = ssep.Data(t_new, np.stack([y_new, np.full(3, 0.1)], 1))
    both = -stats.norm.logpdf(rows.y, prediction.f_mean, sd[:, None])[np.asarray(rows.mask)].mean()
    assert float(ssep.nlpd(solution, rows)) == pytest.approx(both, abs=1e-10)


FOLDS = [np.array([0, 4]), np.array([2, 7]), np.array([3, 8])]


def test_cross_validation_equals_inference_without_each_fold():
    prior, lik, data, *_ = build(53, "poisson")
    rule = ssep.PowerEP(0.5)
    solution = ssep.infer(prior, lik, rule, data, tol=1e-9)
    together = ssep.cross_validate(solution, data, FOLDS, tol=1e-9)
    apart = ssep.cross_validate((prior, lik, rule), data, FOLDS, vectorise=False, tol=1e-9)
    for i, fold in enumerate(FOLDS):
        y = np.where(data.mask, data.y, np.nan)
        held = y.copy()
        y[fold] = np.nan
        trained = ssep.infer(prior, lik, rule, ssep.Data(data.t, y), tol=1e-9)
        kept = np.isin(np.arange(9), fold)
        wanted = float(ssep.nlpd(trained, ssep.Data(data.t[fold], held[fold])))
        assert float(together.nlpd[i]) == pytest.approx(wanted, abs=1e-7)
        assert float(apart.nlpd[i]) == pytest.approx(wanted, abs=1e-7)
        assert np.array_equal(~np.isnan(together.pointwise[i]), kept & np.asarray(data.mask))
    # The sites of all data are a better start than none.
    assert int(together.num_sweeps.sum()) < int(apart.num_sweeps.sum())
    assert bool((together.result == ssep.RESULTS.converged).all())


def test_cross_validation_knows_what_came_before():
    prior, lik, data, *_ = build(51, "gaussian")
    before = ssep.infer(prior, lik, ssep.CVI(), ssep.Data(data.t - 7, data.y))
    window = ssep.update(before, data)
    scores = ssep.cross_validate(window, data, [np.array([0])])
    assert float(scores.nlpd[0]) == pytest.approx(-float(ssep.leave_one_out(window).pointwise[0]), abs=1e-7)


def test_cross_validation_may_learn_in_each_fold():
    prior, lik, data, *_ = build(53, "poisson")
    solution = solve(prior, lik, data)

    def learn(fold, start):
        assert int(fold.mask.sum()) < int(data.mask.sum())
        return ssep.fit(start.prior, start.likelihood, start.rule, fold, sites=start.sites, num_steps=2)

    learned = ssep.cross_validate(solution, data, FOLDS[:2], refit=learn)
    held = ssep.cross_validate(solution, data, FOLDS[:2])
    assert learned.nlpd.shape == (2,)
    assert np.abs(np.asarray(learned.nlpd - held.nlpd)).max() > 1e-4


def test_a_number_of_folds_holds_out_everything_once():
    prior, lik, data, *_ = build(54, "gaussian", (9, 2))
    result = ssep.cross_validate((prior, lik, ssep.CVI()), data, 3)
    assert result.nlpd.shape == (3,)
    np.testing.assert_array_equal((~np.isnan(result.pointwise)).sum(0), np.asarray(data.mask))


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (1, "from 2 to the number"),
        ([np.array([99])], "indices from 0 to 8"),
        ([np.ones(4, bool)], r"shape of y, \(9,\)"),
        ([np.zeros(9, bool)], "none in fold 0"),
    ],
)
def test_bad_folds_are_named(folds, message):
    prior, lik, data, *_ = build(53, "poisson")
    with pytest.raises(ValueError, match=message):
        ssep.cross_validate((prior, lik, ssep.PowerEP()), data, folds)


def test_random_folds_are_of_what_was_observed():
    prior, lik, *_ = build(53, "poisson")
    y = np.full(40, np.nan)
    y[[1, 5, 9, 20, 30]] = 1.0
    scores = ssep.cross_validate((prior, lik, ssep.CVI()), ssep.Data(np.arange(40.0), y), 5)
    assert np.isfinite(scores.nlpd).all()


def test_nlpd_checks_its_data():
    prior, lik, data, *_ = build(53, "poisson")
    solution = solve(prior, lik, data)
    with pytest.raises(ValueError, match="non-negative integer"):
        ssep.nlpd(solution, ssep.Data([1.0], [-0.5]))
    with pytest.raises(ValueError, match="must have an observation"):
        ssep.nlpd(solution, ssep.Data([1.0], [np.nan]))


def test_nlpd_prefers_the_better_model():
    rng = np.random.default_rng(8)
    t = np.linspace(0, 10, 120)
    y = rng.poisson(np.exp(1 + np.sin(t))).astype(float)
    train, test = (ssep.Data(t[i::2], y[i::2]) for i in (0, 1))
    lik = ssep.likelihoods.Poisson()
    good, bad = (ssep.infer(ssep.SDEPrior(Matern32(1.0, scale)), lik, ssep.PowerEP(), train) for scale in (2.0, 0.01))
    assert float(ssep.nlpd(good, test)) < float(ssep.nlpd(bad, test)) - 0.05
