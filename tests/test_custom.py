"""A likelihood of one's own: `log_prob` alone for PowerEP and CVI, one more method for the linearised rules."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ssep

T = np.linspace(0, 4, 9)
Y = np.array([1.0, 0, 3, 2, 1, 0, 0, 1, 2])
PRIOR = ssep.SDEPrior(ssep.kernels.Matern32(0.8, 1.0))


class FromLogProb(ssep.Likelihood):
    """Counts with rate exp(f), known by its log mass only."""

    def log_prob(self, y, f, aux):
        return y * f[0] - jnp.exp(f[0]) - jax.scipy.special.gammaln(y + 1)


class WithMoments(FromLogProb):
    def conditional_moments(self, f, aux):
        return jnp.exp(f[0]), jnp.exp(f[0])


class WithMeasurement(FromLogProb):
    def measurement(self, f, sigma, aux):
        return jnp.exp(f[0]) + jnp.exp(f[0] / 2) * sigma


class OneElement(FromLogProb):
    """Written by a user who forgot to index f."""

    def log_prob(self, y, f, aux):
        return y * f - jnp.exp(f) - jax.scipy.special.gammaln(y + 1)


class Vector(FromLogProb):
    def log_prob(self, y, f, aux):
        return jnp.zeros(3)


def three_sweeps(lik, rule):
    data, sites = ssep.Data(T, Y), None
    for _ in range(3):
        posterior, sites, energy = ssep.sweep(PRIOR, lik, sites, rule, data)
    return posterior, sites, energy


@pytest.mark.parametrize("rule", [ssep.PowerEP(0.5), ssep.PowerEP(1.0), ssep.CVI()])
@pytest.mark.parametrize("lik", [FromLogProb(), OneElement()])
def test_log_prob_is_enough_for_power_ep_and_cvi(lik, rule):
    got, wanted = three_sweeps(lik, rule), three_sweeps(ssep.likelihoods.Poisson(), rule)
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("rule", [ssep.ExtendedEP(0.5), ssep.StatLinEP(0.5)])
@pytest.mark.parametrize("lik", [WithMoments(), WithMeasurement()])
def test_moments_or_measurement_are_enough_for_the_linearised_rules(lik, rule):
    got, wanted = three_sweeps(lik, rule), three_sweeps(ssep.likelihoods.Poisson(), rule)
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", [ssep.ExtendedEP(), ssep.StatLinEP()])
def test_a_rule_names_what_the_likelihood_lacks(rule):
    message = f"`{type(rule).__name__}` needs `conditional_moments.*or `measurement.*got `FromLogProb`.*PowerEP"
    with pytest.raises(ValueError, match=message):
        three_sweeps(FromLogProb(), rule)


def test_log_prob_must_be_one_number():
    with pytest.raises(ValueError, match=r"`Vector.log_prob\(y, f, aux\)` must return one number; got shape \(3,\)"):
        three_sweeps(Vector(), ssep.PowerEP())


def test_aux_may_be_any_pytree():
    class Shifted(ssep.Likelihood):
        noise: float = 0.3

        def log_prob(self, y, f, aux):
            return -((y - aux["scale"] * f[0] - aux["shift"]) ** 2) / (2 * self.noise)

    aux = {"scale": np.full(9, 2.0), "shift": np.linspace(0, 1, 9)}
    data = ssep.Data(T, Y, aux=aux)
    _, sites, _ = ssep.sweep(PRIOR, Shifted(), None, ssep.PowerEP(1.0, ssep.GaussHermite(40)), data)
    np.testing.assert_allclose(sites.precision[:, 0, 0], 4 / 0.3, rtol=1e-3)
    np.testing.assert_allclose(sites.linear[:, 0], 2 / 0.3 * (Y - aux["shift"]), rtol=1e-2, atol=1e-2)


def test_parameters_of_a_custom_likelihood_have_gradients():
    class Noise(ssep.Likelihood):
        log_scale: jax.Array

        def log_prob(self, y, f, aux):
            return jax.scipy.stats.norm.logpdf(y, f[0], jnp.exp(self.log_scale))

    def energy(lik):
        return ssep.sweep(PRIOR, lik, None, ssep.CVI(), ssep.Data(T, Y))[2]

    gradient = eqx.filter_grad(energy)(Noise(jnp.asarray(0.1)))
    step = 1e-5
    difference = (energy(Noise(jnp.asarray(0.1 + step))) - energy(Noise(jnp.asarray(0.1 - step)))) / (2 * step)
    np.testing.assert_allclose(gradient.log_scale, difference, rtol=1e-6)
