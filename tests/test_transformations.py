"""`sweep` is a pure function: jit, grad and vmap go through it and agree with doing without."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ssep
from tests.test_sweep import build

RULES = {
    "PowerEP": lambda alpha: ssep.PowerEP(alpha, ssep.GaussHermite(8)),
    "ExtendedEP": ssep.ExtendedEP,
    "StatLinEP": lambda alpha: ssep.StatLinEP(alpha, ssep.GaussHermite(8)),
    "CVI": lambda alpha: ssep.CVI(ssep.GaussHermite(8)),
}
rules = pytest.mark.parametrize("rule_name", RULES)
OBJECTIVES = [ssep.FilterEnergy(), ssep.PowerEPEnergy(0.5), ssep.FreeEnergy()]


def assert_same(got, wanted, tolerance=1e-9):
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def model(lengthscale):
    return ssep.SDEPrior(ssep.kernels.Matern52(1.1, lengthscale), mean=0.2)


@rules
def test_jit_changes_nothing(rule_name):
    _, lik, data, *_ = build(1, "poisson")
    rule = RULES[rule_name](0.5)

    def two(prior, data):
        _, sites, _ = ssep.sweep(prior, lik, None, rule, data)
        return ssep.sweep(prior, lik, sites, rule, data)

    assert_same(jax.jit(two)(model(1.3), data), two(model(1.3), data), 1e-12)


@rules
def test_data_may_be_made_inside_jit(rule_name):
    _, lik, data, problem, _ = build(1, "poisson")
    y = jnp.where(problem.mask, problem.y, jnp.nan)

    @jax.jit
    def inside(t, y):
        return ssep.sweep(model(1.3), lik, None, RULES[rule_name](0.5), ssep.Data(t, y))

    assert_same(inside(data.t, y), ssep.sweep(model(1.3), lik, None, RULES[rule_name](0.5), data))


@rules
def test_vmap_over_hyperparameters_equals_a_loop(rule_name):
    _, lik, data, *_ = build(2, "poisson")
    grid = jnp.array([0.4, 1.0, 3.0])

    def energy(lengthscale):
        return ssep.sweep(model(lengthscale), lik, None, RULES[rule_name](0.5), data)

    loop = [energy(lengthscale) for lengthscale in grid]
    assert_same(jax.vmap(energy)(grid), jax.tree.map(lambda *leaves: jnp.stack(leaves), *loop))


@pytest.mark.parametrize("rule_name", ["PowerEP", "ExtendedEP", "StatLinEP"])
@pytest.mark.parametrize("name", ["probit", "heteroscedastic"])
def test_vmap_over_alpha_equals_a_loop_of_numbers(rule_name, name):
    prior, lik, data, *_ = build(3, name)
    _, sites, _ = ssep.sweep(prior, lik, None, RULES[rule_name](0.5), data)

    def step(alpha):
        return ssep.sweep(prior, lik, sites, RULES[rule_name](alpha), data, objective=ssep.PowerEPEnergy(0.7))

    loop = [step(alpha) for alpha in (0.2, 0.5, 1.0)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *loop)
    assert_same(jax.vmap(step)(jnp.array([0.2, 0.5, 1.0])), stacked)


def test_vmap_over_series_equals_a_loop():
    _, lik, data, problem, _ = build(4, "poisson")
    rng = np.random.default_rng(0)
    batch = jnp.asarray(rng.poisson(2.0, (3, problem.n)).astype(float)).at[1, 2].set(jnp.nan)
    rule = ssep.PowerEP(0.5)

    def run(y):
        return ssep.sweep(model(1.0), lik, None, rule, ssep.Data(data.t, y))

    loop = [run(np.asarray(y)) for y in batch]
    assert_same(jax.vmap(run)(batch), jax.tree.map(lambda *leaves: jnp.stack(leaves), *loop))


@pytest.mark.parametrize(
    ("name", "rule_name"),
    [*(("student", rule) for rule in RULES), ("heteroscedastic", "PowerEP"), ("heteroscedastic", "CVI")],
)
def test_gradients_equal_finite_differences(rule_name, name):
    """Of the first sweep's filter energy, through the initialisation, and of each energy at given sites."""
    prior, lik, data, *_ = build(5, name)
    rule = RULES[rule_name](0.5)
    _, sites, _ = ssep.sweep(prior, lik, None, rule, data)
    leaves, tree = jax.tree.flatten(eqx.filter((prior, lik), eqx.is_inexact_array))
    fixed = eqx.filter((prior, lik), eqx.is_inexact_array, inverse=True)

    @jax.jit
    def energies(vector):
        new_prior, new_lik = eqx.combine(jax.tree.unflatten(tree, list(vector)), fixed)
        first = ssep.sweep(new_prior, new_lik, None, rule, data)[2]
        given = [ssep.sweep(new_prior, new_lik, sites, rule, data, objective=each)[2] for each in OBJECTIVES]
        return jnp.stack([first, *given])

    point = jnp.stack(leaves)
    gradient = jax.jit(jax.jacrev(energies))(point)
    step = 1e-5
    for i in range(len(point)):
        forward, backward = (energies(point.at[i].add(s)) for s in (step, -step))
        difference = (forward - backward) / (2 * step)
        np.testing.assert_allclose(gradient[:, i], difference, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("mean", [0.3, np.array([0.3]), (lambda t: 0.1 * t,), jnp.sin])
def test_priors_with_any_mean_pass_through_jit_and_grad(mean):
    _, lik, data, *_ = build(6, "poisson")
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 1.0), mean=mean)

    def energy(prior):
        return ssep.sweep(prior, lik, None, ssep.ExtendedEP(), data)[2]

    np.testing.assert_allclose(jax.jit(energy)(prior), energy(prior), rtol=1e-12)
    assert all(np.isfinite(leaf) for leaf in jax.tree.leaves(jax.grad(energy)(prior)))


@pytest.mark.parametrize("rule", [ssep.ExtendedEP(1.0), ssep.StatLinEP(1.0), ssep.PowerEP(1.0)])
def test_energies_and_gradients_stay_finite_where_labels_saturate(rule):
    y = (np.random.default_rng(0).uniform(size=30) < 0.5).astype(float)
    data = ssep.Data(np.arange(30.0), y)

    def energy(variance):
        prior = ssep.SDEPrior(ssep.kernels.Matern52(variance, 10.0))
        _, sites, first = ssep.sweep(prior, ssep.likelihoods.Bernoulli(), None, rule, data)
        return first + ssep.sweep(prior, ssep.likelihoods.Bernoulli(), sites, rule, data)[2]

    value, slope = jax.value_and_grad(energy)(1e3)
    assert np.isfinite(value)
    assert np.isfinite(slope)


def test_hyperparameters_of_another_precision_are_promoted():
    _, lik, data, *_ = build(6, "poisson")
    single = ssep.SDEPrior(ssep.kernels.Matern32(np.float32(1.5), np.float32(0.5)))
    double = ssep.SDEPrior(ssep.kernels.Matern32(1.5, 0.5))
    got, wanted = (ssep.sweep(prior, lik, None, ssep.ExtendedEP(), data) for prior in (single, double))
    assert_same(got, wanted, 1e-12)


def test_one_compilation_serves_all_values():
    _, lik, data, *_ = build(6, "poisson")
    traces = 0

    class Counting(ssep.Likelihood):
        def log_prob(self, y, f, aux):
            nonlocal traces
            traces += 1
            return lik.log_prob(y, f, aux)

    counting, rule = Counting(), ssep.PowerEP(jnp.asarray(0.5))
    ssep.sweep(model(1.0), counting, None, rule, data)
    before = traces
    for lengthscale in (0.3, 2.0, 5.0):
        ssep.sweep(model(lengthscale), counting, None, rule, data)
    assert traces == before


def test_single_precision_works_and_agrees():
    """In its own process in which double precision was never switched on."""
    import subprocess
    import sys

    code = """
import numpy as np, ssep, jax
assert not jax.config.jax_enable_x64
t, y = ssep.datasets.coal()
data = ssep.Data(t, y)
prior = ssep.SDEPrior(ssep.kernels.Matern52(1.0, 1.0))
for rule in (ssep.PowerEP(), ssep.CVI(), ssep.ExtendedEP(), ssep.StatLinEP()):
    posterior, sites, energy = ssep.sweep(prior, ssep.likelihoods.Poisson(), None, rule, data)
    assert posterior.mean.dtype == np.float32
    print(float(energy))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    np.testing.assert_allclose(
        [float(line) for line in run.stdout.split()], [346.8457, 345.3532, 421.9274, 346.5045], rtol=1e-4
    )
