"""Outputs with likelihoods of their own: each observation is asked of its own, and of no other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import ssep
from ssep.likelihoods import (
    Beta,
    Binomial,
    Categorical,
    CensoredGaussian,
    Gamma,
    Gaussian,
    IntervalGaussian,
    Outputs,
    Poisson,
    VonMises,
    ZeroInflated,
)
from ssep.likelihoods.kinds import _kinds
from ssep.marginals import Marginals

# Two kinds twice, with other parameters, so that some are asked together.
LIKELIHOODS = (Gaussian(0.3), Poisson(), Gaussian(0.7), Gamma(2.0), Poisson())
WEIGHTS = np.array([[1.0, 0.0], [0.6, -0.8], [0.3, 0.5], [-0.4, 0.2], [0.5, 0.5]])
KERNELS = (ssep.kernels.Matern32(1.0, 2.0), ssep.kernels.Matern52(0.7, 1.0))
PRIOR = ssep.SDEPrior(KERNELS)
T = np.arange(6.0)


def readings():
    """A negative number and one that is no integer in the columns of those who may have them."""
    rng = np.random.default_rng(0)
    columns = [-1 - rng.uniform(size=6), rng.poisson(2, 6), rng.normal(size=6), rng.gamma(2, size=6), rng.poisson(1, 6)]
    y = np.stack(columns, 1).astype(float)
    y[2, 3] = y[4] = np.nan
    return y


def exposures(y):
    """Zero, which no likelihood of counts could bear, wherever it should not matter."""
    exposure = np.zeros_like(y)
    exposure[:, 1] = 1.5
    return exposure


def data():
    y = readings()
    return ssep.Data(T, y, aux=(Outputs.columns(y), (None, exposures(y), None, None, None)))


RULES = [ssep.PowerEP(0.5), ssep.ExtendedEP(0.5), ssep.StatLinEP(0.5), ssep.CVI()]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{type(rule).__name__}-{rule.alpha}")
def test_a_site_is_that_of_the_outputs_own_likelihood(rule):
    marginal = Marginals(jnp.array([0.3, -0.2]), jnp.array([[0.5, 0.1], [0.1, 0.4]]))
    lik = Outputs(LIKELIHOODS, WEIGHTS)

    @jax.jit
    def site(output, y):
        extras = (None, 1.5 * (output == 1), None, None, None)
        return rule.update(lik, y, (output, extras), marginal, rule.alpha)

    for output, (own, y) in enumerate(zip(LIKELIHOODS, [-1.5, 3.0, 0.2, 0.7, 0.0], strict=True)):
        extra = (jnp.asarray(float(output)), jnp.asarray(1.5) if output == 1 else None)
        wanted = rule.update(Outputs(own, WEIGHTS), jnp.asarray(y), extra, marginal, rule.alpha)
        got = site(jnp.asarray(float(output)), jnp.asarray(y))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12), got, wanted)


def test_likelihoods_that_differ_in_numbers_only_are_asked_once():
    exposure = jnp.ones(())
    extras = (None, exposure, None, None, None)
    assert _kinds(list(zip(LIKELIHOODS, extras, strict=True))) == [[0, 2], [1], [3], [4]]
    assert _kinds([(Poisson(), None), (Poisson(ssep.links.softplus), None), (Poisson(), None)]) == [[0, 2], [1]]
    asked = []

    class Counting(ssep.Likelihood):
        num_latents = 1
        scale: jax.Array

        def log_prob(self, y, f, aux):
            asked.append(1)
            return -self.scale * (y - f[0]) ** 2

    lik = Outputs(tuple(Counting(jnp.asarray(scale)) for scale in (1.0, 2.0, 3.0)), WEIGHTS[:3])
    value = lik.log_prob(jnp.asarray(2.0), jnp.array([0.5, 0.1]), jnp.asarray(2.0))
    assert float(value) == pytest.approx(-3 * (2 - 0.2) ** 2)
    assert len(asked) == 1


@pytest.mark.parametrize("rule", [ssep.PowerEP(0.5), ssep.CVI()])
def test_gradients_are_finite_and_right(rule):
    """The energy of a sweep and its gradient in all parameters: finite, and equal to finite differences."""
    lik, given = Outputs(LIKELIHOODS, WEIGHTS), data()

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def energy(lik):
        return ssep.sweep(PRIOR, lik, None, rule, given)[2]

    value, slope = energy(lik)
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))
    for pick in (lambda lik: lik.likelihood[2].variance, lambda lik: lik.likelihood[3].shape):
        ends = [energy(eqx.tree_at(pick, lik, pick(lik) + step))[0] for step in (1e-5, -1e-5)]
        assert float(pick(slope)) == pytest.approx(float(ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_noise_for_every_output_is_the_dense_process():
    y, noises = np.random.default_rng(1).normal(size=(6, 3)), np.array([0.1, 0.5, 0.9])
    lik = Outputs(tuple(Gaussian(noise) for noise in noises), WEIGHTS[:3])
    solution = ssep.infer(PRIOR, lik, ssep.CVI(), ssep.Data(T, y, aux=Outputs.columns(y)))
    columns = zip(KERNELS, WEIGHTS[:3].T, strict=True)
    cov = sum(np.kron(np.asarray(kernel.gram(T, T)), np.outer(column, column)) for kernel, column in columns)
    wanted = -stats.multivariate_normal.logpdf(y.ravel(), cov=cov + np.diag(np.tile(noises, 6)))
    np.testing.assert_allclose(solution.energy, wanted, rtol=1e-9)


def test_predictions_are_those_of_the_outputs_own_likelihood(tmp_path):
    lik = Outputs(LIKELIHOODS, WEIGHTS)
    ssep.save(tmp_path / "a.ssep", ssep.infer(PRIOR, lik, ssep.PowerEP(0.5), data()))
    solution = ssep.load(tmp_path / "a.ssep")
    new, output = np.full(5, 2.5), np.arange(5.0)
    exposure = np.where(output == 1, 1.5, 0)
    prediction = ssep.predict(solution, new, aux=(output, (None, exposure, None, None, None)))
    y = np.array([-1.5, 3.0, 0.2, 0.7, 0.0])
    for index, own in enumerate(LIKELIHOODS):
        row = WEIGHTS[index]
        mean, variance = row @ prediction.f_mean[index], row @ prediction.f_cov[index] @ row
        alone = eqx.tree_at(
            lambda p: (p.f_mean, p.f_cov, p.likelihood, p.aux),
            prediction,
            (mean[None, None], variance[None, None, None], own, jnp.array([1.5]) if index == 1 else None),
        )
        np.testing.assert_allclose(prediction.y_mean[index], alone.y_mean[0], rtol=1e-9)
        np.testing.assert_allclose(prediction.y_var[index], alone.y_var[0], rtol=1e-9)
        np.testing.assert_allclose(prediction.log_prob(y)[index], alone.log_prob(y[index : index + 1])[0], rtol=1e-9)
        found = prediction.quantile([0.3, 0.9])[:, index]
        # Those of counts are integers, those of others are not rounded.
        np.testing.assert_allclose(found, alone.quantile([0.3, 0.9])[:, 0], rtol=1e-9)
        assert np.array_equal(found, np.round(found)) == own.discrete
    assert not lik.discrete
    paths = ssep.sample(jax.random.key(0), solution, new, num_samples=20, aux=prediction.aux)
    draws = np.asarray(paths.y)
    assert np.isfinite(draws).all()
    assert np.array_equal(draws[:, [1, 4]], np.round(draws[:, [1, 4]]))
    assert (draws[:, 3] > 0).all()


STAND_INS = [
    (Beta(2.0), None),
    (IntervalGaussian(0.3), 1.0),
    (CensoredGaussian(0.3), 1.0),
    (Binomial(), 1.0),
    (ZeroInflated(Poisson(), 0.2), 1.0),
    (Gamma(1.5), None),
    (VonMises(), None),
]


@pytest.mark.parametrize(("lik", "aux"), STAND_INS, ids=lambda value: type(value).__name__)
def test_stand_ins_are_possible(lik, aux):
    y, extras = lik.stand_in(aux)
    lik.check_observations(np.array([y]), None if extras is None else np.array([extras]))

    def value(lik, f):
        return lik.log_prob(jnp.asarray(y), f, jax.tree.map(jnp.asarray, extras))

    found = eqx.filter_value_and_grad(lambda both: value(*both))((lik, jnp.array([0.3])))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


def test_predictions_of_whole_readings_need_no_conditional_moments():
    """A likelihood with predictive moments only keeps them as an output."""
    y = np.array([[1.0, 2.0], [0.5, 0.0]])
    aux = (Outputs.columns(y), (np.zeros((2, 2)), None))
    lik = Outputs((CensoredGaussian(0.3), Poisson()), WEIGHTS[:2])
    solution = ssep.infer(PRIOR, lik, ssep.PowerEP(1.0), ssep.Data([0.0, 1.0], y, aux=aux))
    prediction = ssep.predict(solution, [2.0], aux=(np.zeros(1), (np.zeros(1), None)))
    np.testing.assert_allclose(prediction.y_mean, prediction.f_mean[:, 0], rtol=1e-12)
    np.testing.assert_allclose(prediction.y_var, prediction.f_var[:, 0] + 0.3, rtol=1e-12)
    with pytest.raises(ValueError, match=r"`Outputs` needs `conditional_moments.*got `CensoredGaussian`"):
        ssep.StatLinEP().check_likelihood(lik)
    angles = eqx.tree_at(lambda p: p.likelihood, prediction, Outputs((VonMises(), Poisson()), WEIGHTS[:2]))
    with pytest.raises(ValueError, match=r"`Prediction.y_mean` needs `conditional_moments.*got `VonMises`"):
        _ = angles.y_mean


def run(y, aux, likelihoods=(Gaussian(), Poisson())):
    return ssep.sweep(PRIOR, Outputs(likelihoods, WEIGHTS[:2]), None, ssep.CVI(), ssep.Data([0.0, 1.0], y, aux=aux))


Y = np.array([[-1.0, 2.0], [0.5, 0.5]])
COLUMNS = Outputs.columns(Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: run(Y, COLUMNS), r"`Poisson` needs non-negative integer counts in y; got 0.5 at position \(1, 1\)"),
        (
            lambda: run(Y[:, ::-1] * 2, (COLUMNS, (None, COLUMNS - 1))),
            r"`Poisson` needs non-negative integer counts in y; got -2.0 at position \(0, 1\)",
        ),
        (
            lambda: run(np.abs(Y) * 2, (COLUMNS, (None, COLUMNS - 1))),
            r"`Poisson` needs positive exposures .* got 0.0 at position \(0, 1\)",
        ),
        (lambda: run(Y, (COLUMNS, COLUMNS)), "needs extras for each of its 2 likelihoods"),
        (lambda: Outputs((Gaussian(), Poisson()), WEIGHTS), "must have a likelihood for each of 5 outputs; got 2 lik"),
        (lambda: Outputs((Gaussian(), Categorical(3)), WEIGHTS[:2]), "must be a likelihood of one latent; got Categor"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
