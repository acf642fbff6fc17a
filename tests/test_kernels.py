"""Every kernel is one process in two forms: a covariance function and a state space."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, special

from ssep.kernels import (
    Constant,
    Cosine,
    DampedOscillator,
    HalfInteger,
    Matern12,
    Matern32,
    Matern52,
    Matern72,
    Periodic,
    White,
)
from ssep.kernels.special import lower_gamma, scaled_bessel
from tests import oracle

SIMPLE = {
    "Matern12": Matern12(1.3, 0.7),
    "Matern32": Matern32(0.6, 2.1),
    "Matern52": Matern52(2.0, 1.4),
    "Matern72": Matern72(1.1, 0.9),
    "Cosine": Cosine(0.8, 2.3),
    "Periodic": Periodic(1.7, 0.8, 1.9, order=5),
    "Constant": Constant(0.4),
}
MORE = {
    "HalfInteger": HalfInteger(0.9, 1.7, 6),
    "DampedOscillator": DampedOscillator(1.3, 2.1, 4.0),
    "creeping": DampedOscillator(0.7, 1.2, 0.2),
    "critical": DampedOscillator(0.7, 1.2, 0.5),
    "White": White(0.6),
}
KERNELS = (
    SIMPLE
    | MORE
    | {
        "subband": SIMPLE["Matern52"] * MORE["DampedOscillator"],
        "white in a sum": MORE["White"] + SIMPLE["Matern32"],
        "white times smooth": MORE["White"] * SIMPLE["Matern32"],
        "sum": SIMPLE["Matern12"] + SIMPLE["Matern52"] + SIMPLE["Cosine"],
        "scaled": 2.5 * SIMPLE["Matern32"],
        "sum with a number": SIMPLE["Matern32"] + 0.3,
        "quasi-periodic": SIMPLE["Periodic"] * SIMPLE["Matern32"],
        "nested": (SIMPLE["Matern12"] + SIMPLE["Cosine"]) * SIMPLE["Matern72"] * SIMPLE["Matern52"],
    }
)
KERNELS |= {f"{a} * {b}": SIMPLE[a] * SIMPLE[b] for a, b in itertools.combinations_with_replacement(SIMPLE, 2)}
FORMULAS = {
    "Matern12": lambda r: oracle.matern(0, 1.3, 0.7, r, 0),
    "Matern32": lambda r: oracle.matern(1, 0.6, 2.1, r, 0),
    "Matern52": lambda r: oracle.matern(2, 2.0, 1.4, r, 0),
    "Matern72": lambda r: oracle.matern(3, 1.1, 0.9, r, 0),
    "Cosine": lambda r: 0.8 * np.cos(2.3 * r),
    "Constant": lambda r: 0.4,
    "HalfInteger": lambda r: 0.9 * by_bessel(6.5, r / 1.7),
    "DampedOscillator": lambda r: 1.3 * oscillation(2.1 * r, 4.0),
    "creeping": lambda r: 0.7 * oscillation(1.2 * r, 0.2),
    "critical": lambda r: 0.7 * (1 + 1.2 * r) * np.exp(-1.2 * r),
    "White": lambda r: 0.6 * (r == 0),
}


def by_bessel(nu, r):
    """The Matern covariance of any smoothness."""
    x = np.sqrt(2 * nu) * r
    return 1 - x**2 / (4 * (nu - 1)) if x < 1e-4 else 2 ** (1 - nu) / special.gamma(nu) * x**nu * special.kv(nu, x)


def oscillation(angle, quality):
    """The covariance of a driven oscillator, in complex numbers."""
    speed = np.sqrt(complex(1 - 1 / (4 * quality**2)))
    wave = np.cos(speed * angle) + np.sin(speed * angle) / (2 * quality * speed)
    return (np.exp(-angle / (2 * quality)) * wave).real


FORMULAS |= {
    "sum": lambda r: FORMULAS["Matern12"](r) + FORMULAS["Matern52"](r) + FORMULAS["Cosine"](r),
    "scaled": lambda r: 2.5 * FORMULAS["Matern32"](r),
    "sum with a number": lambda r: FORMULAS["Matern32"](r) + 0.3,
    "Matern12 * Cosine": lambda r: FORMULAS["Matern12"](r) * FORMULAS["Cosine"](r),
    "nested": lambda r: (
        (FORMULAS["Matern12"](r) + FORMULAS["Cosine"](r)) * FORMULAS["Matern72"](r) * FORMULAS["Matern52"](r)
    ),
}
gaps = st.floats(0, 20)


@jax.jit
def forms(kernel, gap):
    """A, Q, P, h and k(gap)."""
    state_space = kernel.transition(gap), kernel.process_noise(gap), kernel.stationary_cov(), kernel.observation()
    return *state_space, kernel(jnp.zeros_like(gap), gap)


def numpy_forms(kernel, gap):
    return tuple(np.asarray(part) for part in forms(kernel, jnp.asarray(gap)))


@pytest.mark.parametrize("name", KERNELS)
@given(gap=gaps)
def test_state_space_has_the_covariance_function(name, gap):
    transition, _, cov, observation, value = numpy_forms(KERNELS[name], gap)
    np.testing.assert_allclose(observation @ transition @ cov @ observation, value, rtol=0, atol=1e-12)
    assert transition.shape == (KERNELS[name].state_dim,) * 2


@pytest.mark.parametrize("name", KERNELS)
@given(first=gaps, second=gaps)
def test_two_gaps_make_one(name, first, second):
    a1, q1, cov, _, _ = numpy_forms(KERNELS[name], first)
    a2, q2, *_ = numpy_forms(KERNELS[name], second)
    a, q, *_ = numpy_forms(KERNELS[name], first + second)
    np.testing.assert_allclose(a, a2 @ a1, rtol=0, atol=1e-11)
    np.testing.assert_allclose(q, a2 @ q1 @ a2.T + q2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(a @ cov @ a.T + q, cov, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_add_up_to_the_kernel(name):
    kernel = KERNELS[name]
    blocks = kernel.blocks()
    assert sum(block.state_dim for block in blocks) == kernel.state_dim
    for gap in (0.0, 0.3, 2.5):
        np.testing.assert_allclose(sum(block(0.0, gap) for block in blocks), kernel(0.0, gap), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
@given(gap=gaps)
def test_covariance_function_has_its_formula(name, gap):
    np.testing.assert_allclose(KERNELS[name](0.0, gap), FORMULAS[name](gap), rtol=0, atol=1e-13)


@given(gap=gaps, lengthscale=st.floats(0.6, 5), period=st.floats(0.3, 10))
def test_periodic_converges_to_its_formula(gap, lengthscale, period):
    exact = 1.4 * np.exp(-2 * np.sin(np.pi * gap / period) ** 2 / lengthscale**2)
    np.testing.assert_allclose(Periodic(1.4, lengthscale, period, order=30)(gap, 0.0), exact, rtol=0, atol=1e-12)


def test_harmonics_of_long_gaps_keep_their_digits_in_single_precision():
    period = jnp.float32(1.0)
    kernel = Periodic(jnp.float32(1.0), jnp.float32(1.0), period, 6)
    np.testing.assert_allclose(kernel.transition(jnp.float32(1000.0)), np.eye(13), atol=1e-5)
    # Coefficients that underflow are zero, not an error.
    assert np.isfinite(Periodic(jnp.float32(1.0), jnp.float32(3000.0), period, 6).stationary_cov()).all()


def test_periodic_truncation_error_falls_with_order():
    exact = np.exp(-2 * np.sin(np.pi * 0.2) ** 2 / 0.5**2)
    errors = [abs(float(Periodic(1.0, 0.5, 1.0, order)(0.2, 0.0)) - exact) for order in (1, 3, 5, 7, 9, 12)]
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))


@pytest.mark.parametrize("name", KERNELS)
def test_zero_gap_is_exact(name):
    transition, noise, *_ = numpy_forms(KERNELS[name], 0.0)
    assert (transition == np.eye(len(transition))).all()
    assert (noise == 0).all()


@pytest.mark.parametrize("kernel", [Matern12, Matern32, Matern52, Matern72])
@pytest.mark.parametrize("gap", [1e-8, 1e-5, 1e-2, 1.0, 1e3, 1e30])
def test_matern_noise_is_positive_definite_and_exact_for_every_gap(kernel, gap):
    noise = np.asarray(kernel(1.0, 1.0).process_noise(jnp.asarray(gap)))
    # In units of each component's own scale, where rounding is relative, the matrix is far from singular.
    scale = np.sqrt(np.diag(noise))
    assert np.linalg.eigvalsh(noise / np.outer(scale, scale)).min() > 1e-5
    # The leading term of the innermost component: white noise integrated `order` times.
    order, rate = kernel(1.0, 1.0).order, np.sqrt(2 * kernel(1.0, 1.0).order + 1)
    if gap <= 1e-5:
        spectral = 2 ** (2 * order + 1) * special.factorial(order) ** 2 / special.factorial(2 * order)
        leading = spectral * (rate * gap) ** (2 * order + 1) / ((2 * order + 1) * special.factorial(order) ** 2)
        np.testing.assert_allclose(noise[0, 0], leading, rtol=20 * gap)


@pytest.mark.parametrize("kernel", [Matern12, Matern32, Matern52, Matern72])
@pytest.mark.parametrize("gap", [0.0, 1e-3, 0.5, 7.0])
def test_matern_transition_is_the_matrix_exponential(kernel, gap):
    size = kernel(1.0, 1.0).state_dim
    drift = np.eye(size, k=1)
    drift[-1] = [-special.comb(size, i) for i in range(size)]
    rate = np.sqrt(2 * size - 1) / 0.8
    wanted = linalg.expm(drift * rate * gap)
    np.testing.assert_allclose(kernel(1.7, 0.8).transition(jnp.asarray(gap)), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [Matern12, Matern32, Matern52, Matern72])
def test_matern_takes_vectors(kernel):
    x = np.random.default_rng(0).normal(size=(6, 3))
    distance = np.linalg.norm(x[:, None] - x[None], axis=-1)
    wanted = oracle.matern(kernel(1.0, 1.0).order, 1.2, 0.9, distance.ravel(), 0).reshape(6, 6)
    np.testing.assert_allclose(kernel(1.2, 0.9).gram(x, x), wanted, rtol=0, atol=1e-13)
    gradient = jax.grad(lambda a: kernel(1.2, 0.9)(a, jnp.asarray(x[0])))(jnp.asarray(x[0]))
    assert np.isfinite(np.asarray(gradient)).all()


@pytest.mark.parametrize("quality", [1e-3, 0.1, 0.4999999, 0.5, 0.6, 30.0, 1e4])
def test_noise_of_the_oscillator_is_right_for_every_gap_and_quality(quality):
    kernel = DampedOscillator(1.0, 1.0, quality)
    for gap in (1e-8, 1e-5, 1e-3, 0.5):
        noise = np.asarray(kernel.process_noise(jnp.asarray(gap)))
        scale = np.sqrt(np.diag(noise))
        assert np.linalg.eigvalsh(noise / np.outer(scale, scale)).min() > 0.05 * min(1, quality)
        if gap <= 1e-5:
            # White noise of spectral density 2/Q, integrated once and twice.
            np.testing.assert_allclose(noise[1, 1], 2 * gap / quality, rtol=2 * gap / quality)
            np.testing.assert_allclose(noise[0, 0], 2 * gap**3 / (3 * quality), rtol=2 * gap / quality)


def test_an_impossible_smoothness_is_refused():
    with pytest.raises(ValueError, match=r"`HalfInteger\(derivatives\)` must be an integer from 0 to 8; got 9"):
        HalfInteger(1.0, 1.0, 9)


@pytest.mark.parametrize("name", SIMPLE | MORE)
@pytest.mark.parametrize("gap", [0.0, 1e-6, 0.3, 1e4])
def test_derivatives_in_hyperparameters_are_finite(name, gap):
    def total(kernel):
        return sum(part.sum() for part in forms(kernel, jnp.asarray(gap)))

    for leaf in jax.tree.leaves(jax.grad(total)(KERNELS[name])):
        assert np.isfinite(leaf).all()


@pytest.mark.parametrize("name", SIMPLE)
@pytest.mark.parametrize("gap", [0.0, 1e-6, 0.3, 1e4, 1e30])
def test_single_precision_agrees_with_double(name, gap):
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), SIMPLE[name])
    gap = np.float32(gap) if name not in ("Cosine", "Periodic") else np.float32(min(gap, 3.0))
    for low, high in zip(forms(single, jnp.asarray(gap)), numpy_forms(SIMPLE[name], float(gap)), strict=True):
        assert low.dtype == jnp.float32
        np.testing.assert_allclose(low, high, rtol=1e-4, atol=1e-5)


@given(x=st.floats(0, 200), highest=st.integers(1, 9))
def test_lower_gamma_equals_scipy(x, highest):
    wanted = special.gammainc(np.arange(1, highest + 1), x)
    np.testing.assert_allclose(lower_gamma(highest, jnp.asarray(x)), wanted, rtol=3e-14, atol=1e-300)


@given(lengthscale=st.floats(0.01, 100), highest=st.integers(0, 12))
def test_scaled_bessel_equals_scipy(lengthscale, highest):
    wanted = special.ive(np.arange(highest + 1), lengthscale**-2)
    np.testing.assert_allclose(scaled_bessel(highest, jnp.asarray(lengthscale**-2)), wanted, rtol=1e-12)


def test_arithmetic_with_numpy_numbers_and_sum():
    k1, k2 = SIMPLE["Matern12"], SIMPLE["Matern52"]
    assert float((np.float64(2.0) * k1)(0.0, 0.3)) == pytest.approx(2 * float(k1(0.0, 0.3)))
    assert float(sum([k1, k2])(0.0, 0.3)) == pytest.approx(float(k1(0.0, 0.3) + k2(0.0, 0.3)))
