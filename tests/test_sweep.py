"""`sweep` agrees with the dense oracle: every likelihood and rule, alphas, one to five sweeps, gaps in the data."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssep
from tests import oracle
from tests import oracle_likelihoods as dense
from tests.test_kernels import KERNELS, SIMPLE

DEGREE = 12
NUM_STEPS = 9
SWEEPS = 5

# name: (library likelihood, oracle likelihood, latents, how y is drawn, damping)
LIKELIHOODS = {
    "gaussian": (lambda: ssep.likelihoods.Gaussian(0.3), lambda: dense.Gaussian(0.3), 1, "real", 1.0),
    "poisson": (lambda: ssep.likelihoods.Poisson(), dense.Poisson, 1, "count", 0.8),
    "poisson-softplus": (
        lambda: ssep.likelihoods.Poisson(link=ssep.links.softplus),
        dense.PoissonSoftplus,
        1,
        "count",
        0.8,
    ),
    "bernoulli": (lambda: ssep.likelihoods.Bernoulli(), dense.Bernoulli, 1, "label", 1.0),
    "probit": (
        lambda: ssep.likelihoods.Bernoulli(link=ssep.links.probit),
        dense.BernoulliProbit,
        1,
        "label",
        1.0,
    ),
    "student": (lambda: ssep.likelihoods.StudentT(4.0, 0.6), lambda: dense.StudentT(4.0, 0.6), 1, "real", 0.5),
    "heteroscedastic": (
        lambda: ssep.likelihoods.HeteroscedasticGaussian(),
        dense.HeteroscedasticGaussian,
        2,
        "real",
        0.5,
    ),
    "demodulation": (
        lambda: ssep.likelihoods.AmplitudeDemodulation(0.4),
        lambda: dense.AmplitudeDemodulation(0.4, 1),
        2,
        "real",
        0.5,
    ),
}
RULES = {
    "PowerEP": (lambda alpha: ssep.PowerEP(alpha, ssep.GaussHermite(DEGREE)), oracle.power_ep, (0.01, 0.5, 1.0)),
    "ExtendedEP": (lambda alpha: ssep.ExtendedEP(alpha), oracle.extended_ep, (0.0, 0.5, 1.0)),
    "StatLinEP": (lambda alpha: ssep.StatLinEP(alpha, ssep.GaussHermite(DEGREE)), oracle.stat_lin_ep, (0.0, 0.5, 1.0)),
    "CVI": (lambda alpha: ssep.CVI(ssep.GaussHermite(DEGREE)), oracle.cvi, (0.0,)),
}


@functools.cache
def nodes(dim):
    return oracle.gauss_hermite(DEGREE, dim)


def drift(time):
    return 0.1 * time


def draw(seed, kind, shape):
    """Times with a repeated one, observations with missing ones, hyperparameters."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 6, shape[0]))
    t[4] = t[3]
    y = {
        "real": rng.normal(size=shape),
        "count": rng.poisson(2, size=shape).astype(float),
        "label": rng.integers(0, 2, size=shape).astype(float),
    }[kind]
    mask = rng.uniform(size=shape) < 0.8
    mask[0] = True
    hyper = np.exp(rng.normal(0, 0.3, size=(2, 2)))
    return t, y, mask, hyper


def build(seed, name, shape=(NUM_STEPS,), mean=0.2):
    """The same model twice: the library's and the oracle's."""
    lik, dense_lik, latents, kind, damping = LIKELIHOODS[name]
    t, y, mask, hyper = draw(seed, kind, shape)
    kernels = [ssep.kernels.Matern32(*hyper[0]), ssep.kernels.Matern52(*hyper[1])][:latents]
    prior = ssep.SDEPrior(kernels, mean=(mean, drift)[:latents])
    data = ssep.Data(t, np.where(mask, y, np.nan))
    problem = oracle.Problem(
        covariances=[oracle.matern(i + 1, *hyper[i], t, t) for i in range(latents)],
        means=np.stack([np.full(len(t), mean), drift(t)], 1)[:, :latents],
        y=y,
        mask=mask,
        likelihood=dense_lik(),
        nodes=nodes(latents),
    )
    return prior, lik(), data, problem, damping


def close(got, wanted):
    """1e-8, absolute for marginals of order one, relative for sites, which have no scale of their own."""
    scale = np.maximum(1, np.abs(wanted).max())
    np.testing.assert_allclose(np.asarray(got) / scale, wanted / scale, rtol=0, atol=1e-8)


@pytest.mark.parametrize("rule_name", RULES)
@pytest.mark.parametrize("name", LIKELIHOODS)
@given(seed=st.integers(0, 2**32 - 1), choice=st.integers(0, 2))
def test_sweeps_equal_dense_oracle(name, rule_name, seed, choice):
    make_rule, dense_rule, alphas = RULES[rule_name]
    alpha = alphas[choice % len(alphas)]
    prior, lik, data, problem, damping = build(seed, name)
    rule = make_rule(jnp.asarray(alpha))  # an array: one compilation serves all alphas
    step = ssep.Step(damping)
    linearised = rule_name == "ExtendedEP"

    dense_sites, sites = oracle.first_pass(problem, dense_rule), None
    for _ in range(SWEEPS):
        energy_wanted = oracle.filter_energy(problem, dense_sites, linearised)
        wanted, dense_sites = oracle.sweep(problem, dense_rule, dense_sites, alpha, damping)
        posterior, sites, energy = ssep.sweep(prior, lik, sites, rule, data, step=step)
        close(posterior.mean, wanted[0])
        close(posterior.cov, wanted[1])
        close(energy, energy_wanted)
        close(sites.linear, dense_sites[0])
        close(sites.precision, dense_sites[1])


def random_sites(problem, seed):
    """Proper sites that are no rule's fixed point, with off-diagonals."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(*problem.y.shape, problem.d, problem.d))
    precision = factor @ np.swapaxes(factor, -1, -2) * problem.mask[..., None, None]
    return rng.normal(size=factor.shape[:-1]) * problem.mask[..., None], precision


@pytest.mark.parametrize("rule_name", ["PowerEP", "ExtendedEP"])
@pytest.mark.parametrize("name", ["poisson", "probit", "heteroscedastic"])
@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.01, 0.5, 1.0]))
def test_energies_at_any_sites_equal_dense_oracle(name, rule_name, seed, alpha):
    prior, lik, data, problem, _ = build(seed, name)
    linear, precision = random_sites(problem, seed)
    rule = RULES[rule_name][0](jnp.asarray(alpha))
    linearised = rule_name == "ExtendedEP"
    wanted = {
        ssep.FilterEnergy(): oracle.filter_energy(problem, (linear, precision), linearised),
        ssep.FilterEnergy(ssep.GaussHermite(DEGREE)): oracle.filter_energy(problem, (linear, precision)),
        ssep.PowerEPEnergy(): oracle.power_ep_energy(problem, (linear, precision), alpha, linearised),
        ssep.FreeEnergy(): oracle.free_energy(problem, (linear, precision), linearised),
    }
    for objective, energy_wanted in wanted.items():
        sites = ssep.SiteState(jnp.asarray(linear), jnp.asarray(precision))
        close(ssep.sweep(prior, lik, sites, rule, data, objective=objective)[2], energy_wanted)


@pytest.mark.parametrize("rule_name", RULES)
@pytest.mark.parametrize("name", ["poisson", "heteroscedastic"])
@given(seed=st.integers(0, 2**32 - 1))
def test_several_observations_per_step_equal_dense_oracle(name, rule_name, seed):
    make_rule, dense_rule, alphas = RULES[rule_name]
    prior, lik, data, problem, damping = build(seed, name, shape=(NUM_STEPS, 3))
    dense_sites, sites = oracle.first_pass(problem, dense_rule), None
    for _ in range(3):
        energy_wanted = oracle.filter_energy_of_rows(problem, dense_sites)
        wanted, dense_sites = oracle.sweep(problem, dense_rule, dense_sites, alphas[-1], damping)
        rule = make_rule(jnp.asarray(alphas[-1]))
        # By cubature for the likelihood itself: `ExtendedEP` would score its linearised model.
        objective = ssep.FilterEnergy(ssep.GaussHermite(DEGREE) if rule_name == "ExtendedEP" else None)
        posterior, sites, energy = ssep.sweep(
            prior, lik, sites, rule, data, step=ssep.Step(damping), objective=objective
        )
        close(energy, energy_wanted)
        for j in range(3):
            close(posterior.mean[:, j], wanted[0])
            close(posterior.cov[:, j], wanted[1])
        close(sites.linear, dense_sites[0])
        close(sites.precision, dense_sites[1])


@pytest.mark.parametrize("name", [*SIMPLE, "sum", "scaled", "quasi-periodic"])
@given(seed=st.integers(0, 2**32 - 1))
def test_every_kernel_carries_sweeps_equal_to_the_dense_oracle(name, seed):
    """Repeated times and, for oscillators, covariances of low rank are no obstacle."""
    _, lik, data, problem, damping = build(seed, "poisson")
    prior = ssep.SDEPrior(KERNELS[name], mean=0.2)
    problem.covariances = [np.asarray(KERNELS[name].gram(data.t, data.t))]
    dense_sites, sites = oracle.first_pass(problem, oracle.power_ep), None
    for _ in range(SWEEPS):
        wanted, dense_sites = oracle.sweep(problem, oracle.power_ep, dense_sites, 0.5, damping)
        rule, step = ssep.PowerEP(0.5, ssep.GaussHermite(DEGREE)), ssep.Step(damping)
        posterior, sites, _ = ssep.sweep(prior, lik, sites, rule, data, step=step)
        close(posterior.mean, wanted[0])
        close(posterior.cov, wanted[1])
        close(sites.linear, dense_sites[0])
        close(sites.precision, dense_sites[1])


@pytest.mark.parametrize("rule_name", RULES)
@given(seed=st.integers(0, 2**32 - 1))
def test_exposure_reaches_the_likelihood(rule_name, seed):
    make_rule, dense_rule, alphas = RULES[rule_name]
    prior, lik, data, problem, damping = build(seed, "poisson")
    problem.exposure = np.random.default_rng(seed).uniform(0.5, 3, problem.y.shape)
    data = ssep.Data(data.t, np.where(problem.mask, problem.y, np.nan), aux=problem.exposure)
    dense_sites = oracle.first_pass(problem, dense_rule)
    wanted, _ = oracle.sweep(problem, dense_rule, dense_sites, alphas[-1], damping)
    posterior, _, _ = ssep.sweep(prior, lik, None, make_rule(jnp.asarray(alphas[-1])), data)
    close(posterior.mean, wanted[0])
    close(posterior.cov, wanted[1])
