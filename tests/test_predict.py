"""Predictions and components equal dense Gaussian conditioning on the sites; observations follow from the latents."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import ssep
from ssep.kernels import Matern12, Matern32, Matern52
from tests import oracle
from tests.test_sweep import build, drift

NEW = 6


def solve(prior, lik, data, **options):
    return ssep.infer(prior, lik, ssep.PowerEP(0.5, ssep.GaussHermite(12)), data, throw=False, **options)


def dense_prediction(solution, hyper, t_new, means):
    """Joint mean and covariance (m, d), (m, d, m, d) at new times: dense GP regression on the sites, full matrices."""
    t = np.asarray(solution.data.t)
    both = np.concatenate([t, t_new])
    n, m, d = len(t), len(t_new), len(hyper)
    cov = np.zeros((n + m, d, n + m, d))
    for i, (variance, lengthscale) in enumerate(hyper):
        cov[:, i, :, i] = oracle.matern(i + 1, variance, lengthscale, both, both)
    mean = np.stack([function(both) for function in means[:d]], 1)
    linear, precision = (np.asarray(leaf) for leaf in (solution.sites.linear, solution.sites.precision))
    if linear.ndim == 3:
        linear, precision = linear.sum(1), precision.sum(1)
    joint = np.zeros((n + m, d, n + m, d))
    for k in range(n):
        joint[k, :, k, :] = precision[k]
    joint, cov, size = joint.reshape(len(both) * d, -1), cov.reshape(len(both) * d, -1), len(both) * d
    pull = np.concatenate([linear.ravel(), np.zeros(m * d)]) - joint @ mean.ravel()
    posterior = np.linalg.solve(np.eye(size) + cov @ joint, cov)
    new_mean = (mean.ravel() + posterior @ pull).reshape(n + m, d)
    return new_mean[n:], posterior.reshape(n + m, d, n + m, d)[n:, :, n:, :]


def times(seed, data):
    """Before, between, after, at a time of the data, repeated, unsorted."""
    rng = np.random.default_rng(seed)
    t_new = rng.uniform(-2, 9, NEW)
    t_new[1], t_new[3], t_new[5] = data.t[2], t_new[0], 30.0
    return t_new


@pytest.mark.parametrize("name", ["poisson", "heteroscedastic"])
@pytest.mark.parametrize("shape", [(9,), (9, 3)])
@given(seed=st.integers(0, 2**32 - 1))
def test_predictions_equal_dense_conditioning_on_the_sites(name, shape, seed):
    prior, lik, data, *_ = build(seed, name, shape)
    solution = solve(prior, lik, data, max_sweeps=3)
    t_new = times(seed, data)
    prediction = ssep.predict(solution, t_new, joint=True)
    hyper = [(float(kernel.variance), float(kernel.lengthscale)) for kernel in prior.kernels]
    mean, cov = dense_prediction(solution, hyper, t_new, [lambda t: np.full(len(t), 0.2), drift])
    np.testing.assert_allclose(prediction.f_mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(prediction.f_joint_cov, cov, rtol=0, atol=1e-8)
    np.testing.assert_allclose(prediction.f_cov, [cov[k, :, k] for k in range(NEW)], rtol=0, atol=1e-8)
    np.testing.assert_allclose(prediction.f_var, [np.diag(cov[k, :, k]) for k in range(NEW)], rtol=0, atol=1e-8)


def test_prediction_at_the_data_is_the_posterior():
    prior, lik, data, *_ = build(31, "poisson")
    solution = solve(prior, lik, data)
    prediction = ssep.predict(solution, data.t)
    np.testing.assert_allclose(prediction.f_mean, solution.posterior.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(prediction.f_cov, solution.posterior.cov, rtol=0, atol=1e-10)


def test_predicting_elsewhere_compiles_nothing():
    prior, lik, data, *_ = build(32, "poisson")
    solution = solve(prior, lik, data)
    rng = np.random.default_rng(0)
    ssep.predict(solution, rng.uniform(0, 9, 7)).quantile(0.5)
    with jax.log_compiles(True), _Compilations() as compiled:
        for _ in range(5):
            ssep.predict(solution, rng.uniform(0, 9, 7)).quantile(0.5)
        # Regular times share gaps with the data and with each other.
        ssep.predict(solution, np.linspace(0, 9, 7)).quantile(0.5)
    assert [name for name in compiled.names if name.startswith("_")] == []


class _Compilations:
    """Names of the functions that JAX says it compiles."""

    def __enter__(self):
        import logging

        self.names = []

        names = self.names

        class Handler(logging.Handler):
            def emit(self, record):
                message = record.getMessage()
                if message.startswith("Compiling "):
                    names.append(message.split()[1].removeprefix("jit(").rstrip(")"))

        self.handler, self.logger = Handler(), logging.getLogger("jax")
        self.logger.addHandler(self.handler)
        return self

    def __exit__(self, *_):
        self.logger.removeHandler(self.handler)


def test_the_compilation_counter_sees_a_compilation():
    with jax.log_compiles(True), _Compilations() as compiled:
        jax.jit(lambda x: x * 3 + 1)(jnp.ones(17))
    assert compiled.names


# Distribution of y given f: SciPy's, and nodes of a fine grid for f.
OBSERVED = {
    "gaussian": (ssep.likelihoods.Gaussian(0.3), lambda f: stats.norm(f[0], np.sqrt(0.3))),
    "poisson": (ssep.likelihoods.Poisson(), lambda f: stats.poisson(2.5 * np.exp(f[0]))),
    "softplus": (ssep.likelihoods.Poisson(ssep.links.softplus), lambda f: stats.poisson(2.5 * np.logaddexp(0, f[0]))),
    "bernoulli": (ssep.likelihoods.Bernoulli(), lambda f: stats.bernoulli(1 / (1 + np.exp(-f[0])))),
    "probit": (ssep.likelihoods.Bernoulli(ssep.links.probit), lambda f: stats.bernoulli(stats.norm.cdf(f[0]))),
    "student": (ssep.likelihoods.StudentT(4.0, 0.5), lambda f: stats.t(4.0, f[0], 0.5)),
    "heteroscedastic": (
        ssep.likelihoods.HeteroscedasticGaussian(),
        lambda f: stats.norm(f[0], np.logaddexp(0, f[1] - 0.5)),
    ),
    "demodulation": (
        ssep.likelihoods.AmplitudeDemodulation(0.2),
        lambda f: stats.norm(f[0] * np.logaddexp(0, f[1]), np.sqrt(0.2)),
    ),
}
MEAN, COV = np.array([0.4, 0.3]), np.array([[0.5, 0.2], [0.2, 0.4]])


def predictive(name):
    """A Prediction at one time with known latents, and SciPy's distribution at a fine grid of latents with weights."""
    lik, distribution = OBSERVED[name]
    d = 2 if name in ("heteroscedastic", "demodulation") else 1
    aux = jnp.array([2.5]) if isinstance(lik, ssep.likelihoods.Poisson) else None
    mean, cov = MEAN[:d], COV[:d, :d]
    prediction = ssep.Prediction(
        jnp.zeros(1), None, jnp.asarray(mean)[None], jnp.asarray(cov)[None], None, lik, aux, _aux_missing=False
    )
    z = np.linspace(-8, 8, 201 if d == 2 else 2001)
    grid = np.stack(np.meshgrid(*[z] * d, indexing="ij"), -1).reshape(-1, d)
    weights = np.exp(-(grid**2).sum(1) / 2)
    f = mean + grid @ np.linalg.cholesky(cov).T
    return prediction, distribution(f.T), weights / weights.sum()


@pytest.mark.parametrize("name", OBSERVED)
def test_observations_are_the_mixture_over_latents(name):
    prediction, given_f, weights = predictive(name)
    mean = weights @ given_f.mean()
    np.testing.assert_allclose(prediction.y_mean, [mean], rtol=2e-5)
    np.testing.assert_allclose(prediction.y_var, [weights @ (given_f.var() + (given_f.mean() - mean) ** 2)], rtol=1e-4)
    for y in (0.0, 1.0):
        density = given_f.pmf(y) if hasattr(given_f.dist, "pmf") else given_f.pdf(y)
        np.testing.assert_allclose(prediction.log_prob([y]), [np.log(weights @ density)], rtol=1e-3)
    for level in (0.01, 0.3, 0.5, 0.975):
        quantile = float(prediction.quantile(level)[0])
        cdf = float(weights @ given_f.cdf(quantile))
        if prediction.likelihood.discrete:
            assert cdf >= level - 1e-4
            assert float(weights @ given_f.cdf(quantile - 1)) < level + 1e-4
        else:
            # The generic rule for several latents is a lattice of 4096 points.
            assert cdf == pytest.approx(level, abs=2e-3 if name == "demodulation" else 1e-5)


@pytest.mark.parametrize("name", OBSERVED)
def test_draws_follow_the_distribution(name):
    """Kolmogorov's distance of 20,000 draws at fixed latents from SciPy's distribution function."""
    lik, distribution = OBSERVED[name]
    f = jnp.array([0.4, 0.9])[: 2 if name in ("heteroscedastic", "demodulation") else 1]
    aux = jnp.asarray(2.5) if isinstance(lik, ssep.likelihoods.Poisson) else None
    keys = jax.random.split(jax.random.key(3), 20_000)
    draws = np.sort(jax.vmap(lambda key: lik.sample(key, f, aux))(keys))
    points = np.unique(np.quantile(draws, np.linspace(0.02, 0.98, 40), method="nearest"))
    empirical = np.searchsorted(draws, points, side="right") / len(draws)
    assert np.abs(empirical - distribution(np.asarray(f)).cdf(points)).max() < 2 / np.sqrt(len(draws))
    np.testing.assert_allclose(
        jax.vmap(lambda y: lik.cdf(y, f, aux))(jnp.asarray(points)), distribution(np.asarray(f)).cdf(points), atol=1e-10
    )


def test_densities_of_narrow_likelihoods_are_accurate():
    """Noise of 0.05 where the latent has a standard deviation of one, against a fine grid."""
    lik, f = ssep.likelihoods.StudentT(4.0, 0.05), np.linspace(-9, 9, 40_001)
    prediction = ssep.Prediction(
        jnp.zeros(1), None, jnp.zeros((1, 1)), jnp.ones((1, 1, 1)), None, lik, None, _aux_missing=False
    )
    for y in (0.0, 0.2, 1.0, 3.0):
        wanted = np.log(np.trapezoid(stats.t.pdf(y, 4.0, f, 0.05) * stats.norm.pdf(f), f))
        assert float(prediction.log_prob([y])[0]) == pytest.approx(wanted, abs=5e-3)


def test_no_variance_is_no_negative_variance():
    lik = ssep.likelihoods.StudentT(1.5, 1.0)
    prediction = ssep.Prediction(
        jnp.zeros(1), None, jnp.zeros((1, 1)), jnp.ones((1, 1, 1)), None, lik, None, _aux_missing=False
    )
    with pytest.raises(ValueError, match=r"StudentT\(df\)` must exceed 2"):
        prediction.y_var  # noqa: B018
    variance = jax.jit(lambda df: ssep.likelihoods.StudentT(df, 1.0).conditional_moments(jnp.zeros(1), None)[1])
    assert float(variance(1.5)) == np.inf


def test_quantiles_of_nothing_are_nothing():
    prediction = ssep.Prediction(
        jnp.zeros(1),
        None,
        jnp.full((1, 1), jnp.nan),
        jnp.ones((1, 1, 1)),
        None,
        ssep.likelihoods.Poisson(),
        None,
        False,
    )
    assert np.isnan(prediction.quantile(0.5)).all()


@pytest.mark.parametrize("rate", [2e4, 1e6])
def test_large_counts_have_a_distribution_function(rate):
    counts = np.round(rate + np.sqrt(rate) * np.array([-3.0, -1.0, 0.0, 1.0, 3.0]))
    cdf = jax.vmap(lambda y: ssep.likelihoods.Poisson().cdf(y, jnp.array([np.log(rate)]), None))(jnp.asarray(counts))
    np.testing.assert_allclose(cdf, stats.poisson.cdf(counts, rate), atol=1e-5)


def test_times_beyond_single_precision_are_refused():
    t = 1.7e9 + 60 * np.arange(20)
    prior = ssep.SDEPrior(Matern32(jnp.float32(1.0), jnp.float32(600.0)))
    data = ssep.Data(t.astype(np.float32), np.zeros(20, np.float32))
    with pytest.raises(ValueError, match="Subtract an origin"):
        ssep.predict(ssep.infer(prior, ssep.likelihoods.Gaussian(0.1), ssep.CVI(), data, throw=False), t)


def test_single_precision_data_work_beside_double_precision_parameters():
    prior, lik, data, problem, _ = build(35, "poisson")
    small = ssep.Data(data.t.astype(np.float32), np.where(problem.mask, problem.y, np.nan).astype(np.float32))
    for likelihood in (lik, ssep.likelihoods.Gaussian(np.float64(0.3))):
        got, wanted = (ssep.infer(prior, likelihood, ssep.PowerEP(), each, tol=1e-3) for each in (small, data))
        assert got.posterior.mean.dtype == np.float32
        np.testing.assert_allclose(got.posterior.mean, wanted.posterior.mean, atol=5e-3)


def test_poisson_draws_survive_enormous_rates():
    lik = ssep.likelihoods.Poisson()
    draws = jax.vmap(lambda key: lik.sample(key, jnp.array([30.0]), None))(jax.random.split(jax.random.key(0), 500))
    assert float(draws.mean()) == pytest.approx(np.exp(30.0), rel=1e-5)
    assert float(draws.std()) == pytest.approx(np.exp(15.0), rel=0.2)


def test_exposure_at_new_times_scales_counts_and_must_be_given():
    t, counts = ssep.datasets.coal()
    t, counts = t[:50], counts[:50]
    data = ssep.Data(t, counts, aux=np.full(50, t[1] - t[0]))
    solution = solve(ssep.SDEPrior(Matern32(1.0, 5.0)), ssep.likelihoods.Poisson(), data)
    one, ten = (ssep.predict(solution, [1900.0, 1855.0], aux=np.full(2, value)) for value in (1.0, 10.0))
    np.testing.assert_allclose(ten.y_mean, 10 * one.y_mean, rtol=1e-12)
    bare = ssep.predict(solution, [1900.0, 1855.0])
    np.testing.assert_allclose(bare.f_mean, one.f_mean)
    with pytest.raises(ValueError, match=r"`predict\(aux\)` must be given .* exposure"):
        bare.y_mean  # noqa: B018
    with pytest.raises(ValueError, match=r"`predict\(aux\)` must begin with the shape of the new observations"):
        ssep.predict(solution, [1900.0, 1855.0], aux=np.ones(3))
    for impossible in (0.0, -2.0):
        with pytest.raises(ValueError, match=r"`Poisson` needs positive exposures .* at position 1"):
            ssep.predict(solution, [1900.0, 1855.0], aux=np.array([1.0, impossible]))
        with pytest.raises(ValueError, match="`Poisson` needs positive exposures"):
            ssep.sample(jax.random.key(0), solution, [1900.0, 1855.0], aux=np.array([1.0, impossible]))
    unknown = ssep.predict(solution, [1900.0, 1855.0], aux=np.array([np.nan, 1.0]))
    assert np.isnan(unknown.y_mean).tolist() == [True, False]


@pytest.mark.parametrize("wrap", [lambda lik: lik, ssep.likelihoods.ZeroInflated])
def test_trials_at_new_times_must_be_possible(wrap):
    data = ssep.Data(np.arange(4.0), np.array([1.0, 2.0, 0.0, 3.0]), aux=np.full(4, 3.0))
    lik = wrap(ssep.likelihoods.Binomial())
    solution = solve(ssep.SDEPrior(Matern32(1.0, 5.0)), lik, data)
    for impossible in (0.0, 2.5):
        with pytest.raises(ValueError, match="`Binomial` needs positive whole trials"):
            ssep.predict(solution, [1.5], aux=np.array([impossible]))


def test_log_prob_checks_its_observations():
    prior, lik, data, *_ = build(33, "poisson")
    prediction = ssep.predict(solve(prior, lik, data), [1.0, 2.0])
    assert np.isnan(prediction.log_prob([1.0, np.nan])).tolist() == [False, True]
    with pytest.raises(ValueError, match="non-negative integer"):
        prediction.log_prob([1.0, 0.5])
    with pytest.raises(ValueError, match="one value per time"):
        prediction.log_prob([1.0])
    with pytest.raises(ValueError, match=r"quantile\(q\)` must lie between 0 and 1"):
        prediction.quantile(1.0)


@pytest.mark.parametrize("t_new", [3.0, [], [np.nan], [[1.0]]])
def test_bad_times_are_named(t_new):
    prior, lik, data, *_ = build(33, "poisson")
    with pytest.raises(ValueError, match=r"`predict\(t_new\)` must"):
        ssep.predict(solve(prior, lik, data), t_new)


def test_a_fit_predicts_as_its_solution():
    prior, lik, data, *_ = build(33, "poisson")
    solution = solve(prior, lik, data)
    fit = ssep.Fit(solution, jnp.zeros(1), (prior, lik))
    np.testing.assert_array_equal(ssep.predict(fit, [1.0]).f_mean, ssep.predict(solution, [1.0]).f_mean)


def test_components_equal_dense_conditioning():
    """Each term of a sum given the sites, with the covariance between terms."""
    rng = np.random.default_rng(4)
    t, y = np.sort(rng.uniform(0, 5, 12)), rng.poisson(2.0, 12).astype(float)
    terms = [(Matern52(0.8, 2.0), 2), (Matern12(0.5, 0.4), 0)]
    prior = ssep.SDEPrior(terms[0][0] + terms[1][0], mean=0.3)
    solution = solve(prior, ssep.likelihoods.Poisson(), ssep.Data(t, y))
    t_new = np.array([7.0, 1.5, -1.0])
    parts = ssep.components(solution, t_new)
    grams = [
        [oracle.matern(order, float(k.variance), float(k.lengthscale), a, b) for k, order in terms]
        for a, b in ((t, t), (t_new, t), (t_new, t_new))
    ]
    precision = np.diag(np.asarray(solution.sites.precision)[:, 0, 0])
    pull = np.asarray(solution.sites.linear)[:, 0] - precision @ np.full(12, 0.3)
    shrink = np.linalg.inv(np.eye(12) + precision @ sum(grams[0]))
    for i in range(2):
        np.testing.assert_allclose(parts[i].mean, grams[1][i] @ shrink @ pull, rtol=0, atol=1e-9)
        for j in range(2):
            cov = (grams[2][i] if i == j else 0) - grams[1][i] @ shrink @ precision @ grams[1][j].T
            np.testing.assert_allclose(parts.cov[:, i, j], np.diag(cov), rtol=0, atol=1e-9)
        np.testing.assert_allclose(parts[i].var, parts.cov[:, i, i])
    whole = ssep.predict(solution, t_new)
    np.testing.assert_allclose(parts[0].mean + parts[1].mean + 0.3, whole.f_mean[:, 0], rtol=0, atol=1e-9)


def test_components_of_several_latents_are_labelled():
    prior, lik, data, *_ = build(34, "heteroscedastic")
    prior = ssep.SDEPrior((Matern32(1.0, 1.0) + Matern12(0.5, 1.0), Matern32(1.0, 2.0)))
    parts = ssep.components(solve(prior, lik, data, max_sweeps=2))
    assert [(part.latent, type(part.kernel).__name__) for part in parts.terms] == [
        (0, "Matern32"),
        (0, "Matern12"),
        (1, "Matern32"),
    ]
    assert len(parts) == 3
    assert parts[2].mean.shape == data.t.shape


def test_quantiles_of_the_normal_are_accurate():
    prediction, *_ = predictive("gaussian")
    levels = np.array([1e-6, 0.2, 0.9999])
    wanted = stats.norm(0.4, np.sqrt(0.5 + 0.3)).ppf(levels)
    np.testing.assert_allclose(prediction.quantile(levels)[:, 0], wanted, rtol=1e-9)


def test_log_prob_of_student_t_integrates_to_one():
    prediction, *_ = predictive("student")
    total, _ = integrate.quad(lambda y: float(np.exp(prediction.log_prob([y])[0])), -60, 60, limit=200)
    assert total == pytest.approx(1, abs=1e-3)


def test_a_prior_gives_the_covariances_of_all_pairs_of_latents():
    kernels = (ssep.kernels.Matern32(1.5, 2.0), ssep.kernels.Matern12(0.7, 3.0))
    t, y = np.array([0.0, 1.0, 2.5]), np.ones((3, 2))
    got = ssep.SDEPrior(kernels).covariance(ssep.Data(t, y).locations)
    assert got.shape == (3, 2, 2, 3, 2, 2)
    gap = np.abs(t[:, None] - t)
    scaled = np.sqrt(3) * gap / 2.0
    wanted = np.stack([1.5 * (1 + scaled) * np.exp(-scaled), 0.7 * np.exp(-gap / 3.0)])
    for first, second in np.ndindex(2, 2):
        np.testing.assert_allclose(got[:, first, :, :, second, :], np.einsum("aij,ab->iajb", wanted, np.eye(2)))
