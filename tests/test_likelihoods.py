"""Each likelihood is a distribution, and its moments, measurement model and closed forms belong to it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import ssep
from ssep.likelihoods.base import tilted_by_cubature
from ssep.marginals import Marginals
from tests import oracle_likelihoods as dense

REAL, COUNT, LABEL = "real", "count", "label"
# name: (library, oracle, latents, support)
LIKELIHOODS = {
    "gaussian": (ssep.likelihoods.Gaussian(0.3), dense.Gaussian(0.3), 1, REAL),
    "poisson": (ssep.likelihoods.Poisson(), dense.Poisson(), 1, COUNT),
    "poisson-softplus": (ssep.likelihoods.Poisson(link=ssep.links.softplus), dense.PoissonSoftplus(), 1, COUNT),
    "bernoulli": (ssep.likelihoods.Bernoulli(), dense.Bernoulli(), 1, LABEL),
    "probit": (ssep.likelihoods.Bernoulli(link=ssep.links.probit), dense.BernoulliProbit(), 1, LABEL),
    "student": (ssep.likelihoods.StudentT(5.0, 0.6), dense.StudentT(5.0, 0.6), 1, REAL),
    "heteroscedastic": (ssep.likelihoods.HeteroscedasticGaussian(), dense.HeteroscedasticGaussian(), 2, REAL),
    "demodulation-2": (ssep.likelihoods.AmplitudeDemodulation(0.4), dense.AmplitudeDemodulation(0.4, 2), 4, REAL),
    "demodulation-3": (ssep.likelihoods.AmplitudeDemodulation(0.4), dense.AmplitudeDemodulation(0.4, 3), 6, REAL),
}
names = pytest.mark.parametrize("name", LIKELIHOODS)
latent_values = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(0, 1.2, 6))


@eqx.filter_jit
def log_probs(lik, y, f):
    return jax.vmap(lambda one: lik.log_prob(one, f, None))(y)


def integral(lik, f, support, function):
    """Sum or integral over y of p(y|f) function(y), given log_prob only."""
    if support == REAL:
        centre, spread = (float(part) for part in lik.conditional_moments(f, None))
        # The tails of Student's distribution reach far; y = sinh(u) makes them short for the trapezoidal rule.
        u = np.linspace(-25, 25, 4001)
        y = centre + np.sqrt(spread) * np.sinh(u)
        weights = (u[1] - u[0]) * np.cosh(u) * np.sqrt(spread)
    else:
        y = np.arange(400.0) if support == COUNT else np.array([0.0, 1.0])
        weights = np.ones_like(y)
    return np.sum(weights * np.exp(log_probs(lik, jnp.asarray(y), f)) * function(y))


@names
@given(values=latent_values)
def test_log_prob_normalises_and_has_the_conditional_moments(name, values):
    lik, _, latents, support = LIKELIHOODS[name]
    f = jnp.asarray(values[:latents])
    mean, variance = map(float, lik.conditional_moments(f, None))
    assert integral(lik, f, support, np.ones_like) == pytest.approx(1, abs=1e-9)
    assert integral(lik, f, support, lambda y: y) == pytest.approx(mean, abs=1e-8)
    assert integral(lik, f, support, lambda y: (y - mean) ** 2) == pytest.approx(variance, rel=1e-6)


@names
@given(values=latent_values, y=st.integers(0, 1))
def test_log_prob_equals_scipy(name, values, y):
    lik, wanted, latents, _ = LIKELIHOODS[name]
    f = values[:latents]
    assert lik.log_prob(jnp.asarray(float(y)), jnp.asarray(f), None) == pytest.approx(
        wanted.log_prob(y, f[None])[0], rel=1e-11, abs=1e-11
    )


@names
@given(values=latent_values)
def test_measurement_has_the_conditional_moments(name, values):
    lik, _, latents, _ = LIKELIHOODS[name]
    f = jnp.asarray(values[:latents])
    mean, variance = map(float, lik.conditional_moments(f, None))
    z, w = np.polynomial.hermite_e.hermegauss(10)
    h = np.array([float(lik.measurement(f, jnp.asarray(sigma), None)) for sigma in z])
    w = w / w.sum()
    assert w @ h == pytest.approx(mean, abs=1e-12)
    assert w @ (h - w @ h) ** 2 == pytest.approx(variance, rel=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "probit"])
@given(mean=st.floats(-3, 3), variance=st.floats(0.05, 2), y=st.integers(0, 1))
def test_closed_tilted_form_is_the_limit_of_cubature(name, mean, variance, y):
    lik = LIKELIHOODS[name][0]
    marginal = Marginals(jnp.array([mean]), jnp.array([[variance]]))
    closed = lik.tilted(jnp.asarray(float(y)), marginal, 1.0, None, ssep.GaussHermite(1))
    general = tilted_by_cubature(lik, jnp.asarray(float(y)), marginal, 1.0, None, ssep.GaussHermite(100))
    for exact, approximate in zip(jax.tree.leaves(closed), jax.tree.leaves(general), strict=True):
        np.testing.assert_allclose(exact, approximate, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
@given(mean=st.floats(-3, 3), variance=st.floats(0.05, 2), y=st.integers(0, 1))
def test_closed_expected_log_prob_equals_cubature(name, mean, variance, y):
    lik = LIKELIHOODS[name][0]
    marginal = Marginals(jnp.array([mean]), jnp.array([[variance]]))
    closed = lik.expected_log_prob(jnp.asarray(float(y)), marginal, None, ssep.GaussHermite(1))
    general = ssep.Likelihood.expected_log_prob(lik, jnp.asarray(float(y)), marginal, None, ssep.GaussHermite(40))
    np.testing.assert_allclose(closed, general, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["gaussian", "probit", "bernoulli", "student", "heteroscedastic"])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_tilted_derivatives_are_those_of_the_log_normaliser(name, alpha):
    lik, _, latents, _ = LIKELIHOODS[name]
    # The noise of the second latent stays away from zero, where its likelihood is too sharp for any fixed rule.
    mean, cov = jnp.array([0.2, 2.0])[:latents], jnp.array([[0.5, 0.05], [0.05, 0.1]])[:latents, :latents]
    rule, y = ssep.GaussHermite(60), jnp.asarray(1.0)

    def log_normaliser(m):
        return lik.tilted(y, Marginals(m, cov), alpha, None, rule).log_normaliser

    tilted = lik.tilted(y, Marginals(mean, cov), alpha, None, rule)
    np.testing.assert_allclose(tilted.gradient, jax.grad(log_normaliser)(mean), rtol=0, atol=1e-7)
    np.testing.assert_allclose(tilted.hessian, jax.hessian(log_normaliser)(mean), rtol=0, atol=1e-6)


@pytest.mark.parametrize("f", [-800.0, -100.0, -40.0, 0.0, 40.0, 800.0])
@pytest.mark.parametrize("link", [ssep.links.softplus, ssep.links.logistic, ssep.links.probit])
def test_links_have_finite_logarithms_and_slopes_in_the_tails(link, f):
    value, slope = jax.value_and_grad(link.log)(jnp.asarray(f))
    assert np.isfinite(value)
    assert np.isfinite(slope)
    assert link(jnp.asarray(f)) == pytest.approx(np.exp(value), rel=1e-12, abs=1e-300)


def test_negative_weights_cannot_make_a_negative_normaliser():
    # Six latents: the axis points of Unscented5 weigh -1/9. A likelihood that lives there would sum to less than zero.
    class AxisOnly(ssep.Likelihood):
        def log_prob(self, y, f, aux):
            return -50.0 * (jnp.abs(f[0]) - np.sqrt(3)) ** 2 - 50.0 * jnp.sum(f[1:] ** 2)

    marginal = Marginals(jnp.zeros(6), jnp.eye(6))
    tilted = AxisOnly().tilted(jnp.asarray(0.0), marginal, 1.0, None, ssep.Unscented5())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tilted))


def test_integration_of_the_heteroscedastic_normaliser():
    lik = LIKELIHOODS["heteroscedastic"][0]
    mean, cov, y = np.array([0.2, 2.0]), np.array([[0.5, 0.1], [0.1, 0.2]]), 0.7
    inverse, scale = np.linalg.inv(cov), 2 * np.pi * np.sqrt(np.linalg.det(cov))

    def integrand(f2, f1):
        r = np.array([f1, f2]) - mean
        noise = np.logaddexp(0, f2 - 0.5)
        return np.exp(-r @ inverse @ r / 2 - (y - f1) ** 2 / noise**2 / 2) / noise / np.sqrt(2 * np.pi) / scale

    wanted = np.log(integrate.dblquad(integrand, -5, 5, -5, 5, epsabs=1e-10)[0])
    marginal = Marginals(jnp.asarray(mean), jnp.asarray(cov))
    tilted = lik.tilted(jnp.asarray(y), marginal, 1.0, None, ssep.GaussHermite(50))
    assert float(tilted.log_normaliser) == pytest.approx(wanted, abs=1e-6)
