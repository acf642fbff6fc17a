"""Structure and strides change how long a filter takes, never what it finds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ssep
from ssep import data as data_module
from ssep.gaps import STRIDE, gaps_between
from ssep.kernels import Cosine, Matern12, Matern32, Matern52, Periodic
from ssep.smoothers.stepwise import filter_steps
from ssep.smoothers.strides import stride_length
from ssep.smoothers.stridewise import filter_strides
from ssep.statespace import DenseDynamics, StructuredDynamics

SUM = Matern52(1.0, 2.0) + Periodic(0.5, 1.0, 1.7, 2) * Matern32(1.0, 5.0)
MATERN = Matern52(1.0, 2.0)
PRIORS = {
    "small": ssep.SDEPrior(Matern32(1.0, 2.0)),
    "two small": ssep.SDEPrior((Matern32(1.0, 2.0), Matern12(0.5, 1.0)), mean=(0.3, -0.2)),
    "blocks": ssep.SDEPrior(SUM, mean=0.4),
    "blocks of six latents": ssep.SDEPrior(
        (*[Cosine(1.0, w) * Matern12(0.5, 4.0) for w in (1.0, 2.0, 3.0)], *[MATERN] * 3)
    ),
    "blocks of two latents": ssep.SDEPrior((SUM, Cosine(1.0, 2.0) * Matern12(0.5, 4.0))),
}
NUM_STEPS = 37


def close(got, wanted, atol=1e-9):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=atol)


def state_space_of(name, regular=False, per_step=None):
    """A state space and random sites: repeated and irregular times, some without information."""
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0, 9, NUM_STEPS))
    t[5:8] = t[4]
    t = np.arange(NUM_STEPS) * 0.3 if regular else t
    shape = (NUM_STEPS,) if per_step is None else (NUM_STEPS, per_step)
    if name == "field":
        r = rng.uniform(-2, 2, (*shape, 1))
        data = ssep.Data(t, np.zeros(shape), r=r)
        prior = ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), Matern52(1.0, 1.0), np.linspace(-2, 2, 5), mean=0.2)
    else:
        data, prior = ssep.Data(t, np.zeros(shape)), PRIORS[name]
    d = prior.num_latents
    factor = rng.normal(size=(*shape, d, d)) * (rng.uniform(size=(*shape, 1, 1)) < 0.8)
    linear = jnp.asarray(rng.normal(size=(*shape, d)))
    return prior.discretise(data), ssep.SiteState(linear, jnp.asarray(factor @ np.swapaxes(factor, -1, -2)))


CASES = pytest.mark.parametrize(
    ("name", "regular", "per_step"),
    [
        ("small", False, None),
        ("two small", True, None),
        ("blocks", False, None),
        ("blocks", True, 2),
        ("blocks of two latents", False, None),
        ("blocks of six latents", True, None),
        ("blocks of six latents", False, 2),
        ("field", False, None),
        ("field", True, 2),
    ],
)


@CASES
@pytest.mark.parametrize("length", [2, 16])
def test_strides_equal_steps(name, regular, per_step, length):
    state_space, sites = state_space_of(name, regular, per_step)
    sites, _ = state_space.view.centre(sites)
    other = ssep.SiteState(sites.linear + 1.0, sites.precision)
    results = []
    for run in (filter_steps, lambda *args: filter_strides(*args, length)):

        def everything(state_space, sites, other, run=run):
            done = run(state_space, sites)
            found = (done.predicted, done.updated, done.log_normaliser, done.last)
            closing = state_space.close(done.last)
            return *found, done.record.smooth(state_space, closing), done.record.means(state_space, other, closing)

        results.append(jax.jit(everything)(state_space, sites, other))
    jax.tree.map(close, *results)


@CASES
@pytest.mark.parametrize("other", [ssep.Parallel(), ssep.SquareRoot()], ids=lambda smoother: type(smoother).__name__)
def test_other_smoothers_equal_sequential(name, regular, per_step, other):
    state_space, sites = state_space_of(name, regular, per_step)
    results = []
    for smoother in (ssep.Sequential(), other):

        def everything(state_space, sites, smoother=smoother):
            filtered = smoother.filter(state_space, sites)
            found = (filtered.predicted, filtered.updated, filtered.log_normaliser, filtered.last[1])
            centred, _ = state_space.view.centre(sites)
            moved = ssep.SiteState(centred.linear + 1.0, centred.precision)
            return *found, smoother.smooth(filtered), smoother.mean(filtered, moved)

        results.append(jax.jit(everything)(state_space, sites))
    jax.tree.map(close, *results)


def precise_readings(dtype):
    """Readings of a smooth curve with noise of 1e-4, at times some of which coincide."""
    rng = np.random.default_rng(4)
    t = np.sort(rng.uniform(0, 20, 60))
    t[7] = t[6]
    data = ssep.Data(jnp.asarray(t, dtype), jnp.asarray(np.sin(t) + 1e-4 * rng.normal(size=60), dtype))
    return ssep.SDEPrior(Matern52(jnp.asarray(1.0, dtype), jnp.asarray(3.0, dtype))), data


def test_roots_keep_small_variances_in_single_precision():
    found = {}
    for dtype, smoother in [(float, ssep.Sequential()), ("float32", ssep.SquareRoot()), ("float32", ssep.Sequential())]:
        prior, data = precise_readings(dtype)
        lik = ssep.likelihoods.Gaussian(jnp.asarray(1e-8, dtype))
        sites = ssep.sweep(prior, lik, None, ssep.ExtendedEP(1.0), data)[1]
        posterior, _, _ = ssep.sweep(prior, lik, sites, ssep.ExtendedEP(1.0), data, smoother=smoother)
        assert posterior.cov.dtype == dtype
        found[dtype, type(smoother).__name__] = np.asarray(posterior.cov, float)
    wanted = found[float, "Sequential"]
    np.testing.assert_allclose(found["float32", "SquareRoot"], wanted, rtol=1e-3)
    # Or else nobody would need roots.
    assert np.abs(found["float32", "Sequential"] / wanted - 1).max() > 0.1


def test_roots_have_the_derivatives_of_steps():
    _, sites = state_space_of("blocks")
    t = np.sort(np.random.default_rng(6).uniform(0, 9, NUM_STEPS))
    weights = jnp.asarray(np.random.default_rng(5).normal(size=NUM_STEPS))

    def total(sites, variance, smoother):
        kernel = Matern52(variance, 2.0) + Periodic(0.5, 1.0, 1.7, 2) * Matern32(1.0, 5.0)
        filtered = smoother.filter(ssep.SDEPrior(kernel).discretise(ssep.Data(t, np.zeros(NUM_STEPS))), sites)
        posterior = smoother.smooth(filtered)
        return filtered.log_normaliser + weights @ (posterior.mean[:, 0] + 2 * posterior.cov[:, 0, 0])

    slopes = eqx.filter_jit(jax.value_and_grad(total, (0, 1)))
    ours, wanted = (slopes(sites, 1.3, smoother) for smoother in (ssep.SquareRoot(), ssep.Sequential()))
    jax.tree.map(close, ours, wanted)


def test_roots_refuse_indefinite_sites():
    state_space, sites = state_space_of("small")
    negative = ssep.SiteState(sites.linear, sites.precision.at[3].set(-0.1))
    assert np.isnan(ssep.SquareRoot().filter(state_space, negative).log_normaliser)
    assert np.isfinite(ssep.Sequential().filter(state_space, negative).log_normaliser)


def test_strides_are_taken_where_the_state_is_neither_tiny_nor_wide():
    small, _ = state_space_of("small")
    blocks, _ = state_space_of("blocks")
    grid = ssep.Data(np.arange(3.0), np.zeros((3, 20)), r=np.linspace(0, 1, 20))
    wide = ssep.SpatioTemporalPrior(Matern32(1.0, 2.0), Matern52(1.0, 1.0)).discretise(grid)
    assert [stride_length(each.num_states, each.num_targets) for each in (small, blocks, wide)] == [1, STRIDE, 1]


def test_equal_strides_share_a_pattern():
    t = np.concatenate([np.arange(100.0), 120.0 + np.arange(33.0)])
    gaps = gaps_between(t, float)
    # The first, whose first gap is zero; those of ones; the one with the hole; the last, filled up with zeros.
    assert gaps.patterns.shape == (4, STRIDE)
    for length in (1, 4, STRIDE):
        patterns, index = gaps.strides(length)
        lengths = np.asarray(gaps.lengths)[np.asarray(patterns)[np.asarray(index)]].ravel()
        close(np.cumsum(lengths)[: len(t)], t)
        close(lengths[len(t) :], 0)
    close(gaps.first(20).lengths[gaps.first(20).patterns].sum(), t[19])


@pytest.mark.parametrize("name", ["blocks", "blocks of two latents", "field"])
def test_structured_dynamics_are_the_dense_ones(name):
    structured = state_space_of(name)[0].dynamics
    assert isinstance(structured, StructuredDynamics)
    dense = structured.to_dense()
    size = len(structured.initial_mean)
    columns = jnp.asarray(np.random.default_rng(0).normal(size=(size, 3)))
    patterns = jnp.array([[1, 2, 3], [0, 4, 4]])
    composed = structured.compose(patterns), dense.compose(patterns)
    for one, other in ((structured, dense), composed):
        for gap in map(jnp.asarray, (0, 2, 5)):
            close(one.advance(gap, columns), other.advance(gap, columns))
            close(one.retreat(gap, columns), other.retreat(gap, columns))
            close(one.disturb(gap, columns), other.disturb(gap, columns))
            close(one.add_noise(gap, jnp.eye(size)), other.add_noise(gap, jnp.eye(size)))
            # A root of Q: its square is what it adds to nothing.
            root = jax.vmap(one.noise_root(), (None, 1), 1)(gap, jnp.eye(size))
            close(root @ root.T, other.add_noise(gap, jnp.zeros((size, size))), 1e-7)
    close(structured.read(columns), dense.read(columns))
    close(structured.lift(columns[: structured.num_nodes]), dense.lift(columns[: structured.num_nodes]))


def test_blocks_are_the_kernel_side_by_side():
    """The order of the state differs, the process does not: covariances of the nodes over any gap."""
    gaps = np.array([0.0, 0.7, 3.0])
    structured = PRIORS["blocks"].dynamics(ssep.Data(np.cumsum(gaps), np.zeros(3)))
    dense = structured.to_dense()
    h, p = np.asarray(dense.observation), np.asarray(dense.initial_cov)
    for index, gap in enumerate(np.asarray(ssep.Data(np.cumsum(gaps), np.zeros(3)).gaps.lengths)):
        close((h @ np.asarray(dense.transitions[index]) @ p @ h.T)[0, 0], SUM(0.0, gap))
    assert isinstance(PRIORS["small"].dynamics(ssep.Data(np.cumsum(gaps), np.zeros(3))), DenseDynamics)


def test_parallel_goes_wherever_sequential_goes():
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(0, 9, NUM_STEPS))
    y = rng.poisson(2.0, NUM_STEPS).astype(float)
    y[3:6] = np.nan
    data, lik, rule = ssep.Data(t, y), ssep.likelihoods.Poisson(), ssep.PowerEP(0.5)
    found = []
    for smoother in (ssep.Sequential(), ssep.Parallel()):
        posterior, sites, energy = ssep.sweep(PRIORS["small"], lik, None, rule, data, smoother=smoother)
        solution = ssep.infer(PRIORS["small"], lik, rule, data, smoother=smoother)
        prediction = ssep.predict(solution, [2.5, 11.0], smoother=smoother)
        fit = ssep.fit(PRIORS["small"], lik, rule, data, num_steps=2, smoother=smoother)
        kernels = fit.prior.kernels
        found.append((posterior, sites, energy, solution.energy, prediction.f_mean, prediction.f_cov, kernels))
    jax.tree.map(lambda one, other: close(one, other, 1e-8), *found)


@pytest.mark.parametrize("shape", [(20,), (5, 4)])
def test_observations_in_portions_are_observations_at_once(monkeypatch, shape):
    rng = np.random.default_rng(3)
    y, aux, extra = rng.normal(size=shape), rng.uniform(1, 2, shape), jnp.asarray(rng.normal(size=(*shape, 2)))
    observations = ssep.Data(np.arange(shape[0]), np.where(y > 1, np.nan, y), aux={"weight": aux}).observations

    def total(extra):
        found = observations.map(lambda y, aux, x: {"a": y * jnp.sum(x**2), "b": aux["weight"] * x}, extra)
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(found)), found

    at_once = jax.value_and_grad(total, has_aux=True)(extra)
    monkeypatch.setattr(data_module, "_AT_ONCE", 7)
    in_portions = jax.value_and_grad(total, has_aux=True)(extra)
    jax.tree.map(lambda one, other: close(one, other, 1e-14), in_portions, at_once)


def test_a_stride_that_leaves_no_distribution_says_so():
    """Two steps with negative pivots make a positive determinant."""
    prior = ssep.SDEPrior(Matern52(1.0, 2.0) + Periodic(0.5, 1.0, 7.0, 6) * Matern32(1.0, 50.0))
    state_space = prior.discretise(ssep.Data(0.7 * np.arange(8), np.zeros(8)))
    precision = np.array([-4.01, -2.42, -1.33, -2.52, -2.30, -2.09, 4.16, 4.36])
    sites = ssep.SiteState(jnp.zeros((8, 1)), jnp.asarray(precision)[:, None, None])
    for smoother in (ssep.Sequential(), ssep.Parallel()):
        assert np.isnan(smoother.filter(state_space, sites).log_normaliser)
