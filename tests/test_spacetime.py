"""Fields in space and time agree with dense Gaussian processes: on grids, with inducing places, scattered."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssep
from ssep.kernels import Matern32, Matern52
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


def compare(field, lik, likelihood, y, rule_name, damping=0.7):
    """The first two sweeps against the dense oracle: posterior, sites and energy, and the rule's own energy."""
    make_rule, dense_rule, alphas = RULES[rule_name]
    alpha = alphas[min(1, len(alphas) - 1)]
    prior, data = field.prior, ssep.Data(field.t, y, r=field.r)
    problem = field.problem(y, likelihood, oracle.gauss_hermite(DEGREE, prior.num_latents))
    dense_sites, sites = oracle.first_pass(problem, dense_rule), None
    rule, linearised = make_rule(jnp.asarray(alpha)), rule_name == "ExtendedEP"
    for _ in range(2):
        energy_wanted = (oracle.filter_energy if len(field.shape) == 1 else oracle.filter_energy_of_field)(
            problem, dense_sites, linearised
        )
        given_sites = dense_sites
        wanted, dense_sites = oracle.sweep(problem, dense_rule, dense_sites, alpha, damping)
        posterior, sites, energy = ssep.sweep(prior, lik, sites, rule, data, step=ssep.Step(damping))
        assert posterior.mean.shape == sites.linear.shape == (*y.shape, prior.num_latents)
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
    if rule_name in ("CVI", "PowerEP"):
        objective = ssep.FreeEnergy() if rule_name == "CVI" else ssep.PowerEPEnergy()
        if rule_name == "CVI":
            value = oracle.free_energy(problem, given_sites)
        else:
            value = oracle.power_ep_energy(problem, given_sites, alpha)
        close(ssep.sweep(prior, lik, before, rule, data, objective=objective)[2], value)


few = settings(max_examples=3)


@pytest.mark.parametrize(("layout", "rule_name"), [*(("grid", name) for name in RULES), ("sum", "CVI")])
@few
@given(seed=seeds)
def test_on_a_grid_it_is_the_dense_kronecker_process(layout, rule_name, seed):
    field = fields.draw(layout, seed)
    compare(field, POISSON, dense.Poisson(), counts(field, seed), rule_name)


@pytest.mark.parametrize(
    ("layout", "rule_name", "conditional"),
    [
        ("few places", "PowerEP", True),
        ("few places", "PowerEP", False),
        ("many places", "CVI", True),
        ("many places", "StatLinEP", False),
        ("one by one", "ExtendedEP", True),
        ("one by one", "StatLinEP", True),
        ("one by one", "CVI", False),
        ("ragged", "ExtendedEP", True),
        ("ragged", "PowerEP", True),
        ("two by two", "CVI", True),
    ],
)
@few
@given(seed=seeds)
def test_with_inducing_places_it_is_the_dense_sparse_process(layout, rule_name, conditional, seed):
    field = fields.draw(layout, seed)
    field.conditional = conditional
    compare(field, POISSON, dense.Poisson(), counts(field, seed), rule_name)


@pytest.mark.parametrize("layout", ["grid", "many places", "two by two"])
@few
@given(seed=seeds)
def test_several_latents_per_place(layout, seed):
    field = fields.draw(layout, seed, num_latents=2)
    y = np.random.default_rng(seed).normal(size=field.shape)
    likelihood = ssep.likelihoods.HeteroscedasticGaussian()
    compare(field, likelihood, dense.HeteroscedasticGaussian(), y, "PowerEP", damping=0.5)


@few
@given(seed=seeds)
def test_converged_cvi_maximises_the_sparse_variational_bound(seed):
    """Hensman et al. (2015), with one inducing variable per inducing place and time, written out densely."""
    field = fields.draw("many places", seed)
    y = counts(field, seed)
    y = np.where(np.isnan(y), 2.0, y)
    prior, data = field.prior, ssep.Data(field.t, y, r=field.r)
    rule = ssep.CVI(ssep.GaussHermite(20))
    solution = ssep.infer(prior, POISSON, rule, data, objective=ssep.FreeEnergy(), tol=1e-10)

    (_, temporal, spatial, inducing), (times, places) = field.terms[0], field.flat
    # The times of the inducing variables: distinct ones, or their covariance is singular.
    distinct = np.unique(field.t)
    u_times, u_places = np.repeat(distinct, len(inducing)), np.tile(inducing, (len(distinct), 1))
    prior_cov = fields.matern(temporal, u_times[:, None], u_times[:, None]) * fields.matern(spatial, u_places, u_places)
    cross = fields.matern(temporal, times[:, None], u_times[:, None]) * fields.matern(spatial, places, u_places)
    weights = np.linalg.solve(prior_cov, cross.T).T
    variance = float(temporal.variance * spatial.variance)
    rest = variance - np.sum(weights * cross, 1)
    lower = np.linalg.cholesky(prior_cov)

    def bound(mean, root):
        """q(u) = N(L mean, L root root' L')."""
        f = weights @ lower @ mean
        spread = jnp.sum((weights @ lower @ root) ** 2, 1) + rest
        expected = y.ravel() * f - jnp.exp(f + spread / 2) - jax.scipy.special.gammaln(y.ravel() + 1)
        _, log_det = jnp.linalg.slogdet(root)
        divergence = 0.5 * (jnp.sum(root**2) + mean @ mean - len(mean)) - log_det
        return jnp.sum(expected) - divergence

    # The variational distribution that the sites imply.
    linear, precision = (np.asarray(part).ravel() for part in (solution.sites.linear, solution.sites.precision))
    seen = weights @ lower
    posterior = np.linalg.inv(np.eye(len(lower)) + seen.T @ (precision[:, None] * seen))
    mean, root = posterior @ seen.T @ linear, np.linalg.cholesky(posterior)
    close(-solution.energy, bound(mean, root))
    for gradient in jax.grad(bound, (0, 1))(jnp.asarray(mean), jnp.asarray(root)):
        assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("rule", [ssep.PowerEP(0.5), ssep.ExtendedEP(), ssep.StatLinEP(0.0), ssep.CVI()])
def test_one_place_is_a_temporal_process(rule):
    t, y = np.array([0.0, 0.4, 0.4, 1.5, 2.0]), np.array([0.0, 2.0, 1.0, np.nan, 3.0])
    spatial = Matern52(1.7, 0.3)
    field = ssep.SpatioTemporalPrior(Matern32(0.8, 1.2), spatial, mean=lambda t, r: 0.1 * t + r[0])
    in_time = ssep.SDEPrior(Matern32(0.8 * 1.7, 1.2), mean=lambda t: 0.1 * t + 0.5)
    wanted = ssep.infer(in_time, POISSON, rule, ssep.Data(t, y))
    for prior in (field, ssep.SpatioTemporalPrior(Matern32(0.8, 1.2), spatial, [0.5], mean=field.terms[0].mean)):
        got = ssep.infer(prior, POISSON, rule, ssep.Data(t, y[:, None], r=[0.5]))
        close(got.posterior.mean, wanted.posterior.mean)
        close(got.posterior.cov, wanted.posterior.cov)
        close(got.energy, wanted.energy)


@given(seed=seeds)
def test_permuting_places_permutes_the_result(seed):
    field = fields.draw("grid", seed)
    y, order = counts(field, seed), np.random.default_rng(seed).permutation(field.shape[1])
    posterior, sites, energy = ssep.sweep(field.prior, POISSON, None, ssep.PowerEP(), ssep.Data(field.t, y, r=field.r))
    shuffled = ssep.Data(field.t, y[:, order], r=field.r[order])
    permuted, moved, same = ssep.sweep(field.prior, POISSON, None, ssep.PowerEP(), shuffled)
    close(same, energy)
    close(permuted.mean, posterior.mean[:, order])
    close(permuted.cov, posterior.cov[:, order])
    close(moved.linear, sites.linear[:, order])


@given(seed=seeds)
def test_masked_cells_are_deleted_cells(seed):
    """A place that is never observed, and cells with a mask, change nothing elsewhere."""
    field = fields.draw("grid", seed)
    y = counts(field, seed)
    y[:, 2] = np.nan
    keep = [0, 1, 3]
    rule = ssep.PowerEP()
    with_place = ssep.sweep(field.prior, POISSON, None, rule, ssep.Data(field.t, y, r=field.r))
    without = ssep.sweep(field.prior, POISSON, None, rule, ssep.Data(field.t, y[:, keep], r=field.r[keep]))
    close(with_place[2], without[2])
    close(with_place[0].mean[:, keep], without[0].mean)
    close(with_place[1].precision[:, keep], without[1].precision)
    # Cell by cell: the same observations as rows of different lengths.
    inducing = ssep.SpatioTemporalPrior(Matern32(1.0, 1.0), Matern52(1.0, 1.0), field.r)
    rows, columns = np.nonzero(~np.isnan(y))
    records = ssep.Data.from_records(field.t[rows] + 1e-9 * rows, field.r[columns], y[rows, columns])
    on_grid = ssep.sweep(inducing, POISSON, None, rule, ssep.Data(field.t + 1e-9 * np.arange(len(y)), y, r=field.r))
    ragged = ssep.sweep(inducing, POISSON, None, rule, records)
    close(ragged[2], on_grid[2])
    close(np.asarray(ragged[0].mean)[np.asarray(records.mask)], np.asarray(on_grid[0].mean)[rows, columns])


def test_the_first_pass_of_cvi_is_its_fixed_point_for_gaussian_noise():
    """Also with inducing places, where other powers would leave other sites."""
    field = fields.draw("few places", 1)
    y = np.random.default_rng(1).normal(size=field.shape)
    data, lik = ssep.Data(field.t, y, r=field.r), ssep.likelihoods.Gaussian(0.3)
    posterior, sites, energy = ssep.sweep(field.prior, lik, None, ssep.CVI(), data, objective=ssep.FreeEnergy())
    close(sites.precision, np.full((*y.shape, 1, 1), 1 / 0.3))
    again = ssep.sweep(field.prior, lik, sites, ssep.CVI(), data, objective=ssep.FreeEnergy())
    close(again[0].mean, posterior.mean)
    close(again[2], energy)
