"""`infer` reaches the fixed point, says how it ended, and differentiates through it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssep
from ssep import RESULTS
from tests import oracle, tasks
from tests.test_sweep import DEGREE, LIKELIHOODS, RULES, build

TIGHT = {"tol": 1e-9, "max_sweeps": 3000}


def converged(solution):
    return bool(solution.result == RESULTS.converged)


def assert_solves_the_dense_equations(prior, lik, data, problem, rule_name, degree):
    """Those of batch EP, and those that the optimum of the dense variational bound satisfies."""
    alpha, dense_rule = (0.5, oracle.power_ep) if rule_name == "PowerEP" else (0.0, oracle.cvi)
    cubature = ssep.GaussHermite(degree)
    rule = ssep.PowerEP(alpha, cubature) if rule_name == "PowerEP" else ssep.CVI(cubature)
    objective = ssep.PowerEPEnergy() if rule_name == "PowerEP" else ssep.FreeEnergy()
    solution = ssep.infer(prior, lik, rule, data, objective=objective, **TIGHT)
    sites = np.asarray(solution.sites.linear), np.asarray(solution.sites.precision)
    (mean, cov), refreshed = oracle.sweep(problem, dense_rule, sites, alpha, 1.0)
    np.testing.assert_allclose(solution.posterior.mean, mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(solution.posterior.cov, cov, rtol=0, atol=1e-6)
    (again_mean, again_cov), _ = problem.condition(*problem.per_step(*refreshed))
    np.testing.assert_allclose(again_mean, mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(again_cov, cov, rtol=0, atol=1e-6)
    dense_energy = oracle.free_energy if alpha == 0 else lambda *args: oracle.power_ep_energy(*args, alpha)
    np.testing.assert_allclose(solution.energy, dense_energy(problem, sites), rtol=1e-6)


@pytest.mark.parametrize("rule_name", ["PowerEP", "CVI"])
@pytest.mark.parametrize("task", tasks.TASKS)
def test_converged_sites_solve_the_dense_equations_on_the_papers_tasks(task, rule_name):
    assert_solves_the_dense_equations(*tasks.build(task), rule_name, tasks.DEGREE)


@pytest.mark.parametrize(
    ("name", "rule_name"),
    [("poisson", "CVI"), ("bernoulli", "PowerEP"), ("student", "PowerEP"), ("heteroscedastic", "CVI")],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_converged_sites_solve_the_dense_equations_of_random_models(name, rule_name, seed):
    assert_solves_the_dense_equations(*build(seed, name)[:4], rule_name, DEGREE)


@pytest.mark.parametrize("rule_name", RULES)
@pytest.mark.parametrize("name", LIKELIHOODS)
@given(seed=st.integers(0, 2**32 - 1), variance=st.floats(-3, 3), lengthscale=st.floats(-3, 3), scale=st.floats(-3, 3))
def test_nothing_is_nan_and_what_did_not_converge_says_so(name, rule_name, seed, variance, lengthscale, scale):
    """Hyperparameters and data over six orders of magnitude; 256 models in all."""
    prior, lik, data, *_ = build(seed, name)
    prior = eqx.tree_at(
        lambda p: [kernel.variance for kernel in p.kernels] + [kernel.lengthscale for kernel in p.kernels],
        prior,
        [jnp.asarray(10.0**variance)] * len(prior.kernels) + [jnp.asarray(10.0**lengthscale)] * len(prior.kernels),
    )
    y = data.y
    if LIKELIHOODS[name][3] == "real":
        y = y * 10.0**scale
    elif LIKELIHOODS[name][3] == "count":
        y = jnp.round(y * 10.0 ** max(scale, 0))
    data = eqx.tree_at(lambda d: d.y, data, y)
    make_rule, _, alphas = RULES[rule_name]
    rule = make_rule(jnp.asarray(alphas[seed % len(alphas)]))
    solution = ssep.infer(prior, lik, rule, data, throw=False, max_sweeps=300)
    finite = all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves((solution.posterior, solution.sites)))
    if solution.result == RESULTS.non_finite:
        return
    assert finite
    assert bool(jnp.isfinite(solution.energy))
    assert (jnp.diagonal(solution.posterior.cov, axis1=-2, axis2=-1) > 0).all()
    if converged(solution):
        assert int(solution.num_skipped) == 0
        # An independent look at what it claims: one more sweep changes the marginals by next to nothing.
        damping = 0.01
        _, sites, _ = ssep.sweep(prior, lik, solution.sites, rule, data, step=ssep.Step(damping))
        posterior, _, _ = ssep.sweep(prior, lik, sites, rule, data)
        sd = jnp.sqrt(jnp.diagonal(posterior.cov, axis1=-2, axis2=-1))
        assert float(jnp.max(jnp.abs(posterior.mean - solution.posterior.mean) / sd)) / damping < 3e-3


class Mixture(ssep.Energy):
    """All objectives at once, so that one compilation checks them all."""

    def __call__(self, likelihood, rule, data, sites, filtered, posterior):
        parts = [ssep.FilterEnergy(), ssep.PowerEPEnergy(0.5), ssep.FreeEnergy()]
        each = [part(likelihood, rule, data, sites, filtered, posterior) for part in parts]
        return each[0] - 2.3 * each[1] + 0.7 * each[2]


@pytest.mark.parametrize("rule_name", RULES)
def test_gradients_equal_finite_differences_of_converged_energies(rule_name):
    """Every objective, in every hyperparameter of prior and likelihood, with the sites following along."""
    prior, lik, data, *_ = build(21, "student")
    rule = RULES[rule_name][0](0.5)
    leaves, tree = jax.tree.flatten(eqx.filter((prior, lik), eqx.is_inexact_array))
    fixed = eqx.filter((prior, lik), eqx.is_inexact_array, inverse=True)

    def energy(vector):
        new_prior, new_lik = eqx.combine(jax.tree.unflatten(tree, list(vector)), fixed)
        options = {"tol": 1e-12, "max_sweeps": 3000, "throw": False, "objective": Mixture()}
        return ssep.infer(new_prior, new_lik, rule, data, **options).energy

    point = jnp.stack(leaves)
    value_and_grad = jax.jit(jax.value_and_grad(energy))
    _, gradient = value_and_grad(point)
    step = 1e-4
    for i in range(len(point)):
        forward, backward = (value_and_grad(point.at[i].add(s))[0] for s in (step, -step))
        np.testing.assert_allclose(gradient[i], (forward - backward) / (2 * step), rtol=1e-5, atol=1e-6)


def test_second_derivatives_exist():
    prior, lik, data, *_ = build(22, "poisson")

    def energy(lengthscale):
        new = eqx.tree_at(lambda p: p.kernels[0].lengthscale, prior, lengthscale)
        return ssep.infer(new, lik, ssep.ExtendedEP(), data, tol=1e-12, throw=False).energy

    gradient = jax.jit(jax.grad(energy))
    second = jax.jacrev(jax.grad(energy))(1.3)
    np.testing.assert_allclose(second, (gradient(1.3 + 1e-4) - gradient(1.3 - 1e-4)) / 2e-4, rtol=1e-4)


def test_given_sites_are_a_head_start_to_the_same_place():
    prior, lik, data, *_ = build(23, "poisson")
    cold = ssep.infer(prior, lik, ssep.PowerEP(), data, **TIGHT)
    warm = ssep.infer(prior, lik, ssep.PowerEP(), data, sites=cold.sites, **TIGHT)
    assert int(warm.num_sweeps) == 1 < int(cold.num_sweeps)
    np.testing.assert_allclose(warm.posterior.mean, cold.posterior.mean, rtol=0, atol=1e-8)


@pytest.mark.parametrize("step", [ssep.Step(0.7), ssep.AdaptiveStep(definiteness=ssep.Riemannian())])
def test_other_steps_reach_the_same_fixed_point(step):
    prior, lik, data, *_ = build(24, "bernoulli")
    wanted = ssep.infer(prior, lik, ssep.CVI(), data, **TIGHT)
    got = ssep.infer(prior, lik, ssep.CVI(), data, step=step, **TIGHT)
    np.testing.assert_allclose(got.posterior.mean, wanted.posterior.mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(got.energy, wanted.energy, rtol=1e-9)


def test_riemannian_moves_stay_definite_and_keep_gradients():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(50, 2, 2))
    sites = ssep.SiteState(jnp.asarray(rng.normal(size=(50, 2))), jnp.asarray(root @ np.swapaxes(root, 1, 2)))
    matrix = rng.normal(size=(50, 2, 2))
    target = ssep.SiteState(jnp.asarray(rng.normal(size=(50, 2))), jnp.asarray(matrix + np.swapaxes(matrix, 1, 2)))
    expansion = jnp.asarray(rng.normal(size=(50, 2)))
    policy = ssep.Riemannian()
    assert np.linalg.eigvalsh(target.precision).min() < -1

    def gradient(given):
        return given.linear - jnp.einsum("kij,kj->ki", given.precision, expansion)

    for damping in (0.1, 0.5, 1.0):
        moved = policy.move(sites, policy.aim(target, expansion), expansion, damping)
        assert np.linalg.eigvalsh(moved.precision).min() > 0
        wanted = (1 - damping) * gradient(sites) + damping * gradient(target)
        np.testing.assert_allclose(gradient(moved), wanted, rtol=0, atol=1e-9)


def test_vmap_over_models_equals_a_loop():
    _, lik, data, *_ = build(25, "poisson")

    def solve(lengthscale):
        solution = ssep.infer(ssep.SDEPrior(ssep.kernels.Matern32(1.0, lengthscale)), lik, ssep.PowerEP(), data)
        return solution.posterior, solution.energy, solution.num_sweeps

    grid = jnp.array([0.1, 1.0, 10.0])
    loop = [solve(lengthscale) for lengthscale in grid]
    for got, *wanted in zip(jax.tree.leaves(jax.vmap(solve)(grid)), *map(jax.tree.leaves, loop), strict=True):
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-9, atol=1e-12)


def test_the_gradient_of_mapped_inference_is_the_mapped_gradient():
    """A panel of series shares its hyperparameters: the gradient of the sum is taken outside of `vmap`."""
    lik, rule = ssep.likelihoods.Poisson(), ssep.PowerEP(0.5)
    rng = np.random.default_rng(0)
    t, y = np.sort(rng.uniform(0, 5, (3, 8)), 1), rng.poisson(2.0, (3, 8)).astype(float)

    def energy(lengthscale, t, y):
        prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, lengthscale))
        return ssep.infer(prior, lik, rule, ssep.Data(t, y)).energy

    together = jax.grad(lambda lengthscale: jnp.sum(jax.vmap(energy, (None, 0, 0))(lengthscale, t, y)))(1.3)
    apart = [jax.grad(energy)(1.3, *series) for series in zip(t, y, strict=True)]
    np.testing.assert_allclose(together, sum(apart), rtol=1e-6)


def test_counts_far_from_the_prior_converge_without_help():
    """Full steps overflow at once; the step control gets there from nothing."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 5, 40)
    data = ssep.Data(t, rng.poisson(2000.0, 40).astype(float))
    prior, lik = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 2.0)), ssep.likelihoods.Poisson()
    for rule in (ssep.CVI(), ssep.ExtendedEP(1.0), ssep.StatLinEP(1.0)):
        solution = ssep.infer(prior, lik, rule, data)
        np.testing.assert_allclose(solution.posterior.mean[:, 0], np.log(data.y), atol=0.08)
        plain = ssep.infer(prior, lik, rule, data, step=ssep.Step(1.0), throw=False, max_sweeps=30)
        assert not converged(plain)


def test_too_few_sweeps_are_reported_and_raised():
    prior, lik, data, *_ = build(26, "poisson")
    short = ssep.infer(prior, lik, ssep.PowerEP(), data, max_sweeps=1, throw=False)
    assert bool(short.result == RESULTS.max_sweeps_reached)
    assert bool(jnp.isfinite(short.posterior.mean).all())
    assert float(short.change) > 1e-4
    with pytest.raises(RuntimeError, match="max_sweeps"):
        ssep.infer(prior, lik, ssep.PowerEP(), data, max_sweeps=1)
    with pytest.raises(RuntimeError, match="max_sweeps"):
        jax.jit(lambda d: ssep.infer(prior, lik, ssep.PowerEP(), d, max_sweeps=1).energy)(data).block_until_ready()


def test_no_sweeps_is_the_first_pass():
    prior, lik, data, *_ = build(27, "poisson")
    posterior, _, energy = ssep.sweep(prior, lik, None, ssep.PowerEP(), data)
    first = ssep.infer(prior, lik, ssep.PowerEP(), data, max_sweeps=0, throw=False)
    np.testing.assert_allclose(first.posterior.mean, posterior.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(first.energy, energy, rtol=1e-12)


class Broken(ssep.Likelihood):
    """Gaussian noise, with a density that is NaN for one observation."""

    def log_prob(self, y, f, aux):
        return jnp.where(y > 10, jnp.nan, -((y - f[0]) ** 2))


def test_observations_that_cannot_be_used_are_skipped_and_counted():
    t, y = np.arange(6.0), np.array([0.1, 0.4, 99.0, -0.2, 0.3, 0.0])
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 2.0))
    solution = ssep.infer(prior, Broken(), ssep.PowerEP(), ssep.Data(t, y), throw=False)
    without = ssep.infer(prior, Broken(), ssep.PowerEP(), ssep.Data(t, np.where(y > 10, np.nan, y)))
    assert int(solution.num_skipped) == 1
    assert bool(solution.result == RESULTS.non_finite)  # the energy counts that observation too
    np.testing.assert_allclose(solution.posterior.mean, without.posterior.mean, rtol=0, atol=1e-6)
    with pytest.raises(RuntimeError, match="not finite"):
        ssep.infer(prior, Broken(), ssep.PowerEP(), ssep.Data(t, y))


def test_counts_that_cubature_cannot_see_are_reported():
    data = ssep.Data(np.arange(5.0), np.full(5, 1e6))
    prior = ssep.SDEPrior(ssep.kernels.Matern32(1.0, 2.0))
    solution = ssep.infer(prior, ssep.likelihoods.Poisson(), ssep.PowerEP(), data, throw=False)
    assert bool(solution.result == RESULTS.improper_cavity)
    assert int(solution.num_skipped) > 0
    assert bool(jnp.isfinite(solution.posterior.mean).all())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, r"infer\(tol\)"),
        ({"max_sweeps": -1}, r"infer\(max_sweeps\)"),
    ],
)
def test_bad_options_are_named(options, message):
    prior, lik, data, *_ = build(28, "poisson")
    with pytest.raises(ValueError, match=message):
        ssep.infer(prior, lik, ssep.PowerEP(), data, **options)
