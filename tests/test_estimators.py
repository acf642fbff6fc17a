"""Estimators for scikit-learn: the models of the Python API, behind scikit-learn's conventions."""

import functools
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import ssep
from ssep.estimators import TemporalGPClassifier, TemporalGPRegressor, log_density
from ssep.expressions.starting import starting_latents, starting_likelihood
from ssep.kernels import Matern12, Matern32, Matern52
from ssep.likelihoods import Bernoulli, Gaussian, HeteroscedasticGaussian, Poisson

# What scikit-learn demands and these estimators do not do, with the reason.
EXCEPTIONS = {
    "check_regressors_train": "it wants a good fit to ten columns, nine dimensions of places, without any learning",
    "check_do_not_raise_errors_in_init_or_set_params": "the test suite checks types when objects are made",
}
# Small models: how fast they compile is all that matters here.
REGRESSOR = TemporalGPRegressor("matern12", rule="extended_ep", num_inducing=2, num_steps=0)
CLASSIFIER = TemporalGPClassifier("matern12", rule="vi(unscented3)", num_inducing=4, num_steps=0)


def checks():
    """All of scikit-learn's checks for one, and for the other those of what it does not share."""
    own = ("check_classif", "check_decision_proba", "check_estimators_unfitted", "check_parameters_default")
    for estimator, names in [(REGRESSOR, ("check_",)), (CLASSIFIER, own)]:
        for each, check in estimator_checks_generator(estimator):
            name = (check.func if isinstance(check, functools.partial) else check).__name__
            if name.startswith(names):
                marks = [pytest.mark.xfail(reason=EXCEPTIONS[name])] if name in EXCEPTIONS else []
                yield pytest.param(each, check, id=f"{type(estimator).__name__}-{name}", marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 20, 60)
    return t[:, None], rng.poisson(np.exp(1 + np.sin(t / 2))).astype(float)


@pytest.fixture(scope="module")
def fitted(counts):
    X, y = counts
    return TemporalGPRegressor("matern32", "poisson", "ep", num_steps=15).fit(X, y)


@pytest.fixture(scope="module")
def by_hand(counts, fitted):
    """The same model in the Python API, from the same start."""
    X, y = counts
    order = np.argsort(X[:, 0])
    (start,) = starting_latents(Poisson(), y, 1)
    prior = ssep.SDEPrior(Matern32(start.variance, np.ptp(X) / 10), mean=start.mean)
    data = ssep.Data(X[order, 0], y[order])
    return ssep.fit(prior, Poisson(), ssep.PowerEP(1.0), data, optimiser=optax.adam(0.1), num_steps=15)


def test_a_regressor_is_the_model_of_the_python_api_whatever_the_order_of_rows(counts, fitted, by_hand):
    X, _ = counts
    assert (np.diff(X[:, 0]) < 0).any()
    new = np.array([[25.0], [3.0], [3.0], [-1.0], [11.5]])
    expected = ssep.predict(by_hand, new[:, 0])
    mean, deviation = fitted.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected.y_mean, rtol=1e-9)
    np.testing.assert_allclose(fitted.predict(new), mean)
    np.testing.assert_allclose(deviation, np.sqrt(expected.y_var), rtol=1e-9)
    quantiles = fitted.predict_quantiles(new, [0.1, 0.9])
    assert quantiles.shape == (5, 2)
    np.testing.assert_allclose(quantiles, np.asarray(expected.quantile([0.1, 0.9])).T)
    np.testing.assert_allclose(fitted.energies_, by_hand.energies)
    np.testing.assert_allclose(fitted.solution_.energy, by_hand.solution.energy)
    assert fitted.prior_ is fitted.solution_.prior
    assert fitted.likelihood_ is fitted.solution_.likelihood


def test_scores_are_r2_and_the_mean_log_predictive_density(counts, fitted, by_hand):
    X, y = counts
    np.testing.assert_allclose(fitted.score(X, y), r2_score(y, fitted.predict(X)))
    order = np.argsort(X[:, 0])
    expected = -ssep.nlpd(by_hand, ssep.Data(X[order, 0], y[order]))
    np.testing.assert_allclose(fitted.log_score(X, y), expected, rtol=1e-9)
    np.testing.assert_allclose(log_density(fitted, X, y), expected, rtol=1e-9)
    pipeline = make_pipeline(Shift(), fitted)
    np.testing.assert_allclose(log_density(pipeline, X - 3, y), expected, rtol=1e-9)
    np.testing.assert_allclose(pipeline.predict(X - 3), fitted.predict(X), rtol=1e-12)


class Shift(StandardScaler):
    """A transformer that needs no fit."""

    def transform(self, X):
        return np.asarray(X) + 3

    def __sklearn_is_fitted__(self):
        return True


def test_objects_and_texts_mean_the_same(counts):
    X, y = counts
    texts = TemporalGPRegressor("matern32(2, 3) + matern12(1, 1)", "gaussian(0.5)", "ep", mean=1.0, num_steps=0)
    objects = TemporalGPRegressor(
        Matern32(2.0, 3.0) + Matern12(1.0, 1.0), Gaussian(0.5), ssep.PowerEP(1.0), mean=1.0, num_steps=0
    )
    np.testing.assert_array_equal(texts.fit(X, y).predict(X), objects.fit(X, y).predict(X))
    assert texts.energies_.shape == (0,)
    assert texts.prior_.kernels[0].parts[0].variance == 2.0


def test_clones_and_parameters(fitted):
    copy = clone(fitted)
    assert not hasattr(copy, "solution_")
    assert copy.get_params() == fitted.get_params()
    assert copy.get_params()["kernel"] == "matern32"
    kernel = Matern52(1.0, 2.0)
    copy.set_params(kernel=kernel, num_steps=3)
    assert copy.kernel is kernel
    assert clone(copy).kernel == kernel
    assert "num_steps=3" in repr(copy)


def test_model_selection_prefers_the_model_that_made_the_data(counts):
    X, y = counts
    grid = {"temporalgpregressor__likelihood": ["poisson", "gaussian(1000)"]}
    model = make_pipeline(StandardScaler(), TemporalGPRegressor("matern32", rule="extended_ep", num_steps=0))
    search = GridSearchCV(model, grid, scoring=log_density, cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
    assert search.best_params_ == {"temporalgpregressor__likelihood": "poisson"}
    scores = cross_val_score(search.best_estimator_, X, y, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.shape == (3,)
    assert np.mean(scores) > 0.3


def test_stations_are_a_field_at_their_places():
    rng = np.random.default_rng(1)
    stations = np.array([[0.0, 0.0], [1.0, 0.5], [2.0, 2.0]])
    who, hour = rng.integers(0, 3, 40), rng.integers(0, 12, 40).astype(float)
    X = np.column_stack([hour, stations[who]])
    y = np.sin(hour / 3) + stations[who, 0] + 0.1 * rng.normal(size=40)
    model = TemporalGPRegressor(
        "matern32(1, 4)", "gaussian(0.01)", "ep", spatial_kernel="matern52(1, [1, 2])", mean=0.5, num_steps=0
    ).fit(X, y)
    # A dense Gaussian process with a product kernel.
    new = np.array([[3.3, 1.5, 1.5], [13.0, 0.0, 0.0]])
    temporal, spatial = Matern32(1.0, 4.0), Matern52(1.0, jnp.array([1.0, 2.0]))

    def covariance(a, b):
        return np.asarray(temporal.gram(a[:, 0], b[:, 0]) * spatial.gram(a[:, 1:], b[:, 1:]))

    weights = np.linalg.solve(covariance(X, X) + 0.01 * np.eye(40), np.column_stack([y - 0.5, covariance(X, new)]))
    mean, deviation = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, 0.5 + covariance(new, X) @ weights[:, 0], rtol=1e-6)
    variance = 1.01 - np.sum(covariance(new, X).T * weights[:, 1:], 0)
    np.testing.assert_allclose(deviation, np.sqrt(variance), rtol=1e-6)
    assert model.predict_quantiles(new, 0.5).shape == (2, 1)
    assert isinstance(model.log_score(X, y), float)


def test_many_places_are_carried_by_some_far_from_each_other():
    rng = np.random.default_rng(2)
    X = rng.uniform(0, [5, 1, 100], (50, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    model = TemporalGPRegressor("matern12", rule="extended_ep", num_inducing=5, num_steps=2).fit(X, y)
    inducing = np.asarray(model.prior_.terms[0].inducing)
    assert inducing.shape == (5, 2)
    rows = {tuple(place) for place in X[:, 1:]}
    assert {tuple(place) for place in inducing} <= rows  # not moved by learning
    scaled = inducing / [1, 100]
    distances = np.linalg.norm(scaled[:, None] - scaled, axis=-1)[~np.eye(5, dtype=bool)]
    assert distances.min() > 0.35  # random ones are closer in most draws
    lengthscale = np.asarray(model.prior_.terms[0].spatial.lengthscale)
    assert lengthscale.shape == (2,)
    assert lengthscale[1] > 20 * lengthscale[0]


def test_a_classifier_keeps_its_labels_and_gives_probabilities():
    rng = np.random.default_rng(3)
    t = rng.uniform(0, 10, 40)
    y = np.where(np.sin(t) + 0.3 * rng.normal(size=40) > 0, "wet", "dry")
    model = TemporalGPClassifier("matern32(1, 2)", rule="ep", mean=0.0, num_steps=0).fit(t[:, None], y)
    assert model.classes_.tolist() == ["dry", "wet"]
    order = np.argsort(t)
    data = ssep.Data(t[order], (y == "wet").astype(float)[order])
    solution = ssep.infer(ssep.SDEPrior(Matern32(1.0, 2.0), mean=0.0), Bernoulli(), ssep.PowerEP(1.0), data)
    new = np.array([[7.9], [1.5], [4.7]])
    probabilities = model.predict_proba(new)
    np.testing.assert_allclose(probabilities[:, 1], ssep.predict(solution, new[:, 0]).y_mean, rtol=1e-6)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert model.predict(new).tolist() == ["wet", "wet", "dry"]
    X = t[:, None]
    np.testing.assert_allclose(model.log_score(X, y), -log_loss(y, model.predict_proba(X)), rtol=1e-9)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    with pytest.raises(ValueError, match=r"knows only the classes it was fitted to; got .*snow"):
        model.log_score(X[:1], ["snow"])


def test_three_classes_have_a_latent_each():
    t = np.linspace(0, 8.9, 45)
    y = (t // 3).astype(int) + 7
    model = TemporalGPClassifier("matern12(4, 3)", rule="vi(unscented3)", num_steps=0).fit(t[:, None], y)
    assert model.prior_.num_latents == 3
    assert model.score(t[:, None], y) == 1
    assert model.predict([[1.0], [4.0], [8.0]]).tolist() == [7, 8, 9]


def test_starting_values_follow_the_units_of_the_data():
    y = 1000 + 50 * np.random.default_rng(0).normal(size=400)
    (start,) = starting_latents(Gaussian(1.0), y, 1)
    np.testing.assert_allclose([start.mean, start.variance], [y.mean(), y.var() - 1], rtol=1e-3)
    np.testing.assert_allclose(starting_likelihood("gaussian", y).variance, 0.1 * y.var())
    np.testing.assert_allclose(starting_likelihood("student_t(df=3)", y).scale, np.sqrt(0.1) * y.std())
    assert starting_likelihood("gaussian(2)", y).variance == 2
    assert starting_likelihood("log_normal", y).variance == 1  # of logarithms, which have other units
    assert starting_likelihood("gaussian", np.ones(3)).variance == 1
    counts = np.arange(9.0)
    level = (counts.sum() + 0.5) / 10
    (start,) = starting_latents(Poisson(), counts, 1)
    np.testing.assert_allclose(start.mean, np.log(level), atol=1e-3)
    # What the variance has above that of a Poisson distribution.
    excess = np.sqrt(counts.var() - level)
    np.testing.assert_allclose(np.sqrt(start.variance), np.log1p(excess / level), rtol=1e-2)
    first, second = starting_latents(HeteroscedasticGaussian(), y, 2)
    np.testing.assert_allclose(first.mean, y.mean(), rtol=1e-3)
    noise = np.logaddexp(0, second.mean - 0.5 + np.array([0, np.sqrt(second.variance)]))
    np.testing.assert_allclose(noise, np.array([1, 2]) * np.sqrt(0.1) * y.std(), rtol=1e-2)
    # Labels are all noise to begin with; extreme ones are no trouble, and what has no moments starts at zero.
    labels = starting_latents(Bernoulli(), np.array([0.0, 1.0]), 1)[0]
    assert labels == pytest.approx((0.0, np.log((0.5 + np.sqrt(0.025)) / (0.5 - np.sqrt(0.025))) ** 2), abs=1e-3)
    for extreme in (np.zeros(9), np.ones(9)):
        assert np.isfinite(starting_latents(Bernoulli(), extreme, 1)).all()
    assert np.isfinite(starting_latents(Poisson(), np.zeros(9), 1)).all()
    assert starting_latents(ssep.likelihoods.Categorical(3), np.arange(3.0), 3) == [(0.0, 1.0)] * 3


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (TemporalGPRegressor(num_steps=-1), r"TemporalGPRegressor\(num_steps\)` must be a non-negative integer"),
        (TemporalGPRegressor(num_inducing=0), r"TemporalGPRegressor\(num_inducing\)` must be a positive integer"),
        (TemporalGPRegressor("matern53"), "Did you mean `matern52`"),
        (TemporalGPRegressor(likelihood="poison"), "Did you mean `poisson`"),
        (TemporalGPRegressor(rule="pep"), "Did you mean `ep`"),
        (TemporalGPRegressor("matern32 + periodic"), "`kernel` must give the period of a pattern"),
        (
            TemporalGPRegressor().set_params(likelihood=Poisson),
            r"TemporalGP\(likelihood\)` must be a likelihood or its text; got <",
        ),
        (TemporalGPRegressor(likelihood="poisson"), "needs non-negative integer counts"),
        (TemporalGPClassifier(), "must have two classes or more; got 1 class"),
        (
            TemporalGPRegressor("matern12", "heteroscedastic_gaussian", spatial_kernel=("white", "white", "white")),
            "must be one, or one for each of 2 latents; got 3",
        ),
    ],
)
def test_what_cannot_be_is_said(estimator, words):
    y = np.full(4, -0.5) if isinstance(estimator, TemporalGPRegressor) else np.zeros(4)
    with pytest.raises(ValueError, match=words):
        estimator.fit(np.stack([np.arange(4.0)] * (2 if isinstance(estimator.spatial_kernel, tuple) else 1), 1), y)


@pytest.mark.parametrize("estimator", [TemporalGPRegressor(num_steps=0), TemporalGPClassifier(num_steps=0)])
@pytest.mark.parametrize("kind", ["pandas", "pandas with a zone", "polars", "numpy"])
def test_dates_are_no_numbers(kind, estimator):
    days = pd.date_range("2024-01-01", periods=4)
    X = {
        "pandas": pd.DataFrame({"day": days}),
        "pandas with a zone": pd.DataFrame({"day": days.tz_localize("Europe/Berlin")}),
        "polars": pl.DataFrame({"day": days.to_numpy()}),
        "numpy": days.to_numpy()[:, None],
    }[kind]
    with pytest.raises(ValueError, match=r"`TemporalGP\(X\)` must have times as numbers; got dates"):
        estimator.fit(X, [0, 1, 0, 1])


def test_labels_need_a_likelihood_of_labels():
    with pytest.raises(ValueError, match="must be one of labels, which have probabilities; got Gaussian"):
        TemporalGPClassifier(likelihood="gaussian").fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])


def test_scores_of_missing_observations_are_not_silently_missing(counts, fitted):
    X, y = counts
    with pytest.raises(ValueError, match="needs finite observations"):
        fitted.log_score(X, np.where(y > 3, np.nan, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.log_score(X, y[:-1])


WITHOUT = """
import sys
sys.modules["sklearn"] = None  # as if it were not installed
import ssep
assert dir(ssep.estimators) == ["TemporalGPClassifier", "TemporalGPRegressor", "log_density"]
try:
    ssep.estimators.TemporalGPRegressor
except ImportError as error:
    print(error)
try:
    ssep.estimators.Nonsense
except AttributeError as error:
    print(error)
"""


def test_the_package_needs_scikit_learn_only_for_the_estimators():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    first, second = run.stdout.splitlines()
    assert first == '`estimators.TemporalGPRegressor` needs scikit-learn: pip install "ssep[sklearn]".'
    assert "Nonsense" in second
    code = "import ssep, sys; assert 'sklearn' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
