"""Missing is missing: by NaN, by mask, in whole steps or in parts, it equals data from which it was deleted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssep

RULES = [ssep.PowerEP(0.5), ssep.ExtendedEP(0.5), ssep.StatLinEP(0.5), ssep.CVI()]
PRIOR = ssep.SDEPrior(ssep.kernels.Matern52(0.9, 1.4) + ssep.kernels.Cosine(0.3, 2.0), mean=0.1)
LIK = ssep.likelihoods.Poisson()
rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)


def sweeps(data, rule, count=3, **options):
    posterior, sites, energy = ssep.sweep(PRIOR, LIK, None, rule, data, **options)
    for _ in range(count - 1):
        posterior, sites, energy = ssep.sweep(PRIOR, LIK, sites, rule, data, **options)
    return posterior, sites, energy


@rules
@given(seed=st.integers(0, 2**32 - 1))
def test_masked_equals_deleted(rule, seed):
    rng = np.random.default_rng(seed)
    t, y = np.sort(rng.uniform(0, 5, 10)), rng.poisson(2.0, 10).astype(float)
    kept = np.sort(rng.permutation(10)[:6])
    mask = np.isin(np.arange(10), kept)
    deleted = sweeps(ssep.Data(t[kept], y[kept]), rule)
    by_nan = sweeps(ssep.Data(t, np.where(mask, y, np.nan)), rule)
    by_mask = sweeps(ssep.Data(t, np.where(mask, y, -7.5), mask=mask), rule)
    for got in (by_nan, by_mask):
        np.testing.assert_allclose(got[0].mean[kept], deleted[0].mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(got[0].cov[kept], deleted[0].cov, rtol=0, atol=1e-9)
        np.testing.assert_allclose(got[1].precision[kept], deleted[1].precision, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(got[2], deleted[2], rtol=1e-9)
        assert (np.asarray(got[1].linear)[~mask] == 0).all()
        assert (np.asarray(got[1].precision)[~mask] == 0).all()


@rules
@given(seed=st.integers(0, 2**32 - 1))
def test_parts_of_a_step_may_be_missing(rule, seed):
    """A padded (n, J) array equals each observation as a step of its own, at repeated times."""
    rng = np.random.default_rng(seed)
    t, y = np.sort(rng.uniform(0, 5, 5)), rng.poisson(2.0, (5, 3)).astype(float)
    mask = rng.uniform(size=(5, 3)) < 0.6
    mask[0, 0], mask[2] = True, False
    sites = ssep.SiteState(jnp.asarray(rng.normal(size=(5, 3, 1))), jnp.asarray(rng.uniform(size=(5, 3, 1, 1))))
    rows = ssep.Data(t, y, mask=mask)
    flat = ssep.Data(np.repeat(t, 3), y.ravel(), mask=mask.ravel())
    flat_sites = ssep.SiteState(sites.linear.reshape(15, 1), sites.precision.reshape(15, 1, 1))
    for objective in (ssep.PowerEPEnergy(0.5), ssep.FreeEnergy()):
        posterior, new, energy = ssep.sweep(PRIOR, LIK, sites, rule, rows, objective=objective)
        wanted, wanted_new, wanted_energy = ssep.sweep(PRIOR, LIK, flat_sites, rule, flat, objective=objective)
        np.testing.assert_allclose(posterior.mean.reshape(15, 1), wanted.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(posterior.cov.reshape(15, 1, 1), wanted.cov, rtol=0, atol=1e-9)
        np.testing.assert_allclose(new.linear.reshape(15, 1), wanted_new.linear, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(energy, wanted_energy, rtol=1e-9, atol=1e-9)


@rules
def test_nothing_observed_gives_the_prior(rule):
    data = ssep.Data(np.arange(4.0), np.full(4, np.nan))
    posterior, sites, energy = sweeps(data, rule)
    np.testing.assert_allclose(posterior.mean, 0.1, atol=1e-12)
    np.testing.assert_allclose(posterior.cov[:, 0, 0], 1.2, atol=1e-12)
    assert float(energy) == 0
    assert (np.asarray(sites.precision) == 0).all()


@rules
def test_given_sites_are_ignored_where_the_observation_is_missing_now(rule):
    t, y = np.arange(6.0), np.array([1.0, 2, 0, 3, 1, 1])
    _, sites, _ = sweeps(ssep.Data(t, y), rule)
    held_out = ssep.Data(t, np.where(t == 2, np.nan, y))
    zeroed = jax.tree.map(lambda leaf: leaf.at[2].set(0), sites)
    got, wanted = (ssep.sweep(PRIOR, LIK, s, rule, held_out) for s in (sites, zeroed))
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@rules
def test_gradients_stay_finite_with_missing_data(rule):
    data = ssep.Data(
        np.arange(6.0), np.array([1.0, np.nan, 0, np.nan, np.nan, 1]), aux=np.array([1.0, np.nan, 2, 1, 1, 1])
    )

    def energy(lengthscale):
        prior = ssep.SDEPrior(ssep.kernels.Matern52(0.9, lengthscale))
        return ssep.sweep(prior, LIK, None, rule, data)[2]

    assert np.isfinite(jax.grad(energy)(1.4))
