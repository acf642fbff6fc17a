"""Fields in space and time agree with dense Gaussian processes: on grids, with inducing places, scattered."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssep
from tests import fields, oracle
from tests import oracle_likelihoods as dense
from tests.test_sweep import RULES

DEGREE = 12
POISSON = ssep.likelihoods.Poisson()
seeds = st.integers(0, 2**32 - 1)


def close(got, wanted, tol=1e-8):
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(np.asarray(got).reshape(wanted.shape), wanted, rtol=tol, atol=tol)


def counts(field, seed):
    rng = np.random.default_rng(seed + 1)
    y = rng.poisson(1.5, field.shape).astype(float)
    y[rng.uniform(size=field.shape) < 0.2] = np.nan
    y.flat[0] = 1.0
    return y


def compare(field, lik, likelihood, y, rule_name, sweeps=2, damping=0.7):
    """First pass and further sweeps against the dense oracle: posterior, sites and all energies."""
    make_rule, dense_rule, alphas = RULES[rule_name]
    alpha = alphas[min(1, len(alphas) - 1)]
    prior, data = field.prior, ssep.Data(field.t, y, r=field.r)
    problem = field.problem(y, likelihood, oracle.gauss_hermite(DEGREE, prior.num_latents))
    dense_sites, sites = oracle.first_pass(problem, dense_rule), None
    rule, linearised = make_rule(jnp.asarray(alpha)), rule_name == "ExtendedEP"
    for _ in range(sweeps):
        energy_wanted = (oracle.filter_energy if len(field.shape) == 1 else oracle.filter_energy_of_field)(
            problem, dense_sites, linearised
        )
        given_sites = dense_sites
        wanted, dense_sites = oracle.sweep(problem, dense_rule, dense_sites, alpha, damping)
        posterior, sites, energy = ssep.sweep(prior, lik, sites, rule, data, step=ssep.Step(damping))
        close(energy, energy_wanted)
        close(posterior.mean, wanted[0])
        close(
            posterior.cov,
            wanted[1]
            if problem.extra is None
            else wanted[1] + problem.extra[..., None] * np.eye(len(problem.extra[0])),
        )
        close(sites.linear, dense_sites[0])
        close(sites.precision, dense_sites[1])
    before = ssep.SiteState(
        *(
            jnp.asarray(part).reshape(like.shape)
            for part, like in zip(given_sites, (sites.linear, sites.precision), strict=True)
        )
    )
    objectives = {ssep.FreeEnergy(): oracle.free_energy(problem, given_sites, linearised)}
    objectives[ssep.PowerEPEnergy(0.5)] = oracle.power_ep_energy(problem, given_sites, 0.5, linearised)
    for objective, energy_wanted in objectives.items():
        close(ssep.sweep(prior, lik, before, rule, data, objective=objective)[2], energy_wanted)


@pytest.mark.parametrize("rule_name", RULES)
@pytest.mark.parametrize("layout", ["grid", "sum"])
@given(seed=seeds)
def test_on_a_grid_it_is_the_dense_kronecker_process(layout, rule_name, seed):
    field = fields.draw(layout, seed)
    compare(field, POISSON, dense.Poisson(), counts(field, seed), rule_name)


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("rule_name", RULES)
@pytest.mark.parametrize("layout", ["few places", "many places", "one by one", "ragged"])
@given(seed=seeds)
def test_with_inducing_places_it_is_the_dense_sparse_process(layout, rule_name, conditional, seed):
    field = fields.draw(layout, seed)
    field.conditional = conditional
    compare(field, POISSON, dense.Poisson(), counts(field, seed), rule_name)


@pytest.mark.parametrize("layout", ["grid", "few places", "many places"])
@given(seed=seeds)
def test_several_latents_per_place(layout, seed):
    field = fields.draw(layout, seed, num_latents=2)
    y = np.random.default_rng(seed).normal(size=field.shape)
    likelihood = ssep.likelihoods.HeteroscedasticGaussian()
    compare(field, likelihood, dense.HeteroscedasticGaussian(), y, "PowerEP", damping=0.5)
