"""Several outputs that share latents are one Gaussian process with the covariances of their mixtures."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg, stats

import ssep
from ssep.likelihoods import Gaussian, HeteroscedasticGaussian, Outputs, Poisson
from ssep.marginals import Marginals

WEIGHTS = np.array([[1.0, 0.0], [0.6, -0.8], [0.3, 1.2]])
KERNELS = (ssep.kernels.Matern32(1.0, 2.0), ssep.kernels.Matern52(0.7, 1.0))
T = np.sort(np.random.default_rng(0).uniform(0, 8, 15))


def readings():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(15, 3))
    y[2, 1] = y[7] = np.nan
    return y


def test_coregionalisation_is_the_dense_process():
    y, noise = readings(), 0.3
    data = ssep.Data(T, y, aux=Outputs.columns(y))
    lik, prior = Outputs(Gaussian(noise), WEIGHTS), ssep.SDEPrior(KERNELS)
    solution = ssep.infer(prior, lik, ssep.CVI(), data)
    # All observed values at once: cov(y_i(t), y_j(s)) = sum_q W_iq W_jq k_q(t, s).
    grams = [np.asarray(kernel.gram(T, T)) for kernel in KERNELS]
    cov = sum(np.kron(gram, np.outer(column, column)) for gram, column in zip(grams, WEIGHTS.T, strict=True))
    seen = ~np.isnan(y).ravel()
    total = cov[np.ix_(seen, seen)] + noise * np.eye(seen.sum())
    wanted = -stats.multivariate_normal.logpdf(y.ravel()[seen], cov=total)
    np.testing.assert_allclose(solution.energy, wanted, rtol=1e-9)
    cross = np.stack([np.kron(gram, column[None]) for gram, column in zip(grams, WEIGHTS.T, strict=True)])[..., seen]
    gain = linalg.solve(total, np.swapaxes(cross, 1, 2).reshape(2, seen.sum(), -1)[0], assume_a="pos")
    np.testing.assert_allclose(solution.posterior.mean[:, 0, 0], gain.T @ y.ravel()[seen], atol=1e-8)
    # The third output at new times.
    new = np.array([1.0, 9.5])
    prediction = ssep.predict(solution, new, aux=np.full(2, 2.0))
    across = sum(
        np.kron(np.asarray(kernel.gram(new, T)), np.outer(column[2], column))
        for kernel, column in zip(KERNELS, WEIGHTS.T, strict=True)
    )[:, seen]
    np.testing.assert_allclose(prediction.y_mean, across @ linalg.solve(total, y.ravel()[seen]), atol=1e-8)
    prior_variance = sum(
        column[2] ** 2 * float(kernel(0.0, 0.0)) for kernel, column in zip(KERNELS, WEIGHTS.T, strict=True)
    )
    left = prior_variance + noise - np.sum(across * linalg.solve(total, across.T).T, 1)
    np.testing.assert_allclose(prediction.y_var, left, atol=1e-8)


@pytest.mark.parametrize("rule", [ssep.PowerEP(0.5), ssep.ExtendedEP(0.5), ssep.StatLinEP(0.5), ssep.CVI()])
def test_rules_see_one_latent_of_an_output(rule):
    """A site of the mixed latent g = w'f, as one of f: b w and Lam w w'."""
    mean, cov = jnp.array([0.3, -0.2]), jnp.array([[0.5, 0.1], [0.1, 0.4]])
    row = WEIGHTS[1]
    mixed = Marginals(jnp.asarray(row @ mean)[None], jnp.asarray(row @ cov @ row)[None, None])
    y, extras = jnp.asarray(3.0), jnp.asarray(1.7)
    lik = Outputs(Poisson(), WEIGHTS)
    got = rule.update(lik, y, (jnp.asarray(1.0), extras), Marginals(mean, cov), rule.alpha)
    wanted = rule.update(Poisson(), y, extras, mixed, rule.alpha)
    np.testing.assert_allclose(got.linear, wanted.linear[0] * row, atol=1e-9)
    np.testing.assert_allclose(got.precision, wanted.precision[0, 0] * np.outer(row, row), atol=1e-9)


@pytest.mark.parametrize("rule", [ssep.PowerEP(1.0), ssep.StatLinEP(0.5), ssep.CVI()])
def test_an_output_that_sees_nothing_says_nothing(rule):
    lik = Outputs(Poisson(ssep.links.softplus), [[1.0], [0.0]])
    y = np.array([[1.0, 2.0], [0.0, 3.0]])
    data, prior = ssep.Data([0.0, 1.0], y, aux=Outputs.columns(y)), ssep.SDEPrior(KERNELS[0])

    def energy(lik):
        _, sites, value = ssep.sweep(prior, lik, None, rule, data)
        return value, sites

    (value, sites), slope = eqx.filter_value_and_grad(energy, has_aux=True)(lik)
    assert np.isfinite(value)
    assert np.isfinite(np.asarray(slope.weights)).all()
    np.testing.assert_allclose(sites.linear[:, 1], 0, atol=1e-12)
    np.testing.assert_allclose(sites.precision[:, 1], 0, atol=1e-12)


def test_weights_are_learned():
    rng = np.random.default_rng(2)
    t = np.arange(60.0)
    y = rng.poisson(np.exp(1.5 * np.sin(t / 5)[:, None] * np.array([1.0, -1.0])))
    lik = Outputs(Poisson(), [[1.0], [0.1]])
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 8.0))
    fitted = ssep.fit(prior, lik, ssep.CVI(), ssep.Data(t, y, aux=Outputs.columns(y)), num_steps=60)
    # The second output mirrors the first.
    first, second = np.asarray(fitted.likelihood.weights)[:, 0]
    assert second / first == pytest.approx(-1, abs=0.3)


def test_draws_and_distribution_functions_are_those_of_the_output():
    lik, f = Outputs(Poisson(), WEIGHTS), jnp.array([0.4, -0.5])
    rate = np.exp(WEIGHTS[1] @ np.asarray(f))
    output = jnp.asarray(1.0)
    np.testing.assert_allclose(lik.cdf(jnp.asarray(2.0), f, output), stats.poisson(rate).cdf(2))
    draws = jax.vmap(lambda key: lik.sample(key, f, output))(jax.random.split(jax.random.key(0), 4000))
    assert np.mean(draws) == pytest.approx(rate, abs=5 * np.sqrt(rate / 4000))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Outputs(HeteroscedasticGaussian(), WEIGHTS), "must be a likelihood of one latent"),
        (lambda: Outputs(Poisson(), [1.0, 2.0]), r"must have a row per output.*shape \(2,\)"),
        (lambda: run(np.array([0.0, 3.0])), "needs outputs from 0 to 2"),
        (lambda: run(None), r"needs the output of each value in `Data\(aux=...\)`"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_linearised_rules_need_the_moments_of_the_likelihood_inside():
    y = np.array([1.0, 2.0])
    lik, data = Outputs(ssep.likelihoods.VonMises(), WEIGHTS), ssep.Data([0.0, 1.0], y, aux=np.zeros(2))
    with pytest.raises(ValueError, match=r"`Outputs` needs `conditional_moments.*got `VonMises`, which has neither"):
        ssep.sweep(ssep.SDEPrior(KERNELS), lik, None, ssep.StatLinEP(), data)
    labels = ssep.likelihoods.ZeroInflated(ssep.likelihoods.Categorical(2), 0.1)
    with pytest.raises(ValueError, match=r"`ZeroInflated` needs `conditional_moments.*got `Categorical`"):
        ssep.sweep(ssep.SDEPrior(KERNELS), labels, None, ssep.ExtendedEP(), ssep.Data([0.0, 1.0], [0.0, 1.0]))


def run(aux):
    data = ssep.Data([0.0, 1.0], [1.0, 2.0], aux=aux)
    return ssep.sweep(ssep.SDEPrior(KERNELS), Outputs(Poisson(), WEIGHTS), None, ssep.CVI(), data)
