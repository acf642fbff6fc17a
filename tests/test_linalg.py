"""The unrolled linear algebra is linear algebra, and conditioning on a site is the dense formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssep import linalg
from ssep.conditioning import condition

seeds = st.integers(0, 2**32 - 1)
sizes = pytest.mark.parametrize("size", [1, 2, 3, 6, linalg.UNROLL_LIMIT + 1])


def positive(rng, size):
    factor = rng.normal(size=(size, size))
    return factor @ factor.T + 0.1 * np.eye(size)


@sizes
@given(seed=seeds)
def test_unrolled_forms_equal_numpy(size, seed):
    rng = np.random.default_rng(seed)
    matrix, right, symmetric = positive(rng, size), rng.normal(size=(size, 2)), positive(rng, size)
    lower = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(linalg.cholesky(jnp.asarray(matrix)), lower, atol=1e-11)
    np.testing.assert_allclose(
        linalg.solve_lower(jnp.asarray(lower), jnp.asarray(right)), np.linalg.solve(lower, right)
    )
    np.testing.assert_allclose(
        linalg.solve_lower_transposed(jnp.asarray(lower), jnp.asarray(right)), np.linalg.solve(lower.T, right)
    )
    inverse = np.linalg.inv(lower)
    wanted = inverse.T @ symmetric @ inverse
    got = linalg.congruence_lower_inverse(jnp.asarray(lower), jnp.asarray(symmetric))
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
    solved, log_det = linalg.solve_with_log_det(jnp.asarray(matrix[::-1]), jnp.asarray(right))
    np.testing.assert_allclose(solved, np.linalg.solve(matrix[::-1], right), rtol=1e-8, atol=1e-8)
    sign, wanted_log_det = np.linalg.slogdet(matrix[::-1])
    np.testing.assert_allclose(log_det, wanted_log_det if sign > 0 else np.nan, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(linalg.matmul(jnp.asarray(matrix), jnp.asarray(right)), matrix @ right, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 4, 5), (6, 15, 16), (15, 6, 16), (16, 16, 15), (16, 16, 16), (2, 40, 3)])
def test_products_of_every_size_and_their_derivatives_equal_numpy(shape):
    rng = np.random.default_rng(3)
    rows, inner, columns = shape
    left, right, weight = (
        rng.normal(size=(rows, inner)),
        rng.normal(size=(inner, columns)),
        rng.normal(size=(rows, columns)),
    )
    got, pull = jax.vjp(linalg.matmul, jnp.asarray(left), jnp.asarray(right))
    np.testing.assert_allclose(got, left @ right, atol=1e-12)
    for found, wanted in zip(pull(jnp.asarray(weight)), (weight @ right.T, left.T @ weight), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@sizes
@given(seed=seeds)
def test_projection_is_the_positive_part(size, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(size, size))
    matrix = matrix + matrix.T
    values, vectors = np.linalg.eigh(matrix)
    wanted = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(linalg.project_psd(jnp.asarray(matrix)), wanted, atol=1e-12)


def test_projection_leaves_a_positive_matrix_untouched():
    matrix = positive(np.random.default_rng(1), 4)
    assert (np.asarray(linalg.project_psd(jnp.asarray(matrix))) == matrix).all()


@pytest.mark.parametrize("values", [[2.0, 0.5, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 2.0], [3.0, 1.0, 1.0]])
def test_projection_derivative_equals_finite_differences_even_for_repeated_eigenvalues(values):
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    matrix, direction = basis @ np.diag(values) @ basis.T, rng.normal(size=(3, 3))
    direction = direction + direction.T
    _, tangent = jax.jvp(linalg.project_psd, (jnp.asarray(matrix),), (jnp.asarray(direction),))
    step = 1e-6
    forward, backward = (np.asarray(linalg.project_psd(jnp.asarray(matrix + s * direction))) for s in (step, -step))
    np.testing.assert_allclose(tangent, (forward - backward) / (2 * step), atol=1e-6)


def dense_condition(mean, cov, linear, precision):
    grown = jnp.eye(len(mean)) + precision @ cov
    pull = linear - precision @ mean
    log_z = linear @ mean - mean @ precision @ mean / 2 + pull @ cov @ jnp.linalg.solve(grown, pull) / 2
    return (
        jnp.linalg.solve(grown, pull),
        jnp.linalg.solve(grown, precision),
        mean + cov @ jnp.linalg.solve(grown, pull),
        cov - cov @ jnp.linalg.solve(grown, precision) @ cov,
        log_z - jnp.linalg.slogdet(grown)[1] / 2,
    )


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "kind",
    [
        "full",
        "rank one",
        "diagonal with a zero",
        "zero",
        "nearly singular",
        "indefinite",
        "negative",
        "negative with a zero",
    ],
)
@given(seed=seeds)
def test_conditioning_on_scalar_sites_equals_the_dense_formula(size, kind, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    mean, cov, linear, vector = rng.normal(size=size), positive(rng, size), rng.normal(size=size), rng.normal(size=size)
    precision = {
        "full": positive(rng, size),
        "rank one": np.outer(vector, vector),
        "diagonal with a zero": np.diag(np.arange(float(size))),
        "zero": np.zeros((size, size)),
        "nearly singular": np.outer(vector * 10.0 ** -np.arange(size), vector * 10.0 ** -np.arange(size)),
        # One negative direction, half as strong as what the Gaussian can bear; or all of them.
        "indefinite": (basis * np.r_[-0.5 / np.linalg.eigvalsh(cov).max(), np.full(size - 1, 3.0)]) @ basis.T,
        "negative": -0.5 * np.linalg.inv(cov),
        "negative with a zero": -0.1 / np.linalg.eigvalsh(cov).max() * np.diag(np.arange(float(size)) / size),
    }[kind]
    got = condition(*map(jnp.asarray, (mean, cov, linear, precision)))
    for ours, wanted in zip(jax.tree.leaves(got), dense_condition(mean, cov, linear, precision), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-8, atol=1e-8 * np.maximum(1, np.abs(wanted).max()))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("kind", ["zero", "rank one", "zero diagonal"])
def test_derivatives_of_conditioning_are_right_at_singular_sites(size, kind):
    rng = np.random.default_rng(3)
    cov, vector = positive(rng, size), rng.normal(size=size)
    precision = {
        "zero": np.zeros((size, size)),
        "rank one": np.outer(vector, vector),
        "zero diagonal": 0.1 / np.linalg.eigvalsh(cov).max() * (1 - np.eye(size)),
    }[kind]
    start = (rng.normal(size=size), cov, rng.normal(size=size), precision)
    direction = (rng.normal(size=size), positive(rng, size), rng.normal(size=size), positive(rng, size))

    def along(function):
        def at(step):
            moved = [jnp.asarray(here) + step * there for here, there in zip(start, direction, strict=True)]
            return jax.tree.leaves(function(*moved))

        return at

    for derivative in (jax.jacfwd, jax.jacrev, lambda function: jax.jacrev(jax.jacfwd(function))):
        ours, wanted = (derivative(along(function))(0.0) for function in (condition, dense_condition))
        for got, oracle in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(got, oracle, rtol=1e-9, atol=1e-9 * np.abs(oracle).max())


def test_an_improper_result_has_no_normaliser():
    got = condition(jnp.zeros(2), jnp.eye(2), jnp.zeros(2), jnp.diag(jnp.array([1.0, -2.0])))
    assert np.isnan(got.log_normaliser)
