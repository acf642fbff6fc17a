"""Every likelihood of the catalogue is its distribution: against SciPy, and against the dense rules."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import ssep
from ssep.likelihoods.base import tilted_by_cubature
from ssep.marginals import Marginals
from tests import oracle
from tests.catalogue import ENTRIES, FromSciPy

names = pytest.mark.parametrize("name", ENTRIES)
DEGREE = {1: 60, 2: 20, 3: 12}


def latents(entry, count=40, seed=0):
    return np.random.default_rng(seed).normal(0, 1.2, (count, entry.latents))


def extra(entry):
    return None if entry.aux is None else jnp.asarray(entry.aux)


def at_all(function, f):
    """A function of the latents at each row."""
    return eqx.filter_jit(jax.vmap(function))(jnp.asarray(f))


@names
def test_log_prob_is_that_of_scipy(name):
    entry, f = ENTRIES[name], latents(ENTRIES[name])
    oracle_likelihood = FromSciPy(entry)
    for y in entry.values:
        got = at_all(lambda each, y=y: entry.likelihood.log_prob(jnp.asarray(float(y)), each, extra(entry)), f)
        np.testing.assert_allclose(got, oracle_likelihood.log_prob(y, f), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.cdf])
def test_cdf_is_that_of_scipy(name):
    entry, f = ENTRIES[name], latents(ENTRIES[name])
    given = entry.given(f, entry.aux)
    for y in entry.values:
        got = at_all(lambda each, y=y: entry.likelihood.cdf(jnp.asarray(float(y)), each, extra(entry)), f)
        np.testing.assert_allclose(got, given.cdf(y), rtol=0, atol=1e-9)
    outside = at_all(lambda each: entry.likelihood.cdf(jnp.asarray(-0.5), each, extra(entry)), f)
    if entry.support != "real":
        assert (np.asarray(outside) == 0).all()


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.moments])
def test_moments_are_those_of_scipy(name):
    entry, f = ENTRIES[name], latents(ENTRIES[name])
    mean, variance = at_all(lambda each: entry.likelihood.conditional_moments(each, extra(entry)), f)
    given = entry.given(f, entry.aux)
    np.testing.assert_allclose(mean, given.mean(), rtol=1e-8)
    np.testing.assert_allclose(variance, given.var(), rtol=1e-7, atol=1e-12)
    # The measurement has these moments: Gauss-Hermite with three nodes is exact for a square.
    nodes, weights = np.array([-np.sqrt(3), 0.0, np.sqrt(3)]), np.array([1, 4, 1]) / 6
    h = np.stack(
        [at_all(lambda each, s=s: entry.likelihood.measurement(each, jnp.asarray(s), extra(entry)), f) for s in nodes]
    )
    np.testing.assert_allclose(weights @ h, mean, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(weights @ (h - weights @ h) ** 2, variance, rtol=1e-6, atol=1e-12)


@names
def test_draws_have_the_distribution(name):
    entry = ENTRIES[name]
    f = latents(entry, 1, seed=3)[0] / 2
    keys = jax.random.split(jax.random.key(0), 20_000)
    draws = np.asarray(
        eqx.filter_jit(jax.vmap(lambda key: entry.likelihood.sample(key, jnp.asarray(f), extra(entry))))(keys)
    )
    assert np.isfinite(draws).all()
    if entry.support == "known":
        mean, variance = f[0], 0.3
    elif entry.support == "angle":
        assert (np.abs(draws) <= np.pi).all()
        # The mean direction and its length, I1 / I0.
        draws, mean = np.cos(draws - f[0]), special.iv(1, 2.0) / special.iv(0, 2.0)
        variance = 1 - mean / 2.0 - mean**2
    else:
        given = entry.given(f[None], entry.aux)
        mean, variance = np.ravel(given.mean())[0], np.ravel(given.var())[0]
    assert draws.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / len(draws)))
    assert draws.var() == pytest.approx(variance, rel=0.15)
    for y in entry.values if entry.cdf else ():
        share = np.ravel(entry.given(f[None], entry.aux).cdf(y))[0]
        assert (draws <= y).mean() == pytest.approx(share, abs=5 * np.sqrt(0.25 / len(draws)))


@names
@pytest.mark.parametrize("f", [-30.0, -5.0, 5.0, 30.0])
def test_far_out_values_and_slopes_are_finite(name, f):
    entry = ENTRIES[name]
    at = f * jnp.array([1.0, -0.5, 0.2])[: entry.latents]

    def value(lik, f, y):
        return lik.log_prob(y, f, extra(entry))

    for y in entry.values:
        y = jnp.asarray(float(y))
        found = eqx.filter_jit(eqx.filter_value_and_grad(lambda both, y: value(*both, y)))((entry.likelihood, at), y)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found)), found
    if entry.moments:
        found = jax.jacrev(lambda f: entry.likelihood.measurement(f, jnp.asarray(0.5), extra(entry)))(at)
        assert np.isfinite(found).all()


RULES = {
    "PowerEP(0.5)": (lambda cubature: ssep.PowerEP(0.5, cubature), oracle.power_ep, 0.5),
    "PowerEP(1)": (lambda cubature: ssep.PowerEP(1.0, cubature), oracle.power_ep, 1.0),
    "ExtendedEP": (lambda cubature: ssep.ExtendedEP(0.5), oracle.extended_ep, 0.5),
    "StatLinEP": (lambda cubature: ssep.StatLinEP(0.5, cubature), oracle.stat_lin_ep, 0.5),
    "CVI": (ssep.CVI, oracle.cvi, 0.0),
}


def nodes_for(dim):
    """Very many nodes for one latent, so that closed forms meet the truth; those of the library for more."""
    if dim > 1:
        return oracle.gauss_hermite(DEGREE[dim], dim)
    z = np.linspace(-9, 9, 36_001)
    weights = np.exp(-(z**2) / 2)
    return z[:, None], weights / weights.sum()


@names
@pytest.mark.parametrize("rule", RULES)
def test_sites_are_those_of_the_dense_rules(name, rule):
    entry = ENTRIES[name]
    make, dense_rule, alpha = RULES[rule]
    made = make(ssep.GaussHermite(DEGREE[entry.latents]))
    if not entry.moments and rule in ("ExtendedEP", "StatLinEP"):
        with pytest.raises(ValueError, match="needs `conditional_moments"):
            made.check_likelihood(entry.likelihood)
        return
    mean = np.array([0.3, 1.5, -0.2])[: entry.latents]
    cov = np.array([[0.3, 0.05, 0.02], [0.05, 0.2, 0.0], [0.02, 0.0, 0.25]])[: entry.latents, : entry.latents]
    # The oracle's differences step over the kink.
    tolerance = 1e-4 if (name, rule) == ("laplace", "CVI") else 1e-6
    for y in entry.values:
        marginal = Marginals(jnp.asarray(mean), jnp.asarray(cov))
        site = made.update(entry.likelihood, jnp.asarray(float(y)), extra(entry), marginal, alpha)
        linear, precision = dense_rule(FromSciPy(entry), y, mean, cov, alpha, nodes_for(entry.latents))
        np.testing.assert_allclose(site.linear, linear, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(site.precision, precision, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["reading-above", "reading-below", "interval", "log-normal", "binomial-probit"])
def test_powers_below_one_and_traced_ones_agree(name):
    entry, marginal = ENTRIES[name], Marginals(jnp.array([0.2]), jnp.array([[0.4]]))
    y, rule = jnp.asarray(float(entry.values[-1])), ssep.GaussHermite(60)

    @eqx.filter_jit
    def tilted(alpha):
        return entry.likelihood.tilted(y, marginal, alpha, extra(entry), rule)

    for alpha in (0.4, 1.0):
        wanted = tilted_by_cubature(entry.likelihood, y, marginal, alpha, extra(entry), rule)
        for found in (tilted(jnp.asarray(alpha)), tilted(alpha)):
            jax.tree.map(lambda got, want: np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8), found, wanted)


@pytest.mark.parametrize(
    ("lik", "y", "aux", "message"),
    [
        (ssep.likelihoods.Binomial(), [1.0, 2.0], None, "Binomial` takes one number per observation, its trials"),
        (ssep.likelihoods.Binomial(), [1.0, 6.0], [5.0, 5.0], "needs counts of at most the number of trials"),
        (ssep.likelihoods.Binomial(), [1.0, 2.0], [5.0, 0.0], "needs positive whole trials"),
        (ssep.likelihoods.NegativeBinomial(), [1.0, -2.0], None, "NegativeBinomial` needs non-negative integer counts"),
        (ssep.likelihoods.ZeroInflated(ssep.likelihoods.Poisson()), [1.0, 0.5], None, "non-negative integer counts"),
        (ssep.likelihoods.Gamma(), [1.0, 0.0], None, "Gamma` needs positive values in y; got 0.0 at position 1"),
        (ssep.likelihoods.Weibull(), [-1.0, 1.0], None, "Weibull` needs positive values"),
        (ssep.likelihoods.LogNormal(), [1.0, 0.0], None, "LogNormal` needs positive values"),
        (ssep.likelihoods.Beta(), [0.5, 1.0], None, "Beta` needs values strictly between 0 and 1"),
        (ssep.likelihoods.Ordinal([0.0, 1.0]), [0.0, 3.0], None, "needs whole labels from 0 to 2"),
        (ssep.likelihoods.Categorical(3), [0.0, 3.0], None, "needs whole labels from 0 to 2"),
        (ssep.likelihoods.CensoredGaussian(), [0.0, 3.0], [0.0, 2.0], "needs -1, 0 or 1"),
        (ssep.likelihoods.IntervalGaussian(), [0.0, 3.0], [1.0, 3.0], "below their upper ends"),
    ],
)
def test_what_is_outside_the_support_is_named(lik, y, aux, message):
    kernels = (ssep.kernels.Matern32(),) * (lik.num_latents or 1)
    data = ssep.Data([0.0, 1.0], y, aux=None if aux is None else np.asarray(aux))
    with pytest.raises(ValueError, match=message):
        ssep.sweep(ssep.SDEPrior(kernels), lik, None, ssep.CVI(ssep.GaussHermite(5)), data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ssep.likelihoods.ZeroInflated(ssep.likelihoods.Poisson(), 1.0), "must lie strictly between 0 and 1"),
        (lambda: ssep.likelihoods.ZeroInflated(ssep.likelihoods.Gaussian()), "must be a likelihood of counts"),
        (lambda: ssep.likelihoods.Ordinal([1.0, 0.0]), r"Ordinal\(thresholds\)` must be finite numbers that increase"),
        (lambda: ssep.likelihoods.Categorical(1), "must be an integer of at least 2"),
        (lambda: ssep.likelihoods.Beta(2.0, ssep.links.exp), r"Beta\(link\)` must map to probabilities"),
        (lambda: ssep.likelihoods.Gamma(-1.0), r"Gamma\(shape\)` must be positive"),
    ],
)
def test_what_is_no_parameter_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_thresholds_and_probabilities_are_learned_within_their_sets():
    rng = np.random.default_rng(0)
    t = np.arange(80.0)
    latent = 1.5 * np.sin(t / 6)
    labels = np.sum(latent[:, None] + rng.logistic(size=(80, 1)) > np.array([-1.0, 1.0]), 1)
    lik = ssep.likelihoods.Ordinal([-0.2, 0.2])
    fitted = ssep.fit(
        ssep.SDEPrior(ssep.kernels.Matern32(1.0, 5.0)), lik, ssep.CVI(), ssep.Data(t, labels), num_steps=30
    )
    moved = np.asarray(fitted.likelihood.thresholds)
    assert moved[0] < -0.4
    assert moved[1] > 0.4
    counts = np.where(rng.uniform(size=80) < 0.5, 0, rng.poisson(np.exp(1 + latent / 3)))
    lik = ssep.likelihoods.ZeroInflated(ssep.likelihoods.Poisson(), 0.1)
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 5.0), mean=1.0)
    fitted = ssep.fit(prior, lik, ssep.PowerEP(1.0), ssep.Data(t, counts), num_steps=40)
    assert 0.3 < float(fitted.likelihood.probability) < 0.7


def test_predictions_of_censored_readings_are_of_whole_ones():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 10, 60)
    whole = 1.5 * np.sin(t) + 0.2 * rng.normal(size=60)
    side = (whole > 1.0).astype(float)
    data = ssep.Data(t, np.minimum(whole, 1.0), aux=side)
    prior = ssep.SDEPrior(ssep.kernels.Matern52(2.0, 2.0))
    solution = ssep.infer(prior, ssep.likelihoods.CensoredGaussian(0.04), ssep.PowerEP(1.0), data)
    prediction = ssep.predict(solution, t, aux=np.zeros(60))
    # Above the limit the curve goes on where readings cannot.
    hidden = side == 1
    assert np.abs(prediction.y_mean - 1.5 * np.sin(t))[hidden].max() < 0.5
    assert np.asarray(prediction.y_mean)[hidden].max() > 1.2
    naive = ssep.infer(prior, ssep.likelihoods.Gaussian(0.04), ssep.PowerEP(1.0), ssep.Data(t, np.minimum(whole, 1.0)))
    assert np.asarray(naive.posterior.mean).max() < 1.2
