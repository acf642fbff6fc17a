"""Constants without a prior are the limit of an endless variance, and diffuse starts make splines."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

import ssep
from ssep.kernels import Flat, FlatPolynomial, IntegratedWiener, Matern12, Matern32, Modulated, SeasonalDummies, Wiener
from tests.test_sample import COUNT, assert_moments

RNG = np.random.default_rng(5)
T = np.sort(RNG.uniform(1, 9, 25))
Y = 40 + 3 * T + RNG.normal(size=25)
Y[[4, 11]] = np.nan
SEEN = ~np.isnan(Y)
NEW = np.array([0.3, 4.4, 9.0, 12.0])
NOISE = 0.5
GAUSSIAN = ssep.likelihoods.Gaussian(NOISE)
ENERGIES = [ssep.FilterEnergy(), ssep.PowerEPEnergy(1.0), ssep.FreeEnergy()]
# A state of three numbers, and one of many: single steps and strides. With the process alone, and the effects.
MODELS = {
    "small": (Matern12(0.8, 2.0), FlatPolynomial(1, centre=5.0), lambda t: np.stack([np.ones_like(t), t - 5], 1)),
    "large": (
        Matern32(0.8, 2.0) + SeasonalDummies(0.3, 5) * Matern32(1.0, 9.0) + Wiener(0.2),
        Flat(3.0) + Modulated(Flat(), jnp.sin),
        lambda t: np.stack([np.ones_like(t), np.sin(t)], 1),
    ),
}


def close(found, wanted, error=1e-9):
    np.testing.assert_allclose(found, wanted, rtol=error, atol=error)


def dense(name, times, values):
    """Effects by generalised least squares, with the process integrated out; what is left is a projection."""
    process, _, effects = MODELS[name]
    cov = np.asarray(process.gram(times, times)) + NOISE * np.eye(len(times))
    design = effects(times)
    inverse = np.linalg.inv(cov)
    information = design.T @ inverse @ design
    coefficients = np.linalg.solve(information, design.T @ inverse @ values)
    left = values - design @ coefficients
    energy = left @ inverse @ left / 2 + np.linalg.slogdet(2 * np.pi * cov)[1] / 2
    energy += np.linalg.slogdet(information / (2 * np.pi))[1] / 2

    def predict(new):
        cross = np.asarray(process.gram(new, times)) @ inverse
        slack = effects(new) - cross @ design
        mean = effects(new) @ coefficients + cross @ left
        own = np.asarray(process.gram(new, new)) - cross @ np.asarray(process.gram(times, new))
        return mean, own + slack @ np.linalg.solve(information, slack.T)

    return energy, predict


def solve(name, *, objective=ENERGIES[0], smoother=ssep.Sequential(), upto=None):
    process, effects, _ = MODELS[name]
    return ssep.infer(
        ssep.SDEPrior(process + effects),
        GAUSSIAN,
        ssep.PowerEP(1.0),
        ssep.Data(T[:upto], Y[:upto]),
        objective=objective,
        smoother=smoother,
    )


@pytest.mark.parametrize("objective", ENERGIES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("name", MODELS)
def test_energies_are_the_restricted_likelihood(name, objective):
    energy, _ = dense(name, T[SEEN], Y[SEEN])
    close(solve(name, objective=objective).energy, energy)


@pytest.mark.parametrize("smoother", [ssep.Sequential(), ssep.Parallel()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("name", MODELS)
def test_posterior_and_predictions_are_those_of_least_squares(name, smoother):
    _, predict = dense(name, T[SEEN], Y[SEEN])
    solution = solve(name, smoother=smoother)
    mean, cov = predict(T)
    close(solution.posterior.mean[:, 0], mean)
    close(solution.posterior.cov[:, 0, 0], np.diag(cov))
    found = ssep.predict(solution, NEW, joint=True, smoother=smoother)
    mean, cov = predict(NEW)
    close(found.f_mean[:, 0], mean)
    close(found.f_joint_cov[:, 0, :, 0], cov)


@pytest.mark.parametrize("name", MODELS)
def test_streams_and_paths_know_the_effects(name):
    solution = ssep.update(solve(name, upto=18), ssep.Data(T[18:], Y[18:]))
    _, predict = dense(name, T[SEEN], Y[SEEN])
    mean, cov = predict(NEW[2:])
    found = ssep.predict(solution, NEW[2:], joint=True)
    close(found.f_mean[:, 0], mean)
    close(found.f_joint_cov[:, 0, :, 0], cov)
    paths = ssep.sample(jax.random.key(0), solve(name), NEW, COUNT)
    mean, cov = predict(NEW)
    assert_moments(paths.f, mean, cov)


def test_a_diffuse_start_makes_a_smoothing_spline():
    kernel = IntegratedWiener(0.7, order=1, start=0.5) + FlatPolynomial(1, centre=0.5)
    solution = ssep.infer(ssep.SDEPrior(kernel), GAUSSIAN, ssep.CVI(), ssep.Data(T, Y))
    spline = make_smoothing_spline(T[SEEN], Y[SEEN], lam=NOISE / 0.7)
    close(solution.posterior.mean[:, 0], spline(T), 1e-8)


@pytest.mark.parametrize("reference", [0.3, 4.0])
@pytest.mark.parametrize("rule", [ssep.PowerEP(0.5), ssep.CVI()], ids=lambda each: type(each).__name__)
def test_the_reference_does_not_matter(rule, reference):
    t, counts = np.arange(12.0), np.array([3, 5, 2, 4, 6, 9, 7, 5, 4, 4, 2, 3.0])
    lik, data, process = ssep.likelihoods.Poisson(), ssep.Data(t, counts), Matern12(0.3, 3.0)

    def found(kernel, objective):
        return ssep.infer(ssep.SDEPrior(process + kernel), lik, rule, data, objective=objective, tol=1e-10)

    objective = ssep.FreeEnergy() if isinstance(rule, ssep.CVI) else ssep.PowerEPEnergy()
    wanted, other = found(Flat(1.0), objective), found(Flat(reference), objective)
    close(other.posterior.mean, wanted.posterior.mean, 1e-7)
    close(other.posterior.cov, wanted.posterior.cov, 1e-7)
    close(other.energy, wanted.energy, 1e-7)


def test_probabilities_of_labels_are_the_limit_of_wide_priors():
    t, labels = np.arange(30.0), (np.sin(np.arange(30.0) / 3) > -0.2).astype(float)
    lik, data, rule = ssep.likelihoods.Bernoulli(), ssep.Data(t, labels), ssep.PowerEP(1.0, ssep.Adaptive(30))
    wanted, wide, wider = (
        ssep.infer(ssep.SDEPrior(Matern32(1.0, 3.0) + kernel), lik, rule, data, tol=1e-8).posterior.mean
        for kernel in (Flat(), ssep.kernels.Constant(10.0), ssep.kernels.Constant(1000.0))
    )
    assert np.abs(wider - wanted).max() < 0.02 * np.abs(wide - wanted).max()


@pytest.mark.parametrize("name", MODELS)
def test_gradients_equal_finite_differences_in_every_way(name):
    process, effects, _ = MODELS[name]
    data, rule = ssep.Data(T, Y), ssep.PowerEP(0.5)
    lik = ssep.likelihoods.StudentT(5.0, 0.7)
    sites = ssep.sweep(ssep.SDEPrior(process + effects), lik, None, rule, data)[1]

    def energy(variance):
        scaled = jax.tree.map(lambda leaf: leaf * variance, process)
        return ssep.sweep(ssep.SDEPrior(scaled + effects), lik, sites, rule, data)[2]

    value = jax.jit(energy)
    wanted = (value(1 + 1e-5) - value(1 - 1e-5)) / 2e-5
    close(jax.grad(energy)(1.0), wanted, 1e-6)
    together = ssep.sweep_and_gradient(ssep.SDEPrior(process + effects), lik, sites, rule, data)
    of_process = together[3][0].kernels[0].parts[: len(getattr(process, "parts", (process,)))]
    leaves, slopes = jax.tree.leaves(process), jax.tree.leaves(of_process)
    close(sum(leaf * slope for leaf, slope in zip(leaves, slopes, strict=True)), wanted, 1e-6)
    close(together[0].mean, ssep.sweep(ssep.SDEPrior(process + effects), lik, sites, rule, data)[0].mean)


def test_what_the_data_do_not_identify_is_reported():
    prior = ssep.SDEPrior(FlatPolynomial(1) + Matern12(0.8, 2.0))
    for data in (ssep.Data([1.0], [2.0]), ssep.Data([1.0, 2.0], [np.nan, np.nan])):
        solution = ssep.infer(prior, GAUSSIAN, ssep.CVI(), data, throw=False)
        assert solution.result != ssep.RESULTS.converged


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Flat(0.0), r"`Flat\(reference\)` must be positive and finite; got 0.0"),
        (lambda: FlatPolynomial(-1), r"`FlatPolynomial\(degree\)` must be a non-negative integer; got -1"),
        (lambda: FlatPolynomial(1, scale=0.0), r"`FlatPolynomial\(scale\)` must be positive and finite; got 0.0"),
        (lambda: Flat() * Matern12(), r"`k1 \* k2` needs factors that are distributions; got a flat one.*Modulated"),
        (lambda: Flat()(0.0, 1.0), r"`Flat` must be used in an `SDEPrior` and observed.*infinite"),
        (
            lambda: ssep.sample(jax.random.key(0), ssep.SDEPrior(Flat()), [1.0], 2),
            r"`sample\(source\)` must be a solut",
        ),
        (lambda: solve("small", smoother=ssep.SquareRoot()), r"`SquareRoot\(\)` needs a prior for every constant"),
        (
            lambda: ssep.sweep(
                ssep.SpatioTemporalPrior(Flat(), Matern32(), [0.0, 1.0]),
                GAUSSIAN,
                None,
                ssep.CVI(),
                ssep.Data(T, Y, r=np.zeros((25, 1))),
            ),
            r"`SpatioTemporalPrior\(temporal\)` must be stationary in time; got `Flat`",
        ),
    ],
)
def test_impossible_uses_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
