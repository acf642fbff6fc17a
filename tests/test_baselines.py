"""The dense baselines of the paper's experiments, against the oracle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.paper.baselines import dense
from tests import oracle
from tests import oracle_likelihoods as likelihoods

T = np.linspace(0, 5, 12)
CASES = {
    "counts": (
        dense.one_latent(lambda y, f: jax.scipy.stats.poisson.logpmf(y, jnp.exp(f))),
        likelihoods.Poisson(),
        np.arange(12.0) % 4,
    ),
    "labels": (
        dense.one_latent(lambda y, f: jax.nn.log_sigmoid((2 * y - 1) * f)),
        likelihoods.Bernoulli(),
        np.arange(12.0) % 3 // 2,
    ),
    "noise": (dense.noise_and_mean(), likelihoods.HeteroscedasticGaussian(), np.sin(np.arange(12.0))),
}
RULES = {
    "ep": (dense.batch_ep, oracle.power_ep, 1.0, lambda *given: oracle.power_ep_energy(*given, 1.0)),
    "vi": (dense.variational, oracle.cvi, 0.0, oracle.free_energy),
}


@pytest.fixture(params=CASES)
def case(request, monkeypatch):
    # With so many nodes, derivatives of a sum over them are the sums of moments that the oracle takes.
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    monkeypatch.setattr(dense, "NODES", nodes)
    monkeypatch.setattr(dense, "LOG_WEIGHTS", np.log(weights / weights.sum()))
    model, likelihood, y = CASES[request.param]
    d = likelihood.latents
    covariances = np.stack([oracle.matern(1, 0.5 + i, 1.0, T, T) for i in range(d)])
    mask = np.arange(len(T)) != 4
    nodes = oracle.gauss_hermite(len(dense.NODES), d)
    problem = oracle.Problem(list(covariances), np.zeros((len(T), d)), y, mask, likelihood, nodes)
    return model, problem, covariances, mask


@pytest.mark.parametrize("rule", RULES)
def test_dense_baselines_are_the_oracles_rules(case, rule):
    model, problem, covariances, mask = case
    refresh, reference, alpha, energy = RULES[rule]
    rng = np.random.default_rng(0)
    root = 0.3 * rng.normal(size=(len(T), problem.d, problem.d))
    sites = rng.normal(size=(len(T), problem.d)) * mask[:, None], root @ root.mT * mask[:, None, None]
    state = dense.look(refresh, model, dense.root(jnp.asarray(covariances)), problem.y, mask, dense.Sites(*sites))
    (means, covs), _ = problem.condition(*sites)
    np.testing.assert_allclose(state.mean, means, atol=1e-10)
    np.testing.assert_allclose(state.cov, covs, atol=1e-10)
    np.testing.assert_allclose(state.energy, energy(problem, sites), rtol=1e-8)
    for (k,) in problem.observed():
        cavity = oracle.cavity(means[k], covs[k], sites[0][k], sites[1][k], alpha)
        linear, precision = reference(problem.likelihood, problem.y[k], *cavity, alpha, problem.nodes)
        np.testing.assert_allclose(state.target.linear[k], linear, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(state.target.precision[k], precision, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_energies_of_dense_baselines_have_their_derivatives_at_fixed_sites(case, rule):
    model, problem, covariances, mask = case
    refresh = RULES[rule][0]

    def energy(size):
        factor = dense.root(jnp.asarray(size * covariances))
        nothing = dense.Sites(jnp.zeros((len(T), problem.d)), jnp.zeros((len(T), problem.d, problem.d)))
        glance = lambda sites: dense.look(refresh, model, factor, problem.y, mask, sites)  # noqa: E731
        return dense.solve(glance, nothing, rule == "vi", 0.5)[0]

    step = 1e-4
    slope = float(energy(1 + step).energy - energy(1 - step).energy) / (2 * step)
    np.testing.assert_allclose(np.sum(energy(1.0).slope * covariances), slope, rtol=1e-5, atol=1e-6)
