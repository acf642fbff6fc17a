"""Cubature rules integrate polynomials exactly to their degree, and smooth functions ever better."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import ssep
from ssep.likelihoods.base import tilted_by_cubature
from ssep.marginals import Marginals

RULES = [
    (ssep.GaussHermite(3), 5),
    (ssep.GaussHermite(4), 7),
    (ssep.Unscented3(), 3),
    (ssep.Unscented5(), 5),
    (ssep.SparseGrid(2), 3),
    (ssep.SparseGrid(4), 7),
]


def normal_moment(powers):
    """E[prod z_i^p_i] of a standard normal."""
    return math.prod(special.factorial2(p - 1) if p % 2 == 0 and p > 0 else float(p == 0) for p in powers)


@pytest.mark.parametrize(("rule", "degree"), RULES)
@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_exact_for_polynomials_up_to_the_degree(rule, degree, dim):
    z, weights = rule.standard(dim)
    for powers in itertools.product(range(degree + 1), repeat=dim):
        if sum(powers) <= degree:
            value = weights @ np.prod(z ** np.array(powers), axis=1)
            assert value == pytest.approx(normal_moment(powers), abs=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_unscented_rules_have_the_published_number_of_points(dim):
    assert len(ssep.Unscented3().standard(dim)[1]) == 2 * dim
    assert len(ssep.Unscented5().standard(dim)[1]) == 2 * dim**2 + 1


def test_points_have_the_mean_and_covariance_of_the_gaussian():
    mean, cov = jnp.array([0.3, -1.0]), jnp.array([[1.0, 0.6], [0.6, 0.9]])
    for rule, _ in RULES:
        points = rule.points(Marginals(mean, cov))
        np.testing.assert_allclose(points.expect(points.f), mean, atol=1e-13)
        centred = points.f - mean
        np.testing.assert_allclose(points.expect(centred[:, :, None] * centred[:, None]), cov, atol=1e-13)


def test_nodes_are_computed_once():
    assert ssep.GaussHermite(17).standard(2)[0] is ssep.GaussHermite(17).standard(2)[0]


@pytest.mark.parametrize("lik", [ssep.likelihoods.Bernoulli(), ssep.likelihoods.StudentT(4.0, 0.7)])
def test_expectations_converge_with_the_degree(lik):
    mean, variance, y = 0.4, 0.8, 1.0

    def density(f):
        return stats.norm.pdf(f, mean, np.sqrt(variance))

    def log_prob(f):
        return float(lik.log_prob(jnp.asarray(y), jnp.array([f]), None))

    expected_log = integrate.quad(lambda f: density(f) * log_prob(f), -12, 12, epsabs=1e-13)[0]
    log_expected = np.log(integrate.quad(lambda f: density(f) * np.exp(log_prob(f)), -12, 12, epsabs=1e-13)[0])
    marginal = Marginals(jnp.array([mean]), jnp.array([[variance]]))
    for wanted, value in [
        (expected_log, lambda rule: lik.expected_log_prob(jnp.asarray(y), marginal, None, rule)),
        (log_expected, lambda rule: lik.tilted(jnp.asarray(y), marginal, 1.0, None, rule).log_normaliser),
    ]:
        errors = [abs(float(value(ssep.GaussHermite(degree))) - wanted) for degree in (4, 8, 16, 32, 64)]
        assert all(later < earlier for earlier, later in itertools.pairwise(errors)) or errors[-1] < 1e-12
        assert errors[-1] < 1e-7


def test_sparse_grids_have_few_points_and_improve():
    # The mean; and, where one dimension at a time has two points, the mean with two points on each axis.
    assert len(ssep.SparseGrid(1).standard(5)[1]) == 1
    assert len(ssep.SparseGrid(2).standard(5)[1]) == 2 * 5 + 1
    assert len(ssep.SparseGrid(6).standard(6)[1]) < 6**6 / 10
    # E[cos(sum z / sqrt(d))] = exp(-1/2).
    for dim in (4, 6):
        errors = []
        for accuracy in (2, 4, 6):
            z, weights = ssep.SparseGrid(accuracy).standard(dim)
            errors.append(abs(weights @ np.cos(z.sum(1) / np.sqrt(dim)) - np.exp(-0.5)))
        assert errors[2] < errors[1] < errors[0]
        assert errors[2] < 1e-4


def test_sparse_grids_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match=r"`SparseGrid\(8\)` must have at most 20000 points; got \d+ for 6 latents"):
        ssep.SparseGrid(8).standard(6)
    with pytest.raises(ValueError, match=r"`SparseGrid\(accuracy\)` must be an integer from 1 to 20; got 0"):
        ssep.SparseGrid(0)


SHARP = {
    "large count": (ssep.likelihoods.Poisson(), 1600.0, 0.0, 4.0),
    "huge count": (ssep.likelihoods.NegativeBinomial(300.0), 1e6, 0.0, 9.0),
    "sure label": (ssep.likelihoods.Bernoulli(), 1.0, -9.0, 1.0),
    "small noise": (ssep.likelihoods.LogNormal(1e-6), 2.0, 0.0, 1.0),
    "nothing special": (ssep.likelihoods.Poisson(), 3.0, 1.0, 0.2),
    "far above": (ssep.likelihoods.Poisson(), 3.0, 60.0, 1.0),
    "far below": (ssep.likelihoods.Poisson(), 1e5, 0.0, 0.01),
    "wide": (ssep.likelihoods.Poisson(), 1e5, 0.0, 1e6),
}


def log_prob_on(lik, y, f):
    return np.asarray(jax.vmap(lambda at: lik.log_prob(jnp.asarray(y), at[None], None))(jnp.asarray(f)))


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("name", SHARP)
def test_adaptive_nodes_find_sharp_likelihoods(name, alpha):
    lik, y, mean, variance = SHARP[name]
    # On a grid around the mode, which is refined where the integrand is.
    f = np.linspace(mean - 80, mean + 80, 80_001)
    for _ in range(3):
        log_values = stats.norm(mean, np.sqrt(variance)).logpdf(f) + alpha * log_prob_on(lik, y, f)
        log_values = np.where(np.isnan(log_values), -np.inf, log_values)
        near = f[log_values > log_values.max() - 60]
        step = f[1] - f[0]
        f = np.linspace(near[0] - step, near[-1] + step, 20_001)
    log_values = stats.norm(mean, np.sqrt(variance)).logpdf(f) + alpha * log_prob_on(lik, y, f)
    weights = np.exp(log_values - log_values.max())
    total = weights.sum() * (f[1] - f[0])
    centre = (weights @ f) / weights.sum()
    spread = weights @ (f - centre) ** 2 / weights.sum()
    marginal = Marginals(jnp.array([mean]), jnp.array([[variance]]))
    found = tilted_by_cubature(lik, jnp.asarray(y), marginal, alpha, None, ssep.Adaptive(30))
    assert float(found.log_normaliser) == pytest.approx(log_values.max() + np.log(total), abs=2e-6)
    assert float(found.gradient[0]) == pytest.approx((centre - mean) / variance, rel=1e-5, abs=1e-7)
    assert float(variance + variance**2 * found.hessian[0, 0]) == pytest.approx(spread, rel=1e-3)


def test_adaptive_nodes_of_two_latents_agree_with_many_fixed_ones():
    lik = ssep.likelihoods.Categorical(2)
    marginal = Marginals(jnp.array([2.0, 0.1]), jnp.array([[1.0, 0.3], [0.3, 0.5]]))
    wanted = tilted_by_cubature(lik, jnp.asarray(1.0), marginal, 0.7, None, ssep.GaussHermite(80))
    found = tilted_by_cubature(lik, jnp.asarray(1.0), marginal, 0.7, None, ssep.Adaptive(40))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)


def test_derivatives_through_adaptive_nodes_equal_finite_differences():
    @jax.jit
    def energy(parameters):
        mean, variance, concentration = parameters
        lik = ssep.likelihoods.NegativeBinomial(concentration)
        marginal = Marginals(mean[None], variance[None, None])
        return tilted_by_cubature(lik, jnp.asarray(900.0), marginal, 0.5, None, ssep.Adaptive(30)).log_normaliser

    at = jnp.array([1.0, 4.0, 200.0])
    slopes = jax.grad(energy)(at)
    for index, step in enumerate((1e-4, 1e-4, 1e-2)):
        change = jnp.zeros(3).at[index].set(step)
        assert float(slopes[index]) == pytest.approx(
            float(energy(at + change) - energy(at - change)) / (2 * step), rel=1e-4
        )


def test_power_ep_learns_from_large_counts_with_adaptive_nodes():
    rng = np.random.default_rng(0)
    t = np.arange(60.0)
    y = rng.poisson(1500 * np.exp(0.3 * np.sin(t / 6)))
    prior, lik = ssep.SDEPrior(ssep.kernels.Matern32(4.0, 20.0), mean=5.0), ssep.likelihoods.Poisson()
    found = ssep.infer(prior, lik, ssep.PowerEP(0.5, ssep.Adaptive(20)), ssep.Data(t, y))
    wanted = ssep.infer(prior, lik, ssep.CVI(), ssep.Data(t, y))
    # So sharp a likelihood is nearly Gaussian, and all rules agree.
    np.testing.assert_allclose(found.posterior.mean, wanted.posterior.mean, atol=1e-3)
    np.testing.assert_allclose(found.posterior.cov, wanted.posterior.cov, rtol=1e-2)
    assert float(found.energy) < 1000


def test_a_degree_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"`GaussHermite\(degree\)` must be an integer from 1 to 100; got 0"):
        ssep.Adaptive(0)
