"""What the method promises: exactness for Gaussian noise, classical filters first, limits and fixed points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import ssep
from tests import oracle
from tests import oracle_likelihoods as dense
from tests.test_sweep import build

RULES = {
    "PowerEP": lambda alpha: ssep.PowerEP(jnp.maximum(alpha, 0.01)),
    "ExtendedEP": ssep.ExtendedEP,
    "StatLinEP": ssep.StatLinEP,
    "StatLinEP-unscented": lambda alpha: ssep.StatLinEP(alpha, ssep.Unscented3()),
    "CVI": lambda alpha: ssep.CVI(),
}
ENERGIES = [ssep.FilterEnergy(), ssep.PowerEPEnergy(0.5), ssep.FreeEnergy()]
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("rule_name", RULES)
@pytest.mark.parametrize("per_step", [None, 3])
@given(seed=seeds, alpha=st.sampled_from([0.0, 0.3, 1.0]))
def test_gaussian_likelihood_is_exact_in_one_sweep(rule_name, per_step, seed, alpha):
    rng = np.random.default_rng(seed)
    shape = (8,) if per_step is None else (8, per_step)
    t, noise = np.sort(rng.uniform(0, 4, 8)), rng.uniform(0.05, 1)
    t[3] = t[2]
    y, seen = rng.normal(size=shape), rng.uniform(size=shape) < 0.8
    seen.flat[0] = True
    data = ssep.Data(t, np.where(seen, y, np.nan))
    prior, lik = ssep.SDEPrior(ssep.kernels.Matern32(1.3, 0.9), mean=0.4), ssep.likelihoods.Gaussian(noise)

    where = np.broadcast_to(np.arange(8).reshape(-1, *[1] * (len(shape) - 1)), shape)[seen]
    cov = oracle.matern(1, 1.3, 0.9, t, t)
    gram = cov[np.ix_(where, where)] + noise * np.eye(len(where))
    cross = cov[:, where]
    mean = 0.4 + cross @ np.linalg.solve(gram, y[seen] - 0.4)
    variance = np.diag(cov - cross @ np.linalg.solve(gram, cross.T))
    evidence = stats.multivariate_normal.logpdf(y[seen], np.full(len(where), 0.4), gram)

    rule = RULES[rule_name](jnp.asarray(alpha))
    posterior, sites, _ = ssep.sweep(prior, lik, None, rule, data)
    got = posterior.mean[..., 0] if per_step is None else posterior.mean[:, 0, 0]
    got_variance = posterior.cov[..., 0, 0] if per_step is None else posterior.cov[:, 0, 0, 0]
    np.testing.assert_allclose(got, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(got_variance, variance, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sites.precision[..., 0, 0], seen / noise, rtol=1e-9)
    for objective in ENERGIES:
        energy = ssep.sweep(prior, lik, None, rule, data, objective=objective)[2]
        np.testing.assert_allclose(energy, -evidence, rtol=1e-9, atol=1e-9)


def nonlinear_filter(prior, t, y, observe):
    """A Kalman filter in mean and covariance form.

    `observe(mean, variance)` gives the predicted y, its variance and its covariance with f.

    Returns the filter's estimate of f and the energy of the predictions.
    """
    kernel = prior.kernels[0]
    h = np.asarray(kernel.observation(jnp.zeros(())))
    mean, cov = np.zeros(len(h)), np.asarray(kernel.state_cov(jnp.zeros(())))
    estimates, energy = [], 0.0
    for k, gap in enumerate(np.diff(t, prepend=t[0])):
        a, q = np.asarray(kernel.transition(jnp.asarray(gap))), np.asarray(kernel.process_noise(jnp.asarray(gap)))
        mean, cov = a @ mean, a @ cov @ a.T + q
        predicted, innovation, cross = observe(h @ mean, h @ cov @ h)
        gain = cov @ h * cross / (h @ cov @ h) / innovation
        mean, cov = mean + gain * (y[k] - predicted), cov - np.outer(gain, gain) * innovation
        energy -= stats.norm.logpdf(y[k], predicted, np.sqrt(innovation))
        estimates.append(h @ mean)
    return np.array(estimates), energy


def filter_estimates(prior, lik, rule, t, y):
    """The posterior of each step with all later observations missing."""
    estimates = []
    for k in range(len(t)):
        seen = np.where(np.arange(len(t)) <= k, y, np.nan)
        estimates.append(float(ssep.sweep(prior, lik, None, rule, ssep.Data(t, seen))[0].mean[k, 0]))
    return np.array(estimates)


FILTER_MODELS = {
    "poisson": (ssep.likelihoods.Poisson(), dense.Poisson(), lambda rng: rng.poisson(2.0, 6)),
    "bernoulli": (ssep.likelihoods.Bernoulli(), dense.Bernoulli(), lambda rng: rng.integers(0, 2, 6)),
}


@pytest.mark.parametrize("name", FILTER_MODELS)
def test_extended_ep_first_pass_is_the_extended_kalman_filter(name):
    lik, wanted_lik, draw = FILTER_MODELS[name]
    rng = np.random.default_rng(4)
    t, y = np.sort(rng.uniform(0, 4, 6)), draw(rng).astype(float)
    prior = ssep.SDEPrior(ssep.kernels.Matern52(0.8, 1.2))

    def observe(mean, variance):
        point = np.array([[mean]])
        value, slope = wanted_lik.mean(point)
        j = slope[0, 0]
        return value[0], j**2 * variance + wanted_lik.variance_of(point)[0], variance * j

    estimates, energy = nonlinear_filter(prior, t, y, observe)
    rule = ssep.ExtendedEP(1.0)
    np.testing.assert_allclose(filter_estimates(prior, lik, rule, t, y), estimates, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ssep.sweep(prior, lik, None, rule, ssep.Data(t, y))[2], energy, rtol=1e-10)


@pytest.mark.parametrize("name", FILTER_MODELS)
@pytest.mark.parametrize("cubature", [ssep.Unscented3(), ssep.Unscented5(), ssep.GaussHermite(7)])
def test_stat_lin_ep_first_pass_is_the_sigma_point_filter(name, cubature):
    lik, wanted_lik, draw = FILTER_MODELS[name]
    rng = np.random.default_rng(5)
    t, y = np.sort(rng.uniform(0, 4, 6)), draw(rng).astype(float)
    prior = ssep.SDEPrior(ssep.kernels.Matern52(0.8, 1.2))
    # In one dimension: two points at one standard deviation; three at sqrt(3); Gauss-Hermite.
    z, w = {
        ssep.Unscented3: (np.array([-1.0, 1.0]), np.array([0.5, 0.5])),
        ssep.Unscented5: (np.sqrt(3) * np.array([-1.0, 0.0, 1.0]), np.array([1, 4, 1]) / 6),
    }.get(type(cubature), tuple(part.ravel() for part in oracle.gauss_hermite(7, 1)))

    def observe(mean, variance):
        f = mean + np.sqrt(variance) * z
        value = wanted_lik.mean(f[:, None])[0]
        predicted = w @ value
        innovation = w @ (value - predicted) ** 2 + w @ wanted_lik.variance_of(f[:, None])
        return predicted, innovation, w @ ((f - mean) * (value - predicted))

    estimates, _ = nonlinear_filter(prior, t, y, observe)
    rule = ssep.StatLinEP(1.0, cubature)
    np.testing.assert_allclose(filter_estimates(prior, lik, rule, t, y), estimates, rtol=0, atol=1e-10)


def converge(prior, lik, rule, data, damping=1.0, sweeps=60, objective=ssep.FilterEnergy()):
    posterior, sites, energy = ssep.sweep(prior, lik, None, rule, data)
    for _ in range(sweeps):
        posterior, sites, energy = ssep.sweep(
            prior, lik, sites, rule, data, step=ssep.Step(damping), objective=objective
        )
    return posterior, sites, energy


def test_power_ep_tends_to_cvi():
    prior, lik, data, *_ = build(7, "bernoulli")
    wanted = converge(prior, lik, ssep.CVI(ssep.GaussHermite(40)), data)[0]
    errors = []
    for alpha in (0.1, 0.01, 0.001):
        posterior = converge(prior, lik, ssep.PowerEP(alpha, ssep.GaussHermite(40)), data)[0]
        errors.append(float(jnp.abs(posterior.mean - wanted.mean).max()))
    # First order in alpha, down to the accuracy of the cubature.
    assert errors[1] == pytest.approx(errors[0] / 10, rel=0.1)
    assert errors[2] == pytest.approx(errors[1] / 10, rel=0.1)


@pytest.mark.parametrize(("name", "damping"), [("poisson", 0.8), ("bernoulli", 1.0)])
def test_extended_ep_zero_is_the_iterated_extended_smoother(name, damping):
    """The fixed point of Gauss-Newton: f = K J'R^-1 (y - h(f)) with J and R at f itself."""
    prior, lik, data, problem, _ = build(8, name)
    posterior, _, _ = converge(prior, lik, ssep.ExtendedEP(0.0), data, damping)
    cov, seen, f = problem.covariances[0], problem.mask, np.asarray(posterior.mean)[:, 0]
    value, slope = problem.likelihood.mean(f[:, None])
    noise = problem.likelihood.variance_of(f[:, None])
    pull = np.where(seen, slope[:, 0] / noise * (problem.y - value), 0)
    np.testing.assert_allclose(f, problem.means[:, 0] + cov @ pull, rtol=0, atol=1e-9)
    precision = np.diag(np.where(seen, slope[:, 0] ** 2 / noise, 0))
    wanted = np.diag(np.linalg.solve(np.eye(len(f)) + cov @ precision, cov))
    np.testing.assert_allclose(posterior.cov[:, 0, 0], wanted, rtol=0, atol=1e-9)


def test_stat_lin_ep_zero_is_posterior_linearisation():
    prior, lik, data, problem, _ = build(9, "bernoulli")
    posterior, _, _ = converge(prior, lik, ssep.StatLinEP(0.0, ssep.GaussHermite(12)), data)
    mean, cov = np.asarray(posterior.mean), np.asarray(posterior.cov)
    linear, precision = np.zeros_like(mean), np.zeros_like(cov)
    for (k,) in problem.observed():
        target = oracle.stat_lin_ep(problem.likelihood, problem.y[k], mean[k], cov[k], 0.0, problem.nodes)
        linear[k], precision[k] = target
    (wanted_mean, wanted_cov), _ = problem.condition(linear, precision)
    np.testing.assert_allclose(mean, wanted_mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(cov, wanted_cov, rtol=0, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_converged_power_ep_is_the_fixed_point_of_dense_batch_ep(alpha):
    """Dense EP visits one site after the other, so it shares no schedule with a sweep."""
    prior, lik, data, problem, _ = build(10, "probit")
    rule = ssep.PowerEP(alpha, ssep.GaussHermite(12))
    posterior, _, _ = converge(prior, lik, rule, data, damping=0.8)
    linear, precision = np.zeros((problem.n, 1)), np.zeros((problem.n, 1, 1))
    for _ in range(60):
        for (k,) in problem.observed():
            (means, covs), _ = problem.condition(linear, precision)
            hole = oracle.cavity(means[k], covs[k], linear[k], precision[k], alpha)
            target = oracle.power_ep(problem.likelihood, problem.y[k], *hole, alpha, problem.nodes)
            linear[k], precision[k] = target
    (means, covs), _ = problem.condition(linear, precision)
    np.testing.assert_allclose(posterior.mean, means, rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.cov, covs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["poisson", "bernoulli"])
def test_converged_cvi_maximises_the_dense_bound(name):
    prior, lik, data, problem, _ = build(11, name)
    rule = ssep.CVI(ssep.GaussHermite(12))
    posterior, _, energy = converge(prior, lik, rule, data, damping=0.8, objective=ssep.FreeEnergy())
    cov, mean0, n = problem.covariances[0], problem.means[:, 0], problem.n
    # Times repeat, so the prior is singular: work in its eigenvectors, f = mean0 + B u with u standard normal.
    values, vectors = np.linalg.eigh(cov)
    basis = (vectors * np.sqrt(np.maximum(values, 0)))[:, values > 1e-10 * values.max()]
    size = basis.shape[1]
    lower = np.tril_indices(size)

    def negative_bound(parameters):
        m, factor = parameters[:size], np.zeros((size, size))
        factor[lower] = parameters[size:]
        f, spread = mean0 + basis @ m, basis @ factor
        kl = (np.sum(factor**2) + m @ m - size) / 2 - np.log(np.abs(np.diag(factor))).sum()
        fit = sum(
            problem.likelihood.expected_log_prob(
                problem.y[k], f[k : k + 1], np.array([[spread[k] @ spread[k]]]), problem.nodes
            )[0]
            for (k,) in problem.observed()
        )
        return kl - fit

    start = np.concatenate([np.zeros(size), np.eye(size)[lower]])
    best = optimize.minimize(negative_bound, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 500})
    assert float(energy) == pytest.approx(best.fun, abs=1e-7)
    np.testing.assert_allclose(posterior.mean[:, 0], mean0 + basis @ best.x[:size], rtol=0, atol=1e-4)
    assert n == len(posterior.mean)


@pytest.mark.parametrize(
    ("name", "rule", "objective"),
    [
        ("probit", ssep.PowerEP(1.0), ssep.PowerEPEnergy()),
        ("poisson", ssep.CVI(), ssep.FreeEnergy()),
        ("bernoulli", ssep.CVI(ssep.GaussHermite(5)), ssep.FreeEnergy()),
        ("heteroscedastic", ssep.CVI(ssep.GaussHermite(5)), ssep.FreeEnergy()),
    ],
)
def test_energy_is_stationary_in_the_sites_at_the_fixed_point(name, rule, objective):
    prior, lik, data, *_ = build(12, name)
    step = ssep.Step(0.3, ssep.KeepIndefinite())
    _, sites, _ = ssep.sweep(prior, lik, None, rule, data)
    for _ in range(300):
        _, sites, _ = ssep.sweep(prior, lik, sites, rule, data, step=step)

    def energy(sites):
        return ssep.sweep(prior, lik, sites, rule, data, objective=objective)[2]

    at_fixed_point = jax.grad(energy)(sites)
    moved = jax.tree.map(lambda leaf: leaf * 1.1, sites)
    elsewhere = jax.grad(energy)(moved)
    for here, there in zip(jax.tree.leaves(at_fixed_point), jax.tree.leaves(elsewhere), strict=True):
        assert np.abs(here).max() < 1e-9
        assert np.abs(there).max() > 1e-4


@pytest.mark.parametrize(
    ("rule", "energy"),
    [
        (ssep.PowerEP(1.0), 346.845721),
        (ssep.CVI(), 345.353155),
        (ssep.ExtendedEP(1.0), 421.927426),
        (ssep.StatLinEP(1.0), 346.504513),
    ],
)
def test_first_filter_energy_on_coal_equals_the_papers_code(rule, energy):
    t, y = ssep.datasets.coal()
    prior = ssep.SDEPrior(ssep.kernels.Matern52(1.0, 1.0))
    # The experiments' times are rounded to four decimals.
    got = ssep.sweep(prior, ssep.likelihoods.Poisson(), None, rule, ssep.Data(np.round(t, 4), y))[2]
    assert float(got) == pytest.approx(energy, abs=1e-6)
