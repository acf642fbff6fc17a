"""Paths have the joint distribution they should have, and importance weights correct them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import ssep
from ssep.kernels import Constant, Matern32
from tests.test_predict import solve
from tests.test_sweep import build

COUNT = 20_000


def assert_moments(paths, mean, cov):
    """Sample moments within five standard errors, of the mean and of each entry of the covariance."""
    flat = np.asarray(paths).reshape(COUNT, -1)
    mean, cov = np.ravel(mean), np.reshape(cov, (flat.shape[1], -1))
    error = np.sqrt(np.diag(cov) / COUNT)
    np.testing.assert_array_less(np.abs(flat.mean(0) - mean), 5 * error + 1e-12)
    spread = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / COUNT)
    np.testing.assert_array_less(np.abs(np.cov(flat.T) - cov), 5 * spread + 1e-12)


@pytest.mark.parametrize(("name", "shape"), [("poisson", (9,)), ("heteroscedastic", (9, 2))])
def test_posterior_paths_have_the_joint_posterior_covariance(name, shape):
    prior, lik, data, *_ = build(41, name, shape)
    solution = solve(prior, lik, data, max_sweeps=3)
    t_new = np.array([8.0, 1.0, 2.5, -1.0, 1.0, float(data.t[4])])
    wanted = ssep.predict(solution, t_new, joint=True)
    paths = ssep.sample(jax.random.key(0), solution, t_new, COUNT)
    assert paths.f.shape == (COUNT, 6, prior.num_latents)
    assert paths.y is not None
    assert paths.y.shape == (COUNT, 6)
    assert_moments(paths.f, wanted.f_mean, wanted.f_joint_cov)
    # Equal times see equal latents, but their observations differ.
    np.testing.assert_allclose(paths.f[:, 1], paths.f[:, 4], atol=1e-6)
    assert np.abs(np.asarray(paths.y[:, 1] - paths.y[:, 4])).max() > 0.1
    error = 5 * np.sqrt(np.asarray(wanted.y_var) / COUNT)
    if name == "poisson":
        np.testing.assert_array_less(np.abs(paths.y.mean(0) - wanted.y_mean), error)


def test_prior_paths_have_the_covariance_of_the_kernel():
    kernel = Matern32(1.3, 0.8) + Constant(0.5)
    t = np.array([3.0, 0.0, 0.4, 0.4])
    paths = ssep.sample(jax.random.key(1), ssep.SDEPrior(kernel, mean=lambda s: 2 * s), t, COUNT)
    assert_moments(paths.f, 2 * t, kernel.gram(t, t))
    assert paths.y is None
    lik = ssep.likelihoods.Gaussian(0.3)
    noisy = ssep.sample(jax.random.key(1), ssep.SDEPrior(kernel), t, COUNT, lik=lik)
    assert_moments(noisy.y, np.zeros(4), np.asarray(kernel.gram(t, t)) + 0.3 * np.eye(4))


def test_paths_and_keys_are_independent():
    prior, lik, data, *_ = build(42, "poisson")
    solution = solve(prior, lik, data)
    t_new = np.linspace(0, 7, 30)
    first, again, other = (ssep.sample(jax.random.key(k), solution, t_new, 40).f for k in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(np.round(np.concatenate([first, other])[..., 0], 12), axis=0)) == 80
    # The draws of different paths are not shifted copies of each other.
    innovations = np.asarray(ssep.sample(jax.random.key(0), ssep.SDEPrior(Matern32(1.0, 1e-3)), t_new, 10).f).ravel()
    assert len(np.unique(np.round(innovations, 12))) == innovations.size


def test_a_likelihood_that_cannot_draw_gives_latents_only():
    class OnlyDensity(ssep.Likelihood):
        def log_prob(self, y, f, aux):
            return -((y - f[0]) ** 2)

    data = ssep.Data(np.arange(4.0), np.array([0.1, 0.2, -0.3, 0.5]))
    solution = ssep.infer(ssep.SDEPrior(Matern32(1.0, 1.0)), OnlyDensity(), ssep.PowerEP(), data)
    assert ssep.sample(jax.random.key(0), solution, [1.0, 2.0]).y is None
    with pytest.raises(ValueError, match=r"OnlyDensity.cdf\(y, f, aux\)` is needed for quantiles"):
        ssep.predict(solution, [1.0]).quantile(0.5)
    with pytest.raises(ValueError, match=r"y_mean` needs `conditional_moments"):
        ssep.predict(solution, [1.0]).y_mean  # noqa: B018


def test_without_the_extras_of_the_data_no_observation_is_drawn():
    data = ssep.Data(np.arange(4.0), np.array([20.0, 30.0, 25.0, 22.0]), aux=[10.0, 10.0, 10.0, 10.0])
    prior, lik = ssep.SDEPrior(Matern32(1.0, 1.0)), ssep.likelihoods.Poisson()
    solution = ssep.infer(prior, lik, ssep.CVI(), data)
    assert ssep.sample(jax.random.key(0), solution, [1.0, 2.0]).y is None
    paths = ssep.sample(jax.random.key(0), solution, [1.0, 2.0], 500, aux=[10.0, 10.0])
    assert 20 < float(paths.y.mean()) < 32
    with pytest.raises(ValueError, match="must come with the same `aux`"):
        ssep.nlpd(solution, ssep.Data([1.5], [20.0]))


def test_indefinite_sites_are_refused():
    prior, lik, data, *_ = build(43, "poisson")
    solution = solve(prior, lik, data)
    import equinox as eqx

    broken = eqx.tree_at(lambda s: s.sites.precision, solution, -0.1 * solution.sites.precision)
    with pytest.raises(ValueError, match=r"`sample\(solution\)` needs sites with positive semi-definite"):
        ssep.sample(jax.random.key(0), broken, [1.0])


def test_importance_weights_recover_the_exact_evidence_and_posterior():
    """Two labels, integrated on a grid."""
    t, y = np.array([0.0, 0.7]), np.array([1.0, 0.0])
    kernel = Matern32(2.0, 1.0)
    solution = ssep.infer(ssep.SDEPrior(kernel), ssep.likelihoods.Bernoulli(), ssep.CVI(), ssep.Data(t, y))
    corrected = ssep.importance_correct(jax.random.key(5), solution, COUNT)
    z = np.linspace(-9, 9, 401)
    grid = np.stack(np.meshgrid(z, z, indexing="ij"), -1).reshape(-1, 2)
    cov = np.asarray(kernel.gram(t, t))
    log_joint = -0.5 * np.einsum("ni,ij,nj->n", grid, np.linalg.inv(cov), grid) - 0.5 * np.linalg.slogdet(cov)[1]
    log_joint += np.log((z[1] - z[0]) ** 2 / (2 * np.pi)) + special.log_expit((2 * y - 1) * grid).sum(1)
    evidence = special.logsumexp(log_joint)
    mean = np.exp(log_joint - evidence) @ grid
    error = np.sqrt(1 / float(corrected.effective_sample_size))
    assert float(corrected.log_evidence) == pytest.approx(evidence, abs=4 * error)
    np.testing.assert_allclose(corrected.posterior.mean[:, 0], mean, atol=4 * 1.5 * error)
    assert 0.2 * COUNT < float(corrected.effective_sample_size) < COUNT
    assert float(corrected.weights.sum()) == pytest.approx(1)


def test_importance_weights_of_a_gaussian_likelihood_are_equal():
    prior, lik, data, *_ = build(44, "gaussian", (9, 2))
    solution = ssep.infer(prior, lik, ssep.PowerEP(), data)
    corrected = ssep.importance_correct(jax.random.key(5), solution, 100)
    assert float(corrected.log_evidence) == pytest.approx(-float(solution.energy), abs=1e-8)
    assert float(corrected.effective_sample_size) == pytest.approx(100, abs=1e-5)
    assert corrected.paths.shape == (100, 9, 2, 1)


def test_pareto_k_is_that_of_the_weights():
    pytest.importorskip("arviz_stats")
    from ssep.checking import _pareto_k

    rng = np.random.default_rng(0)
    # Ratios with a Pareto tail of known index.
    for index in (0.3, 0.9):
        log_weights = -index * np.log(rng.uniform(size=50_000))
        assert _pareto_k(log_weights) == pytest.approx(index, abs=0.1)


@pytest.mark.parametrize("count", [0, 2.5])
def test_numbers_of_paths_are_checked(count):
    prior, lik, data, *_ = build(45, "poisson")
    solution = solve(prior, lik, data)
    assert jnp.isfinite(solution.energy)
    with pytest.raises((ValueError, TypeError)):
        ssep.sample(jax.random.key(0), solution, [1.0], count)
