"""Priors that change with time equal dense Gaussian processes: trends, effects of covariates, seasons, changes."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ssep
from ssep.kernels import (
    ChangingVariance,
    IntegratedWiener,
    Linear,
    LocalLinearTrend,
    Matern12,
    Matern32,
    Modulated,
    Periodic,
    Regression,
    SeasonalDummies,
    Subband,
    Table,
    Wiener,
)
from tests import oracle, oracle_likelihoods
from tests.test_sample import COUNT, assert_moments

RNG = np.random.default_rng(7)
T = np.sort(RNG.uniform(1, 9, 30))
T[5] = T[4]
Y = RNG.normal(size=(30, 2))
Y[3] = np.nan
Y[10, 1] = np.nan
TABLE = Table([0.0, 3.0, 6.0, 20.0], [0.3, -1.0, 2.0, 0.5])
NEW = np.array([9.7, 2.2, 1.0, 2.2])
SMALL = Wiener(0.7, start=-1.0) + Regression([TABLE, jnp.sin], (1.3, 0.5))
LARGE = (
    LocalLinearTrend(0.5, 0.1, (2.0, 0.5), start=0.5)
    + SeasonalDummies(1.3, seasons=5, width=0.7, start=0.2) * Matern32(1.0, 20.0)
    + ChangingVariance(Matern12(0.6, 2.1), (4.0, 6.0), (2.0, 0.3))
    + Linear(0.2, 4.0)
)
GROWING = Wiener(0.3) * Periodic(1.0, 1.0, 2.0, order=3) + Subband(1.0, 3.0, 2.0) + Matern32(0.5, 1.0)
SPLINE = IntegratedWiener(0.2, order=2, start=0.5, initial=(1.0, 0.5, 0.1))
KERNELS = {"small": SMALL, "large": LARGE, "growing": GROWING, "spline": SPLINE}


def close(found, wanted, error=1e-9):
    np.testing.assert_allclose(found, wanted, rtol=error, atol=error)


def gram(kernel, first, second):
    return np.asarray(kernel.gram(first, second))


@pytest.mark.parametrize("name", KERNELS)
def test_posterior_energy_and_predictions_are_those_of_a_dense_process(name):
    kernel, noise = KERNELS[name], 0.3
    solution = ssep.infer(
        ssep.SDEPrior(kernel, mean=0.4), ssep.likelihoods.Gaussian(noise), ssep.PowerEP(1.0), ssep.Data(T, Y)
    )
    seen = ~np.isnan(Y)
    times, values = np.repeat(T, 2)[seen.ravel()], Y[seen] - 0.4
    cov = gram(kernel, times, times) + noise * np.eye(len(times))
    solved = np.linalg.solve(cov, values)
    energy = values @ solved / 2 + np.linalg.slogdet(2 * np.pi * cov)[1] / 2
    close(solution.energy, energy)
    close(solution.posterior.mean[:, 0, 0], 0.4 + gram(kernel, T, times) @ solved)
    found = ssep.predict(solution, NEW, joint=True)
    cross = gram(kernel, NEW, times)
    close(found.f_mean[:, 0], 0.4 + cross @ solved)
    wanted = gram(kernel, NEW, NEW) - cross @ np.linalg.solve(cov, cross.T)
    close(found.f_joint_cov[:, 0, :, 0], wanted)
    close(found.f_var[:, 0], np.diag(wanted))


def test_components_are_those_of_a_dense_process():
    solution = ssep.infer(ssep.SDEPrior(LARGE), ssep.likelihoods.Gaussian(0.3), ssep.CVI(), ssep.Data(T, Y[:, 0]))
    seen = ~np.isnan(Y[:, 0])
    times = T[seen]
    cov = gram(LARGE, times, times) + 0.3 * np.eye(len(times))
    found = ssep.components(solution, NEW)
    assert len(found) == 4
    for component, part in zip(found.terms, LARGE.parts, strict=True):
        cross = gram(part, NEW, times)
        close(component.mean, cross @ np.linalg.solve(cov, Y[seen, 0]))
        close(component.var, np.diag(gram(part, NEW, NEW) - cross @ np.linalg.solve(cov, cross.T)))


def test_sweeps_of_two_latents_equal_the_dense_rule():
    kernels, d = (SMALL, Matern32(0.5, 2.0) + Linear(0.02, 5.0)), 2
    y = RNG.normal(size=12)
    t = T[:12]
    rule = ssep.PowerEP(0.5, ssep.GaussHermite(9))
    problem = oracle.Problem(
        [gram(kernel, t, t) for kernel in kernels],
        np.zeros((12, d)),
        y,
        np.ones(12, bool),
        oracle_likelihoods.HeteroscedasticGaussian(),
        oracle.gauss_hermite(9, d),
    )
    wanted = oracle.first_pass(problem, oracle.power_ep)
    prior, lik, data = ssep.SDEPrior(kernels), ssep.likelihoods.HeteroscedasticGaussian(), ssep.Data(t, y)
    found = None
    for _ in range(3):
        posterior, found, energy = ssep.sweep(prior, lik, found, rule, data, step=ssep.Step(0.5))
        close(energy, oracle.filter_energy(problem, wanted), 1e-8)
        (mean, cov), wanted = oracle.sweep(problem, oracle.power_ep, wanted, 0.5, 0.5)
        close(posterior.mean, mean, 1e-8)
        close(posterior.cov, cov, 1e-8)
    close(found.linear, wanted[0], 1e-8)


@pytest.mark.parametrize("smoother", [ssep.Parallel(), ssep.SquareRoot()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("name", ["small", "large"])
def test_all_smoothers_agree(name, smoother):
    prior, lik, data = ssep.SDEPrior(KERNELS[name]), ssep.likelihoods.StudentT(4.0, 0.5), ssep.Data(T, Y)
    wanted, found = (
        ssep.infer(prior, lik, ssep.CVI(), data, smoother=each, max_sweeps=3, throw=False)
        for each in (ssep.Sequential(), smoother)
    )
    close(found.posterior.mean, wanted.posterior.mean, 1e-8)
    close(found.posterior.cov, wanted.posterior.cov, 1e-8)
    close(found.energy, wanted.energy, 1e-8)


@pytest.mark.parametrize("name", ["small", "large"])
def test_streams_go_on_where_they_ended(name):
    prior, lik = ssep.SDEPrior(KERNELS[name]), ssep.likelihoods.Gaussian(0.3)
    whole = ssep.infer(prior, lik, ssep.CVI(), ssep.Data(T, Y[:, 0]))
    solution = ssep.infer(prior, lik, ssep.CVI(), ssep.Data(T[:20], Y[:20, 0]))
    energies = [solution.energy]
    for begin in (20, 25):
        solution = ssep.update(solution, ssep.Data(T[begin : begin + 5], Y[begin : begin + 5, 0]))
        energies.append(solution.energy)
    close(sum(energies), whole.energy)
    streamed, batch = (ssep.components(each, [9.5, 12.0]) for each in (solution, whole))
    close(streamed.cov, batch.cov)
    close(streamed[0].mean, batch[0].mean)


def test_prior_paths_have_the_covariance_of_the_kernel():
    t = np.array([3.0, 1.0, 4.4, 4.4])
    paths = ssep.sample(jax.random.key(3), ssep.SDEPrior(LARGE), t, COUNT)
    assert_moments(paths.f, np.zeros(4), gram(LARGE, t, t))


def test_gradients_equal_finite_differences():
    lik, data = ssep.likelihoods.Gaussian(0.3), ssep.Data(T, Y[:, 0])

    @jax.jit
    def energy(kernel):
        return ssep.sweep(ssep.SDEPrior(kernel), lik, None, ssep.CVI(), data)[2]

    kernel = LARGE + SPLINE + SMALL
    leaves, structure = jax.tree.flatten(kernel)
    slopes = jax.tree.leaves(jax.grad(energy)(kernel))
    for position, (leaf, slope) in enumerate(zip(leaves, slopes, strict=True)):
        change = 1e-5 * jnp.ones_like(leaf)
        up, down = (
            energy(jax.tree.unflatten(structure, [*leaves[:position], leaf + each, *leaves[position + 1 :]]))
            for each in (change, -change)
        )
        close(jnp.sum(slope), (up - down) / 2e-5, 1e-6)


def test_fit_learns_scales_and_leaves_tables_alone():
    truth = ChangingVariance(Matern12(1.0, 0.5), (50.0,), 4.0)
    t = np.linspace(0, 100, 400)
    prior = ssep.SDEPrior(truth)
    y = ssep.sample(jax.random.key(1), prior, t, 1, lik=ssep.likelihoods.Gaussian(0.01)).y[0]
    covariate = Table([0.0, 100.0], [-1.0, 1.0])
    start = ChangingVariance(Matern12(1.0, 0.5), (50.0,), 1.0) + Regression(covariate, 1.0)
    fit = ssep.fit(ssep.SDEPrior(start), ssep.likelihoods.Gaussian(0.01), ssep.CVI(), ssep.Data(t, y), num_steps=60)
    learned = fit.solution.prior.kernels[0]
    assert 3 < float(learned.parts[0].scales[0]) < 5.5
    assert (learned.parts[1].covariates[0].values == covariate.values).all()
    assert (learned.parts[1].covariates[0].times == covariate.times).all()


def test_files_keep_structural_models(tmp_path):
    kernel = LARGE + Regression(TABLE, 0.5)
    solution = ssep.infer(ssep.SDEPrior(kernel), ssep.likelihoods.Gaussian(0.3), ssep.CVI(), ssep.Data(T, Y[:, 0]))
    ssep.save(tmp_path / "model", solution)
    again = ssep.load(tmp_path / "model")
    assert (ssep.predict(again, NEW).f_mean == ssep.predict(solution, NEW).f_mean).all()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Wiener(1.0, start=2.0), r"`Wiener\(start\)` must not lie after any time.*it is 2.0; got the time 1\."),
        (Regression(Table([2.0, 30.0], [0.0, 1.0])), r"`Modulated\(weight\)` must be finite at all times.*nan"),
        (Regression(lambda t: jnp.stack([t, t])), r"`Modulated\(weight\)` must have one number as its value"),
    ],
)
def test_times_at_which_a_prior_is_not_defined_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        ssep.sweep(ssep.SDEPrior(kernel), ssep.likelihoods.Gaussian(), None, ssep.CVI(), ssep.Data(T, Y[:, 0]))


def test_predictions_before_the_start_or_beyond_a_table_are_refused():
    prior = ssep.SDEPrior(SMALL)
    solution = ssep.infer(prior, ssep.likelihoods.Gaussian(0.3), ssep.CVI(), ssep.Data(T, Y[:, 0]))
    with pytest.raises(ValueError, match=r"`Wiener\(start\)`.*got the time -1.5"):
        ssep.predict(solution, [-1.5])
    with pytest.raises(ValueError, match=r"`Modulated\(weight\)`.*at time 20.5"):
        ssep.sample(jax.random.key(0), solution, [5.0, 20.5], 2)


def test_fields_must_be_stationary_in_time():
    for temporal in (Wiener(1.0), Linear(1.0)):
        prior = ssep.SpatioTemporalPrior(temporal, Matern32(1.0, 1.0), [0.0, 1.0])
        with pytest.raises(ValueError, match=r"`SpatioTemporalPrior\(temporal\)` must be stationary in time; got"):
            ssep.sweep(prior, ssep.likelihoods.Gaussian(), None, ssep.CVI(), ssep.Data(T, Y[:, 0], r=np.zeros((30, 1))))


def test_single_precision_serves_structural_models():
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), LARGE)
    low, high = (
        ssep.infer(
            ssep.SDEPrior(kernel), ssep.likelihoods.Gaussian(dtype(0.3)), ssep.CVI(), ssep.Data(dtype(T), dtype(Y))
        )
        for kernel, dtype in ((single, np.float32), (LARGE, np.float64))
    )
    assert low.posterior.mean.dtype == jnp.float32
    close(low.posterior.mean, high.posterior.mean, 1e-3)


@pytest.mark.parametrize("rule", [ssep.CVI(), ssep.PowerEP(0.5), ssep.StatLinEP(1.0), ssep.ExtendedEP(1.0)], ids=str)
def test_latents_that_are_known_exactly_are_no_obstacle(rule):
    # Zero at the first time; another time is missing.
    t, counts = np.arange(8.0), np.array([2.0, 1, 0, np.nan, 3, 4, 2, 6])
    lik = ssep.likelihoods.Poisson()
    whole = ssep.infer(ssep.SDEPrior(Wiener(0.3)), lik, rule, ssep.Data(t, counts), tol=1e-9)
    # The first count says nothing about the others.
    rest = ssep.infer(ssep.SDEPrior(Wiener(0.3)), lik, rule, ssep.Data(t[1:], counts[1:]), tol=1e-9)
    close(whole.posterior.mean[1:], rest.posterior.mean, 1e-6)
    # A count of two at a rate of one; linearised, a Gaussian with mean and variance of one.
    alone = 0.5 + np.log(2 * np.pi) / 2 if isinstance(rule, ssep.ExtendedEP) else 1 + np.log(2)
    close(whole.energy - rest.energy, alone, 1e-6)
    assert float(whole.posterior.cov[0, 0, 0]) == 0

    def energy(variance):
        return ssep.sweep(ssep.SDEPrior(Wiener(variance)), lik, None, rule, ssep.Data(t, counts))[2]

    step = 1e-5
    close(jax.grad(energy)(0.3), (energy(0.3 + step) - energy(0.3 - step)) / (2 * step), 1e-5)


def test_a_covariate_that_is_mostly_zero_can_stand_alone():
    t = np.arange(40.0)
    y = np.where(t % 10 == 3, 2.0, 0.0) + 0.1 * RNG.normal(size=40)
    kernel = Regression(Table(t, t % 10 == 3))
    solution = ssep.infer(ssep.SDEPrior(kernel), ssep.likelihoods.Gaussian(0.01), ssep.CVI(), ssep.Data(t, y))
    cov = gram(kernel, t, t) + 0.01 * np.eye(40)
    close(solution.energy, y @ np.linalg.solve(cov, y) / 2 + np.linalg.slogdet(2 * np.pi * cov)[1] / 2, 1e-6)


class Bumps(eqx.Module):
    """A function with a vector, a number, an integer and a function inside."""

    sizes: jax.Array
    rate: float
    places: jax.Array
    shape: Callable

    def __call__(self, t):
        return jnp.sum(self.sizes * self.shape(self.rate * (t - self.places)))


def test_functions_with_numbers_inside_are_learned():
    def bumps(sizes):
        return Bumps(jnp.asarray(sizes), 1.5, jnp.array([2, 7]), lambda t: jnp.exp(-(t**2)))

    t = np.linspace(0, 10, 200)
    truth = ssep.SDEPrior(Modulated(Matern12(1.0, 0.1), bumps([3.0, 1.0])))
    y = ssep.sample(jax.random.key(2), truth, t, 1, lik=ssep.likelihoods.Gaussian(0.01)).y[0]
    prior = ssep.SDEPrior(Modulated(Matern12(1.0, 0.1), bumps([1.0, 1.0])))
    fit = ssep.fit(
        prior,
        ssep.likelihoods.Gaussian(0.01),
        ssep.CVI(),
        ssep.Data(t, y),
        num_steps=60,
        trainable=lambda prior, lik: prior.kernels[0].weight.sizes,
    )
    sizes = np.abs(fit.solution.prior.kernels[0].weight.sizes)
    assert 2 < sizes[0] / sizes[1] < 4.5


def test_times_are_checked_also_when_hyperparameters_are_traced():
    data = ssep.Data(T, Y[:, 0])
    with pytest.raises(ValueError, match=r"`Wiener\(start\)`"):
        jax.jit(
            lambda v: ssep.sweep(ssep.SDEPrior(Wiener(v, 2.0)), ssep.likelihoods.Gaussian(), None, ssep.CVI(), data)[2]
        )(1.0)


def test_a_table_may_begin_with_the_data_in_single_precision():
    t = np.float32(0.7) + np.arange(9, dtype=np.float32)
    kernel = Regression(Table([0.7, 10.0], [0.0, 1.0]))
    ssep.sweep(
        ssep.SDEPrior(kernel), ssep.likelihoods.Gaussian(), None, ssep.CVI(), ssep.Data(t, np.ones(9, np.float32))
    )


def test_a_function_in_numpy_is_refused():
    with pytest.raises(ValueError, match=r"`Modulated\(weight\)` must be written with `jax.numpy`"):
        ssep.sweep(
            ssep.SDEPrior(Regression(lambda t: float(np.sin(np.asarray(t))))),
            ssep.likelihoods.Gaussian(),
            None,
            ssep.CVI(),
            ssep.Data(T, Y[:, 0]),
        )
