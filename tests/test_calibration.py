"""Probability integral transforms agree with SciPy, and are uniform when they should be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import ssep
from ssep.cubature import Dense
from ssep.likelihoods import CensoredGaussian, Gaussian, IntervalGaussian, Outputs, Poisson
from ssep.marginals import Marginals
from tests.catalogue import ENTRIES

KEY = jax.random.key(3)
T = np.linspace(0, 6, 12)
KERNEL = ssep.kernels.Matern32(1.0, 2.0)
PRIOR = ssep.SDEPrior(KERNEL)


def matern32(t):
    distance = np.sqrt(3) * np.abs(t[:, None] - t) / 2.0
    return (1 + distance) * np.exp(-distance)


def left_out(t, y, noise):
    """Means and deviations of each observation of a Gaussian process given all others, from the dense precision."""
    precision = np.linalg.inv(matern32(t) + noise * np.eye(len(t)))
    variance = 1 / np.diag(precision)
    return y - variance * (precision @ y), np.sqrt(variance)


def test_gaussian_transforms_are_those_of_the_dense_process_without_each_observation():
    y = np.sin(T) + 0.3 * np.cos(9 * T)
    y[4] = np.nan
    seen = ~np.isnan(y)
    values = ssep.pit(KEY, ssep.infer(PRIOR, Gaussian(0.2), ssep.CVI(), ssep.Data(T, y)))
    wanted = stats.norm.cdf(y[seen], *left_out(T[seen], y[seen], 0.2))
    np.testing.assert_allclose(values[seen], wanted, atol=1e-9)
    assert np.isnan(values[4])


def test_transforms_of_new_counts_lie_where_the_distribution_function_jumps():
    rng = np.random.default_rng(0)
    solution = ssep.infer(PRIOR, Poisson(), ssep.PowerEP(), ssep.Data(T, rng.poisson(2.0, 12).astype(float)))
    t_new, y_new = np.array([0.7, 3.3, 8.0]), np.array([0.0, 3.0, 2.0])
    prediction = ssep.predict(solution, t_new)

    def cdf(y, mean, deviation):
        integrand = lambda f: stats.norm.pdf(f, mean, deviation) * stats.poisson.cdf(y, np.exp(f))  # noqa: E731
        return integrate.quad(integrand, mean - 9 * deviation, mean + 9 * deviation)[0]

    moments = list(zip(prediction.f_mean[:, 0], np.sqrt(prediction.f_var[:, 0]), strict=True))
    before, after = (
        np.array([cdf(y - back, *each) for y, each in zip(y_new, moments, strict=True)]) for back in (1, 0)
    )
    new = ssep.Data(t_new, y_new)
    shares = np.array([(ssep.pit(key, solution, new) - before) / (after - before) for key in jax.random.split(KEY, 70)])
    assert stats.kstest(shares.ravel(), "uniform").pvalue > 0.05
    assert len(np.unique(shares)) == shares.size


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.cdf and entry.likelihood.discrete])
def test_a_jump_is_the_probability_of_the_observation(name):
    entry = ENTRIES[name]
    marginal = Marginals(jnp.linspace(0.2, -0.3, entry.latents), 0.3 * jnp.eye(entry.latents))
    aux = None if entry.aux is None else jnp.asarray(entry.aux)
    for value in (0, *entry.values):
        y = jnp.asarray(float(value))
        before, after = entry.likelihood.predictive_cdf_ends(y, marginal, aux, Dense())
        density = entry.likelihood.predictive_log_prob(y, marginal, aux, Dense())
        assert float(after - before) == pytest.approx(float(jnp.exp(density)), abs=1e-7)


def test_bounds_are_all_that_is_known_of_a_censored_or_rounded_reading():
    marginal = Marginals(jnp.array([0.4]), jnp.array([[0.5]]))
    law = stats.norm(0.4, np.sqrt(0.5 + 0.2))
    cases = [(-1.0, (0.0, law.cdf(0.9))), (0.0, (law.cdf(0.9),) * 2), (1.0, (law.cdf(0.9), 1.0))]
    for side, wanted in cases:
        found = CensoredGaussian(0.2).predictive_cdf_ends(jnp.asarray(0.9), marginal, jnp.asarray(side), Dense())
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    found = IntervalGaussian(0.2).predictive_cdf_ends(jnp.asarray(0.9), marginal, jnp.asarray(1.5), Dense())
    np.testing.assert_allclose(found, (law.cdf(0.9), law.cdf(1.5)), atol=1e-12)


def test_an_output_is_transformed_by_its_own_likelihood():
    lik = Outputs((Gaussian(0.3), Poisson()), [[2.0], [0.5]])
    marginal = Marginals(jnp.array([0.4]), jnp.array([[0.5]]))
    for output, own, weight in [(0.0, Gaussian(0.3), 2.0), (1.0, Poisson(), 0.5)]:
        mixed = Marginals(weight * marginal.mean, weight**2 * marginal.cov)
        found = lik.predictive_cdf_ends(jnp.asarray(1.0), marginal, jnp.asarray(output), Dense())
        np.testing.assert_allclose(found, own.predictive_cdf_ends(jnp.asarray(1.0), mixed, None, Dense()), atol=1e-12)


def test_transforms_are_uniform_under_the_right_model_and_under_no_other():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 60, 300)
    f = np.linalg.cholesky(matern32(t) + 1e-9 * np.eye(300)) @ rng.normal(size=300)
    data = ssep.Data(t, f + np.sqrt(0.3) * rng.normal(size=300))
    pvalues = [
        stats.kstest(ssep.pit(KEY, ssep.infer(PRIOR, Gaussian(noise), ssep.CVI(), data)), "uniform").pvalue
        for noise in (0.3, 0.06, 2.0)
    ]
    assert pvalues[0] > 0.05
    assert max(pvalues[1:]) < 1e-3


def test_new_data_must_fit():
    solution = ssep.infer(PRIOR, Gaussian(0.2), ssep.CVI(), ssep.Data(T, T))
    with pytest.raises(ValueError, match=r"`pit\(data\)` must have an observation; got none"):
        ssep.pit(KEY, solution, ssep.Data([1.0], [np.nan]))
