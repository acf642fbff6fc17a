"""Cubature rules integrate polynomials exactly to their degree, and smooth functions ever better."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import ssep
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
