"""Every kernel is one process in two forms: a covariance function and a state space."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, special

from ssep.kernels import (
    CARMA,
    Celerite,
    ChangingVariance,
    Constant,
    Cosine,
    DampedOscillator,
    HalfInteger,
    IntegratedWiener,
    Linear,
    LocalLinearTrend,
    Matern12,
    Matern32,
    Matern52,
    Matern72,
    Modulated,
    Periodic,
    Polynomial,
    QuasiPeriodic,
    RationalQuadratic,
    Regression,
    SeasonalDummies,
    SquaredExponential,
    Subband,
    Table,
    White,
    Wiener,
)
from ssep.kernels.special import lower_gamma, scaled_bessel
from ssep.kernels.weights import Contrast
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
    "Celerite": Celerite(1.3, 0.5, 2.0, -0.7),
    "CARMA": CARMA(1.2, (2.0, 1.0, 3.0), (1.5, 0.7)),
    "QuasiPeriodic": QuasiPeriodic(1.1, 0.9, 2.2, 6.0, order=3, smoothness=2),
    "Subband": Subband(0.8, 2.5, 3.0, smoothness=1),
}
TABLE = Table([0.0, 4.0, 9.0, 1e5], [0.3, -1.0, 2.0, 0.5])
CHANGING = {
    "Linear": Linear(0.5, 3.0),
    "Polynomial": Polynomial(0.1, 0.7, degree=3, centre=4.0),
    "Regression": Regression([TABLE, jnp.sin], (1.3, 0.5)),
    "ChangingVariance": ChangingVariance(Matern32(0.6, 2.1), (4.0, 6.0), (2.0, 0.3)),
    "SeasonalDummies": SeasonalDummies(1.3, seasons=5, width=0.7, start=0.2),
    "Modulated": Modulated(Matern12(1.3, 0.7) + Cosine(0.8, 2.3), jnp.cos),
}
GROWING = {
    "Wiener": Wiener(0.7, start=-1.0),
    "IntegratedWiener": IntegratedWiener(0.02, order=2, start=0.5, initial=(1.0, 0.5, 0.1)),
    "LocalLinearTrend": LocalLinearTrend(0.5, 0.1, (2.0, 0.5), start=0.5),
}
# Their state space form has a covariance that differs from the covariance function by no more than this.
CLOSE = {
    "SquaredExponential": (SquaredExponential(1.4, 0.8), 1.4 * 0.0044),
    "finer": (SquaredExponential(1.4, 0.8, order=10), 1.4 * 0.00021),
    "RationalQuadratic": (RationalQuadratic(1.4, 0.8, mixture=2.0), 1.4 * 0.0035),
}
KERNELS = (
    SIMPLE
    | MORE
    | CHANGING
    | GROWING
    | {name: kernel for name, (kernel, _) in CLOSE.items()}
    | {
        "oscillating effects": MORE["Celerite"] * CHANGING["Regression"],
        "dummies that change": CHANGING["SeasonalDummies"] * SIMPLE["Matern32"],
        "changes twice": ChangingVariance(CHANGING["ChangingVariance"], (5.0,), 0.5),
        "growing pattern": GROWING["Wiener"] * SIMPLE["Periodic"] * 0.3,
        "growing wave": SIMPLE["Cosine"] * GROWING["LocalLinearTrend"],
        "structural": GROWING["LocalLinearTrend"] + CHANGING["SeasonalDummies"] + SIMPLE["Matern12"],
        "smooth subband": SquaredExponential(1.4, 0.8, order=4) * SIMPLE["Cosine"],
        "autoregressive pattern": MORE["CARMA"] * SIMPLE["Periodic"],
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
SINGLE = SIMPLE | MORE | CHANGING | GROWING | {name: kernel for name, (kernel, _) in CLOSE.items()}
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
    "Celerite": lambda r: 1.3 * np.exp(-0.5 * r) * (np.cos(2 * r) - 0.7 * 0.5 / 2 * np.sin(2 * r)),
    "CARMA": lambda r: by_residues(1.2, [2.0, 1.0], [3.0], [1.5, 0.7], r),
    "QuasiPeriodic": lambda r: oracle.matern(2, 1.0, 6.0, r, 0) * np.asarray(Periodic(1.1, 0.9, 2.2, 3)(r, 0.0)),
    "Subband": lambda r: oracle.matern(1, 0.8, 3.0, r, 0) * np.cos(2.5 * r),
    "SquaredExponential": lambda r: 1.4 * np.exp(-(r**2) / (2 * 0.8**2)),
    "RationalQuadratic": lambda r: 1.4 * (1 + r**2 / (2 * 2.0 * 0.8**2)) ** -2.0,
}
# Of two times.
SURFACES = {
    "Linear": lambda a, b: 0.5 * (a - 3) * (b - 3),
    "Polynomial": lambda a, b: (0.7 + 0.1 * (a - 4) * (b - 4)) ** 3,
    "Regression": lambda a, b: 1.3 * line(a) * line(b) + 0.5 * np.sin(a) * np.sin(b),
    "ChangingVariance": lambda a, b: level(a) * level(b) * oracle.matern(1, 0.6, 2.1, abs(a - b), 0),
    "SeasonalDummies": lambda a, b: 1.3 * (5 * (season(a) == season(b)) - 1) / 4,
    "Modulated": lambda a, b: np.cos(a) * np.cos(b) * (FORMULAS["Matern12"](abs(a - b)) + 0.8 * np.cos(2.3 * (a - b))),
    "Wiener": lambda a, b: 0.7 * (min(a, b) + 1),
    "IntegratedWiener": lambda a, b: (
        0.02 * integral(2, a - 0.5, b - 0.5)
        + 1.0
        + 0.5 * (a - 0.5) * (b - 0.5)
        + 0.1 * ((a - 0.5) * (b - 0.5)) ** 2 / 4
    ),
    "LocalLinearTrend": lambda a, b: (
        2.0
        + 0.5 * (a - 0.5) * (b - 0.5)
        + 0.5 * (min(a, b) - 0.5)
        + 0.1 * min(a - 0.5, b - 0.5) ** 2 * (max(a - 0.5, b - 0.5) / 2 - min(a - 0.5, b - 0.5) / 6)
    ),
}


def line(t):
    return np.interp(t, [0.0, 4.0, 9.0, 1e5], [0.3, -1.0, 2.0, 0.5])


def level(t):
    return 1.0 if t < 4 else (2.0 if t < 6 else 0.3)


def season(t):
    return int(np.floor((t - 0.2) / 0.7)) % 5


def integral(order, a, b):
    """Of ((a - s)(b - s))^order / order!^2 up to the smaller one."""
    product = np.polymul([-1.0, a], [-1.0, b])
    power = np.polyint(functools.reduce(np.polymul, [product] * order))
    return (np.polyval(power, min(a, b)) - np.polyval(power, 0)) / special.factorial(order) ** 2


def by_residues(variance, quadratic, linear, average, r):
    """The covariance of a CARMA(3, 2) process as a sum over the roots of its autoregression."""
    a = np.polymul([1, quadratic[1], quadratic[0]], [1, linear[0]])
    b = np.array([1, average[1], average[0]])
    roots = np.roots(a)

    def at(r):
        others = [
            np.prod([(other - root) * (np.conj(other) + root) for other in roots if other != root]) for root in roots
        ]
        terms = [
            np.polyval(b, root) * np.polyval(b, -root) * np.exp(root * r) / (-2 * root.real * other)
            for root, other in zip(roots, others, strict=True)
        ]
        return np.sum(terms).real

    return variance * at(r) / at(0.0)


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
times = st.floats(0.5, 30)


@jax.jit
def forms(kernel, t, gap):
    """A, Q, P and h at a time, the same after a gap, and the covariance of the two times."""
    here, there = (tuple(part(at) for part in (kernel.state_cov, kernel.observation)) for at in (t, t + gap))
    return kernel.transition(gap), kernel.process_noise(gap), *here, *there, kernel(t, t + gap)


def numpy_forms(kernel, t, gap):
    return tuple(np.asarray(part) for part in forms(kernel, jnp.asarray(t), jnp.asarray(gap)))


@pytest.mark.parametrize("name", KERNELS)
@given(t=times, gap=gaps)
def test_state_space_has_the_covariance_function(name, t, gap):
    # The gap that is left when two times are rounded.
    transition, _, cov, here, later_cov, there, value = numpy_forms(KERNELS[name], t, (t + gap) - t)
    size = np.sqrt((here @ cov @ here) * (there @ later_cov @ there))
    error = 1e-12 * max(1, size)
    if name in CLOSE:
        error = CLOSE[name][1]
    elif name == "smooth subband":
        error = 0.8 * 1.4 * 0.0221
    np.testing.assert_allclose(there @ transition @ cov @ here, value, rtol=0, atol=error)
    assert transition.shape == (KERNELS[name].state_dim,) * 2


@pytest.mark.parametrize("name", KERNELS)
@given(t=times, first=gaps, second=gaps)
def test_two_gaps_make_one(name, t, first, second):
    a1, q1, *_ = numpy_forms(KERNELS[name], t, first)
    a2, q2, *_ = numpy_forms(KERNELS[name], t, second)
    a, q, cov, _, later, *_ = numpy_forms(KERNELS[name], t, first + second)
    scale = np.maximum(1, np.sqrt(np.diag(later)))
    np.testing.assert_allclose(a, a2 @ a1, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(q, a2 @ q1 @ a2.T + q2, rtol=0, atol=1e-11 * np.outer(scale, scale).max())
    np.testing.assert_allclose((a @ cov @ a.T + q - later) / np.outer(scale, scale), 0, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_add_up_to_the_kernel(name):
    kernel = KERNELS[name]
    blocks = kernel.blocks()
    assert sum(block.state_dim for block in blocks) == kernel.state_dim
    error = 0.02 if name == "RationalQuadratic" else 1e-11
    for first, second in [(0.7, 0.7), (1.0, 1.3), (4.5, 2.0)]:
        np.testing.assert_allclose(
            sum(block(first, second) for block in blocks), kernel(first, second), rtol=error, atol=error
        )


@pytest.mark.parametrize("name", KERNELS)
def test_terms_with_functions_of_time_add_up_to_the_kernel(name):
    kernel = KERNELS[name]
    terms = kernel.weighted()
    assert sum(term.kernel.state_dim for term in terms) == kernel.state_dim
    values = []
    for first, second in [(0.7, 0.7), (1.0, 1.3), (4.5, 2.0)]:
        here, there = jnp.asarray(first), jnp.asarray(second)
        weights = [1 if term.weight is None else term.weight(here) * term.weight(there) for term in terms]
        values = [weight * term.kernel(first, second) for weight, term in zip(weights, terms, strict=True)]
        error = 0.02 if name == "RationalQuadratic" else 1e-11
        np.testing.assert_allclose(sum(values), kernel(first, second), rtol=error, atol=error)
        for term in terms:
            assert (term.kernel.observation(here) == term.kernel.observation(there)).all()


@pytest.mark.parametrize("name", FORMULAS)
@given(gap=gaps)
def test_covariance_function_has_its_formula(name, gap):
    np.testing.assert_allclose(KERNELS[name](0.0, gap), FORMULAS[name](gap), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", SURFACES)
@given(first=times, second=times)
def test_covariance_of_two_times_has_its_formula(name, first, second):
    wanted = SURFACES[name](first, second)
    np.testing.assert_allclose(KERNELS[name](first, second), wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("order", [2, 4, 6, 8, 10])
def test_error_of_the_squared_exponential_falls_with_the_order_as_stated(order):
    kernel = SquaredExponential(1.0, 1.0, order)
    lags = jnp.linspace(0, 6, 121)
    state = jax.vmap(lambda lag: kernel.transition(lag)[0, 0])(lags)
    error = float(jnp.max(jnp.abs(state - jnp.exp(-(lags**2) / 2))))
    stated = {2: 0.13, 4: 0.022, 6: 0.0043, 8: 0.00091, 10: 0.0002}[order]
    assert 0.9 * stated < error < 1.1 * stated


@pytest.mark.parametrize(
    ("mixture", "stated"),
    [(0.5, {(5, 6): 0.024, (12, 10): 0.0021}), (1.0, {(5, 6): 0.0079, (12, 10): 0.00042}), (2.0, {(5, 6): 0.0034})],
)
def test_error_of_the_rational_quadratic_falls_with_terms_and_order_as_stated(mixture, stated):
    lags = jnp.linspace(0, 30, 151)
    exact = (1 + lags**2 / (2 * mixture)) ** -mixture
    for (terms, order), wanted in stated.items():
        kernel = RationalQuadratic(1.0, 1.0, mixture, terms, order)
        weights = kernel.state_cov(lags[0])[np.arange(terms) * order, np.arange(terms) * order]
        parts = [jax.vmap(lambda lag, part=part: part.transition(lag)[0, 0])(lags) for part in kernel.blocks()]
        error = float(jnp.max(jnp.abs(weights @ jnp.stack(parts) - exact)))
        assert 0.9 * wanted < error < 1.1 * wanted


@given(gap=gaps, lengthscale=st.floats(0.6, 5), period=st.floats(0.3, 10))
def test_periodic_converges_to_its_formula(gap, lengthscale, period):
    exact = 1.4 * np.exp(-2 * np.sin(np.pi * gap / period) ** 2 / lengthscale**2)
    np.testing.assert_allclose(Periodic(1.4, lengthscale, period, order=30)(gap, 0.0), exact, rtol=0, atol=1e-12)


def test_harmonics_of_long_gaps_keep_their_digits_in_single_precision():
    period = jnp.float32(1.0)
    kernel = Periodic(jnp.float32(1.0), jnp.float32(1.0), period, 6)
    np.testing.assert_allclose(kernel.transition(jnp.float32(1000.0)), np.eye(13), atol=1e-5)
    # Coefficients that underflow are zero, not an error.
    assert np.isfinite(Periodic(jnp.float32(1.0), jnp.float32(3000.0), period, 6).state_cov(period)).all()


def test_periodic_truncation_error_falls_with_order():
    exact = np.exp(-2 * np.sin(np.pi * 0.2) ** 2 / 0.5**2)
    errors = [abs(float(Periodic(1.0, 0.5, 1.0, order)(0.2, 0.0)) - exact) for order in (1, 3, 5, 7, 9, 12)]
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))


@pytest.mark.parametrize("name", KERNELS)
def test_zero_gap_is_exact(name):
    transition, noise, *_ = numpy_forms(KERNELS[name], 1.0, 0.0)
    assert (transition == np.eye(len(transition))).all()
    assert (noise == 0).all()


@pytest.mark.parametrize("name", KERNELS)
def test_noise_is_positive_semi_definite_for_every_gap(name):
    for gap in (1e-8, 1e-6, 1e-4, 1e-2, 0.5, 3.0, 1e3):
        noise = numpy_forms(KERNELS[name], 1.0, gap)[1]
        # In units of each component's own scale, where rounding is relative.
        scale = np.sqrt(np.diag(noise))
        scale = np.where(scale > 0, scale, 1)
        assert np.linalg.eigvalsh(noise / np.outer(scale, scale)).min() > -1e-13


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


@pytest.mark.parametrize("frequency", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("balance", [-0.9999, -0.5, 0.5, 0.9999])
def test_noise_of_celerite_is_positive_semi_definite_for_every_balance(balance, frequency):
    for gap in (1e-6, 0.1, 2.0):
        noise = numpy_forms(Celerite(1.0, 1.0, frequency, balance), 0.0, gap)[1]
        values = np.linalg.eigvalsh(noise)
        assert values[0] > -1e-14 * values[1]


def test_celerite_terms_are_those_of_the_paper_and_meet_the_oscillator():
    term = Celerite.from_coefficients(1.3, 0.2, 0.5, 2.0)
    for gap in (0.0, 0.4, 3.0):
        wanted = np.exp(-0.5 * gap) * (1.3 * np.cos(2 * gap) + 0.2 * np.sin(2 * gap))
        assert float(term(0.0, gap)) == pytest.approx(wanted, abs=1e-14)
    quality, speed = 4.0, np.sqrt(1 - 1 / 64)
    almost = Celerite(1.0, 2.1 / 8, 2.1 * speed, 1 - 1e-12)
    for gap in (0.1, 0.4, 3.0):
        assert float(almost(0.0, gap)) == pytest.approx(float(DampedOscillator(1.0, 2.1, quality)(0.0, gap)), abs=1e-11)


@pytest.mark.parametrize("name", ["CARMA", "Celerite", "SquaredExponential", "RationalQuadratic", "CARMA(1)"])
@pytest.mark.parametrize("gap", [0.25, 1.0, 1.7])
def test_derivatives_equal_finite_differences(name, gap):
    # With rates of one, a power of two is a gap at which the number of doublings changes.
    special_rates = {"CARMA(1)": CARMA(1.0, (1.0,)), "Celerite": Celerite(1.0, 1.0, 1.0, 0.3)}
    kernel = special_rates.get(name) or SINGLE[name]

    @jax.jit
    def total(kernel):
        # Not all with the same weight: most sums of a covariance and its noise are constant.
        return sum(
            jnp.sum(part * jnp.cos(jnp.arange(part.size)).reshape(part.shape)) for part in forms(kernel, 1.0, gap)
        )

    leaves, structure = jax.tree.flatten(kernel)
    for position, slope in enumerate(jax.tree.leaves(jax.grad(total)(kernel))):
        up, down = (
            total(
                jax.tree.unflatten(structure, [leaf + step * (place == position) for place, leaf in enumerate(leaves)])
            )
            for step in (1e-5, -1e-5)
        )
        np.testing.assert_allclose(slope, (up - down) / 2e-5, rtol=1e-6, atol=1e-7)


def test_carma_with_rates_far_apart_forgets():
    # Roots -1e3 +- 30i and -2e-3: slow and fast by a factor of half a million.
    fast, slow = (1e6 + 900.0, 2e3), 2e-3
    kernel = CARMA(1.3, (*fast, slow), (5.0, 3.0))
    for lag in (1e-3, 1.0, 100.0, 1e3, 1e4, 1e6):
        wanted = by_residues(1.3, [fast[0], fast[1]], [slow], [5.0, 3.0], lag)
        np.testing.assert_allclose(kernel(0.0, lag), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("rate", "frequency", "gap"), [(1.0, 4e3, 1e-3), (1e4, 1.0, 1e-4), (1e-6, 7e-5, 600.0)])
def test_celerite_has_no_units_in_single_precision(rate, frequency, gap):
    low, high = (
        Celerite(dtype(1.0), dtype(rate), dtype(frequency), dtype(0.5)).process_noise(jnp.asarray(gap, dtype))
        for dtype in (jnp.float32, jnp.float64)
    )
    np.testing.assert_allclose(low, high, rtol=1e-4, atol=1e-4 * float(jnp.max(high)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("seasons", "width", "start"), [(12, 1 / 12, 1851.0), (10, 0.1, 0.0), (24, 1 / 24, -400.1), (7, 1.0, 45_000.0)]
)
def test_times_on_the_border_of_seasons_belong_to_the_later_one(seasons, width, start, dtype):
    numbers = np.arange(300)
    borders = (dtype(start) + numbers * dtype(width)).astype(dtype)
    effects = np.stack([jax.vmap(Contrast(i, seasons, width, start))(jnp.asarray(borders)) for i in range(seasons - 1)])
    wanted = np.stack([effects[:, season] for season in range(seasons)], 1)
    np.testing.assert_allclose(effects, wanted[:, numbers % seasons], atol=1e-6)
    # Well inside a season nothing is rounded.
    inside = jnp.asarray((start + (numbers + 0.9) * width).astype(dtype))
    first = jax.vmap(Contrast(0, seasons, width, start))(inside)
    np.testing.assert_allclose(first, wanted[0, numbers % seasons], atol=1e-6)


def test_levels_change_at_their_time():
    kernel = CHANGING["ChangingVariance"]
    values = [float(kernel(t, t)) for t in (np.nextafter(4.0, 0), 4.0, np.nextafter(6.0, 0), 6.0)]
    np.testing.assert_allclose(values, 0.6 * np.array([1, 4, 4, 0.09]))


def test_points_on_a_line_may_be_vectors_of_one_number():
    x = np.array([[1.0], [2.5]])
    for name in ("Linear", "Wiener", "Regression", "CARMA"):
        np.testing.assert_array_equal(SINGLE[name].gram(x, x), SINGLE[name].gram(x[:, 0], x[:, 0]))
    for name in ("Linear", "Wiener"):
        with pytest.raises(ValueError, match="is defined for points on a line only"):
            SINGLE[name](np.zeros(2), np.ones(2))


def test_an_impossible_smoothness_is_refused():
    with pytest.raises(ValueError, match=r"`HalfInteger\(derivatives\)` must be an integer from 0 to 8; got 9"):
        HalfInteger(1.0, 1.0, 9)


@jax.jit
def slopes(kernel, t, gap):
    return jax.grad(lambda kernel: sum(part.sum() for part in forms(kernel, t, gap)))(kernel)


@pytest.mark.parametrize("name", SINGLE)
def test_derivatives_in_hyperparameters_are_finite(name):
    for gap in (0.0, 1e-6, 0.3, 1e4):
        for leaf in jax.tree.leaves(slopes(SINGLE[name], jnp.asarray(1.0), jnp.asarray(gap))):
            assert np.isfinite(leaf).all()


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_values_and_derivatives_are_finite_at_extreme_hyperparameters(name, factor):
    # A balance stays between -1 and 1, and times of a table stay as they are.
    kernel = jax.tree.map(lambda leaf: leaf * factor if leaf.ndim == 0 and leaf > 0 else leaf, SINGLE[name])
    for gap in (0.0, 1e-3, 1.0, 1e3):
        t, gap = jnp.asarray(1.0), jnp.asarray(gap)
        for leaf in jax.tree.leaves((forms(kernel, t, gap), slopes(kernel, t, gap))):
            assert np.isfinite(leaf).all()


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("gap", [0.0, 1e-6, 0.3, 1e4, 1e30])
def test_single_precision_agrees_with_double(name, gap):
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), SINGLE[name])
    forgets = SINGLE[name].settled and not SINGLE[name].noiseless and name not in CHANGING
    waves = ("Cosine", "Celerite", "Subband", "QuasiPeriodic", "DampedOscillator")
    gap = np.float32(gap if forgets and name not in waves else min(gap, 3.0))
    wanted = numpy_forms(SINGLE[name], 1.0, float(gap))
    for low, high in zip(forms(single, jnp.float32(1.0), jnp.asarray(gap)), wanted, strict=True):
        assert low.dtype == jnp.float32
        np.testing.assert_allclose(low, high, rtol=2e-4, atol=3e-5)


def test_processes_that_grow_take_no_noisy_factor():
    with pytest.raises(ValueError, match=r"`Wiener \* Matern32` may have one factor whose variance grows"):
        GROWING["Wiener"] * SIMPLE["Matern32"]
    with pytest.raises(ValueError, match="2 that grow"):
        GROWING["Wiener"] * GROWING["LocalLinearTrend"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: SquaredExponential(1.0, 1.0, 1),
            r"`SquaredExponential\(order\)` must be an integer from 2 to 10; got 1",
        ),
        (lambda: RationalQuadratic(1.0, 1.0, 1.0, 40), r"`RationalQuadratic\(terms\)` must be an integer from 2 to 20"),
        (lambda: IntegratedWiener(1.0, 7), r"`IntegratedWiener\(order\)` must be an integer from 0 to 6; got 7"),
        (
            lambda: IntegratedWiener(1.0, 2, 0.0, (1.0, 2.0)),
            r"`IntegratedWiener\(initial\)` must be one number, or one",
        ),
        (lambda: Polynomial(1.0, 1.0, 0), r"`Polynomial\(degree\)` must be a positive integer; got 0"),
        (lambda: SeasonalDummies(1.0, 1), r"`SeasonalDummies\(seasons\)` must be an integer of at least 2; got 1"),
        (lambda: SeasonalDummies(1.0, 7, 0.0), r"`SeasonalDummies\(width\)` must be positive and finite; got 0.0"),
        (
            lambda: ChangingVariance(Matern12(), (2.0, 1.0)),
            r"`ChangingVariance\(changes\)` must be finite times that inc",
        ),
        (lambda: Regression([]), r"`Regression\(covariates\)` must be functions of time; got \[\]"),
        (lambda: Table([1.0, 1.0], [0.0, 1.0]), r"`Table\(times, values\)` needs increasing times"),
        (lambda: Table([1.0, 2.0], [0.0, np.nan]), r"`Table\(values\)` must be finite"),
        (
            lambda: CARMA(1.0, (1.0,), (1.0,)),
            r"must be sequences of p and q coefficients with q < p <= 8; got p = 1 and q = 1",
        ),
        (lambda: Celerite.from_coefficients(1.0, 0.1, 0.0, 1.0), r"must have a, c, d > 0"),
        (lambda: CARMA(1.0, (1.0, -1.0)), r"`CARMA\(autoregression\)` must be positive"),
        (lambda: Celerite(1.0, 1.0, 1.0, 1.0), r"`Celerite\(balance\)` must lie strictly between -1 and 1; got 1.0"),
        (lambda: Celerite.from_coefficients(1.0, 5.0, 1.0, 1.0), r"must have a, c, d > 0 and \|b d\| < a c"),
        (lambda: Subband(1.0, 1.0, 1.0, 4), r"`Subband\(smoothness\)` must be 0, 1, 2 or 3; got 4"),
    ],
)
def test_bad_kernels_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


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
