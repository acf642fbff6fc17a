"""`sweep_and_gradient` is `sweep` and its gradient; the filter's derivative by hand is that of autodiff."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ssep
from ssep.inference import stop_gradient
from ssep.iteration import Problem, iterate
from ssep.kernels import Matern32, Matern52, Periodic
from ssep.linalg import symmetrise
from ssep.schedules import Guess, Setting
from ssep.smoothers.adjoint import Passed, filter_reversible
from ssep.smoothers.stepwise import filter_steps
from ssep.statespace import DenseDynamics
from tests.test_engine import state_space_of
from tests.test_infer import Mixture
from tests.test_sweep import RULES, build


def assert_same(got, wanted, tolerance=1e-9):
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def separately(prior, lik, sites, rule, data, **options):
    """`sweep` and `filter_grad` of it."""
    posterior, moved, energy = ssep.sweep(prior, lik, sites, rule, data, **options)
    # Sites of a first pass are held fixed.
    held = ssep.sweep(prior, lik, None, rule, data, step=ssep.Step(1e-300))[1] if sites is None else sites

    def value(model):
        return ssep.sweep(*model, held, rule, data, **options)[2]

    return posterior, moved, energy, eqx.filter_jit(eqx.filter_grad(value))((prior, lik))


def field():
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.2, 1.0, 7))
    t[3] = t[2]
    y = rng.poisson(2.0, (7, 2)).astype(float)
    y[1, 0] = np.nan
    data = ssep.Data(t, y, r=rng.uniform(-1, 1, (7, 2, 1)))
    places = jnp.linspace(-1.0, 1.0, 3)
    return ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), Matern52(1.0, 1.0), places, mean=0.2), data


def blocks():
    kernel = Matern52(1.0, 2.0) + Periodic(0.5, 1.0, 1.7, 2) * Matern32(1.0, 5.0)
    return ssep.SDEPrior(kernel, mean=0.4), build(3, "poisson")[2]


def models():
    """Missing data, repeated times, means, latents, rows, inducing places; small states, strides, wide steps."""
    poisson = ssep.likelihoods.Poisson()
    yield "one latent", *build(1, "student")[:3]
    yield "two latents", *build(2, "heteroscedastic")[:3]
    yield "rows", *build(3, "poisson", shape=(9, 3))[:3]
    yield "field", field()[0], poisson, field()[1]
    yield "strides", blocks()[0], poisson, blocks()[1]


MODELS = {name: parts for name, *parts in models()}


@pytest.mark.parametrize("rule_name", RULES)
def test_every_rule_gives_the_sweep_and_its_gradient(rule_name):
    prior, lik, data = MODELS["one latent"]
    rule = RULES[rule_name][0](0.5)
    sites = ssep.sweep(prior, lik, None, rule, data)[1]
    got = ssep.sweep_and_gradient(prior, lik, sites, rule, data)
    assert_same(got, separately(prior, lik, sites, rule, data))


@pytest.mark.parametrize("objective", [ssep.FilterEnergy(), Mixture()], ids=lambda energy: type(energy).__name__)
@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_model(objective, name):
    """With the energy that needs one pass back, and with all three at once."""
    prior, lik, data = MODELS[name]
    rule = ssep.CVI(ssep.GaussHermite(5))
    sites = ssep.sweep(prior, lik, None, rule, data)[1]
    options = {"objective": objective, "step": ssep.Step(0.6)}
    got = ssep.sweep_and_gradient(prior, lik, sites, rule, data, **options)
    assert_same(got, separately(prior, lik, sites, rule, data, **options))


@pytest.mark.parametrize("smoother", [ssep.Parallel(), ssep.SquareRoot()], ids=lambda each: type(each).__name__)
def test_every_smoother(smoother):
    prior, lik, data = MODELS["one latent"]
    rule = ssep.CVI(ssep.GaussHermite(8))
    sites = ssep.sweep(prior, lik, None, rule, data)[1]
    got = ssep.sweep_and_gradient(prior, lik, sites, rule, data, smoother=smoother)
    assert_same(got, separately(prior, lik, sites, rule, data))


def test_the_sites_of_a_first_pass_are_held_fixed():
    prior, lik, data = MODELS["one latent"]
    rule = ssep.ExtendedEP(1.0)
    assert_same(ssep.sweep_and_gradient(prior, lik, None, rule, data), separately(prior, lik, None, rule, data))


def poisson_at(lengthscale, objective=ssep.FilterEnergy()):
    _, lik, data, *_ = build(4, "poisson")
    prior = ssep.SDEPrior(Matern32(1.1, lengthscale), mean=0.2)
    sites = ssep.sweep(ssep.SDEPrior(Matern32(1.0, 1.0)), lik, None, ssep.CVI(), data)[1]
    return prior, lik, sites, ssep.CVI(), data, objective


def test_it_is_mapped_over_hyperparameters():
    def run(lengthscale):
        *parts, objective = poisson_at(lengthscale)
        return ssep.sweep_and_gradient(*parts, objective=objective)

    grid = jnp.array([0.4, 1.0, 3.0])
    loop = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[run(each) for each in grid])
    assert_same(jax.jit(jax.vmap(run))(grid), loop)


@pytest.mark.parametrize(
    "objective", [ssep.FilterEnergy(), ssep.FreeEnergy()], ids=lambda energy: type(energy).__name__
)
@pytest.mark.parametrize("mode", [jax.jacrev, jax.jacfwd])
def test_the_gradient_is_differentiated_again(objective, mode):
    def slope(lengthscale):
        *parts, objective_ = poisson_at(lengthscale, objective)
        return ssep.sweep_and_gradient(*parts, objective=objective_)[3][0].kernels[0].lengthscale

    def energy(lengthscale):
        *parts, objective_ = poisson_at(lengthscale, objective)
        return ssep.sweep(*parts, objective=objective_)[2]

    got = jax.jit(mode(slope))(1.3)
    np.testing.assert_allclose(got, jax.jit(jax.jacfwd(jax.grad(energy)))(1.3), rtol=1e-9)


class Refuse(ssep.StepControl):
    """A step that is always taken back."""

    definiteness: ssep.Definiteness = ssep.ClipEigenvalues()

    @property
    def first_damping(self):
        return 1.0

    def judge(self, damping, trial):
        return jnp.zeros((), bool), damping / 4


def refresh_by_autodiff(setting, prior, lik, guess, frozen):
    """What `Interleave()` minimises: the energy at the new sites, which have the derivative of one more refresh."""
    problem = Problem(prior.discretise(setting.data), lik, setting.rule, setting.data, setting.smoother)
    done = iterate(stop_gradient(problem), guess.sites, setting.step, 0.0, 1, damping=guess.damping)
    full = problem.refreshed(setting.step, done.sites, done.wanted.usable, done.sites)
    follow = lambda at, moved: at + moved - jax.lax.stop_gradient(moved)  # noqa: E731
    sites = done.sites if frozen else jax.tree.map(follow, done.sites, full)
    energy = setting.objective(lik, setting.rule, setting.data, sites, *problem.solve(sites))
    return energy, Guess(done.sites, done.damping)


@pytest.mark.parametrize(
    ("objective", "step", "frozen"),
    [
        (ssep.FilterEnergy(), ssep.AdaptiveStep(), False),
        (ssep.FilterEnergy(), ssep.AdaptiveStep(), True),
        (Mixture(), Refuse(), False),
    ],
)
def test_one_solution_serves_a_whole_training_step(objective, step, frozen):
    prior, lik, data = MODELS["one latent"]
    rule = ssep.PowerEP(0.5, ssep.GaussHermite(8))
    sites = ssep.sweep(prior, lik, None, rule, data)[1]
    setting, guess = Setting(rule, data, ssep.Sequential(), step, objective), Guess(sites, jnp.ones(()))

    def ours(model):
        return ssep.Interleave(frozen=frozen).energy(setting, *model, guess)

    def theirs(model):
        return refresh_by_autodiff(setting, *model, guess, frozen)

    got, wanted = (
        eqx.filter_jit(eqx.filter_value_and_grad(energy, has_aux=True))((prior, lik)) for energy in (ours, theirs)
    )
    assert_same(got, wanted)
    assert_same(eqx.filter_jit(ours)((prior, lik)), wanted[0])
    moved = float(jnp.abs(got[0][1].sites.linear - sites.linear).max())
    assert (moved == 0) == isinstance(step, Refuse)


CASES = [("small", False, None), ("two small", True, None), ("small", True, 3), ("field", True, 2)]


@pytest.mark.parametrize("case", CASES)
def test_the_derivative_by_hand_is_that_of_autodiff(case):
    """In everything a filter is given, of everything that it finds, the smoother's input included."""
    state_space, sites = state_space_of(*case)
    sites, _ = state_space.view.centre(sites)
    arrays, rest = eqx.partition(state_space, eqx.is_inexact_array)
    shapes = jax.eval_shape(lambda: filter_steps(state_space, sites))
    rng = np.random.default_rng(0)
    weights = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), shapes)

    def pull(run):
        def found(arrays, sites):
            return run(eqx.combine(arrays, rest), sites)

        return jax.jit(lambda: jax.vjp(found, arrays, sites)[1](weights))()

    def symmetric(cotangents):
        """Noise is symmetric: only directions in which it stays so count."""
        if not isinstance(state_space.dynamics, DenseDynamics):
            return cotangents
        return eqx.tree_at(lambda tree: tree[0].dynamics.noises, cotangents, replace_fn=symmetrise)

    got, wanted = (symmetric(pull(run)) for run in (lambda *model: filter_reversible(model), filter_steps))
    assert_same(got, wanted)


def test_both_adjoints_of_the_normaliser_are_one():
    """The smoother's a and L are the derivative of log Z: p = a and Pi = (a a' - L) / 2."""
    state_space, sites = state_space_of("small")
    passed = Passed(state_space, sites)
    zero = jax.tree.map(jnp.zeros_like, passed.forward)
    normaliser = eqx.tree_at(lambda done: done.log_normaliser, zero, jnp.ones(()))
    posterior, (_, of_sites) = passed.smooth_and_pull_back(normaliser, state_space.close(passed.forward.last))
    assert_same(of_sites.linear, posterior.mean)
    second = posterior.cov + posterior.mean[:, :, None] * posterior.mean[:, None]
    assert_same(of_sites.precision, -second / 2)
