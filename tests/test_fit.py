"""`fit` finds the minimum of the energy it was given, over what it was told to learn."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import optimize

import ssep
from ssep.constraints import POSITIVE
from ssep.kernels import Matern32
from tests import oracle
from tests.test_sweep import build

RNG = np.random.default_rng(0)
T = np.sort(RNG.uniform(0, 10, 30))
Y = np.sin(T) + 0.3 * RNG.normal(size=30)
DATA = ssep.Data(T, Y)


def evidence(log_hyper):
    """Exact negative log marginal likelihood of a Matern-3/2 with Gaussian noise, dense."""
    variance, lengthscale, noise = np.exp(log_hyper)
    cov = oracle.matern(1, variance, lengthscale, T, T) + noise * np.eye(30)
    return 0.5 * (Y @ np.linalg.solve(cov, Y) + np.linalg.slogdet(cov)[1] + 30 * np.log(2 * np.pi))


def start():
    return ssep.SDEPrior(Matern32(1.0, 1.0)), ssep.likelihoods.Gaussian(0.5)


def learned(fit):
    kernel = fit.prior.kernels[0]
    return np.array([kernel.variance, kernel.lengthscale, fit.likelihood.variance])


@pytest.mark.parametrize(
    ("optimiser", "steps", "schedule"),
    [
        (optax.lbfgs(), 25, ssep.Converge()),
        (optax.lbfgs(), 25, ssep.Interleave()),
        (optax.adam(0.1), 250, ssep.Interleave()),
    ],
)
def test_learned_hyperparameters_maximise_the_exact_evidence(optimiser, steps, schedule):
    best = optimize.minimize(evidence, np.log([1.0, 1.0, 0.5]), method="BFGS")
    fit = ssep.fit(*start(), ssep.PowerEP(), DATA, optimiser=optimiser, num_steps=steps, schedule=schedule)
    assert float(fit.solution.energy) == pytest.approx(best.fun, abs=1e-4)
    np.testing.assert_allclose(np.log(learned(fit)), best.x, atol=0.02)
    assert bool(fit.solution.result == ssep.RESULTS.converged)
    # The trace starts where we did and ends where it got to.
    assert fit.energies.shape == (steps,)
    assert float(fit.energies[0]) == pytest.approx(evidence(np.log([1.0, 1.0, 0.5])), abs=1e-6)
    prior_trace, lik_trace = fit.hyperparameters
    assert prior_trace.kernels[0].lengthscale.shape == lik_trace.variance.shape == (steps,)
    assert float(lik_trace.variance[0]) == pytest.approx(0.5)
    assert float(lik_trace.variance[-1]) == pytest.approx(float(fit.likelihood.variance), rel=0.02)


def test_tolerance_stops_after_five_steps_that_hardly_differ_and_no_earlier():
    options = {"optimiser": optax.adam(0.1), "num_steps": 250}
    whole = np.asarray(ssep.fit(*start(), ssep.PowerEP(), DATA, **options).energies)
    spans = np.array([np.ptp(whole[end - 5 : end]) for end in range(5, 251)])
    expected = 5 + int(np.argmax(spans < 0.01))
    assert 20 < expected < 250  # neither at once nor never
    early = ssep.fit(*start(), ssep.PowerEP(), DATA, tol=0.01, **options)
    np.testing.assert_allclose(np.asarray(early.energies), whole[:expected], rtol=1e-9)


def test_what_is_not_trainable_stays():
    prior, lik = start()
    fit = ssep.fit(
        prior,
        lik,
        ssep.CVI(),
        DATA,
        trainable=lambda prior, lik: (prior.kernels[0].lengthscale, lik),
        optimiser=optax.lbfgs(),
        num_steps=20,
    )
    assert float(fit.prior.kernels[0].variance) == 1.0
    best = optimize.minimize(lambda x: evidence([0.0, *x]), np.log([1.0, 0.5]), method="BFGS")
    np.testing.assert_allclose(np.log(learned(fit))[1:], best.x, atol=0.01)
    assert fit.hyperparameters[0].kernels[0].variance.shape == ()


def test_a_prior_of_the_hyperparameters_gives_the_maximum_a_posteriori():
    def log_prior(prior, lik):
        return -0.5 * ((jnp.log(prior.kernels[0].lengthscale) - 1.0) / 0.1) ** 2

    fit = ssep.fit(*start(), ssep.CVI(), DATA, log_prior=log_prior, optimiser=optax.lbfgs(), num_steps=30)
    best = optimize.minimize(lambda x: evidence(x) + 0.5 * ((x[1] - 1) / 0.1) ** 2, [0.0, 0.0, -1.0], method="BFGS")
    np.testing.assert_allclose(np.log(learned(fit)), best.x, atol=0.02)


def test_the_best_is_returned_not_the_last():
    """An optimiser that goes uphill, so that the first is the best."""
    fit = ssep.fit(*start(), ssep.CVI(), DATA, optimiser=optax.sgd(-0.05), num_steps=5)
    assert (np.diff(fit.energies) > 0).all()
    np.testing.assert_allclose(learned(fit), [1.0, 1.0, 0.5], rtol=1e-12)
    assert float(fit.solution.energy) == pytest.approx(float(fit.energies[0]), abs=1e-9)


@pytest.mark.parametrize("after", [0, 4])
def test_an_interrupt_returns_the_best_so_far(after):
    def stop(step, energy):
        if step == after:
            raise KeyboardInterrupt

    fit = ssep.fit(*start(), ssep.CVI(), DATA, num_steps=50, callback=stop)
    assert fit.energies.shape == (after + 1,)
    assert float(fit.solution.energy) <= float(fit.energies.min()) + 1e-9


def test_progress_shows_the_energy(capsys):
    fit = ssep.fit(*start(), ssep.CVI(), DATA, num_steps=3, progress=True)
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert f"energy={float(fit.energies[-1]):.4f}" in shown


def test_a_step_into_the_void_is_taken_back():
    """An optimiser that jumps to where nothing is finite; learning goes on from the best."""
    jump = optax.GradientTransformation(lambda p: 0, lambda g, s, p=None: ([jnp.full_like(x, 800.0) for x in g], s))
    fit = ssep.fit(*start(), ssep.CVI(), DATA, optimiser=jump, num_steps=4)
    np.testing.assert_allclose(learned(fit), [1.0, 1.0, 0.5], rtol=1e-6)
    assert bool(jnp.isfinite(fit.solution.posterior.mean).all())


def test_a_gradient_that_is_not_finite_is_reported():
    def log_prior(prior, lik):
        return -0.0 * jnp.abs(prior.kernels[0].lengthscale - 1.0) ** 0.5

    with pytest.warns(UserWarning, match="the gradient is not finite"):
        fit = ssep.fit(*start(), ssep.CVI(), DATA, log_prior=log_prior, num_steps=4)
    assert fit.energies.shape == (1,)


class Scaled(ssep.Likelihood):
    """A likelihood of one's own whose scale is a Python number in a declared field."""

    scale: float = eqx.field(default=0.7, metadata=POSITIVE)
    fixed: float = 2.0

    def log_prob(self, y, f, aux):
        return -0.5 * ((y - f[0]) / self.scale) ** 2 - jnp.log(self.scale) - 0.5 * jnp.log(self.fixed * jnp.pi)


def test_numbers_in_declared_fields_are_learned():
    # The bound integrates the logarithm, here a parabola, so that cubature is exact.
    options = {"optimiser": optax.lbfgs(), "num_steps": 25, "objective": ssep.FreeEnergy()}
    fit = ssep.fit(start()[0], Scaled(), ssep.CVI(), DATA, **options)
    best = optimize.minimize(evidence, np.log([1.0, 1.0, 0.5]), method="BFGS")
    assert np.log(float(fit.likelihood.scale) ** 2) == pytest.approx(best.x[2], abs=0.02)
    assert fit.likelihood.fixed == 2.0


def test_learning_needs_something_to_learn():
    prior, lik, data, *_ = build(61, "poisson")
    with pytest.raises(ValueError, match=r"`fit\(prior, lik\)` must have something to learn"):
        ssep.fit(prior, lik, ssep.CVI(), data, trainable=lambda prior, lik: ())
    with pytest.raises(ValueError, match=r"`fit\(num_steps\)` must be a positive integer"):
        ssep.fit(prior, lik, ssep.CVI(), data, num_steps=0)
    with pytest.raises(ValueError, match=r"`fit\(tol\)` must not be negative"):
        ssep.fit(prior, lik, ssep.CVI(), data, tol=-1.0)


def test_fits_of_one_shape_compile_once():
    import jax

    from tests.test_predict import _Compilations

    options = {"num_steps": 2}
    ssep.fit(*start(), ssep.CVI(), DATA, **options)
    with jax.log_compiles(True), _Compilations() as compiled:
        ssep.fit(ssep.SDEPrior(Matern32(2.0, 0.7)), ssep.likelihoods.Gaussian(0.1), ssep.CVI(), DATA, **options)
    assert [name for name in compiled.names if name in ("_step", "_infer")] == []
