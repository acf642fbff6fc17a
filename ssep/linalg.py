"""Small dense linear algebra, written so that nothing calls LAPACK for the few latents of one observation.

A LAPACK call costs microseconds, more than everything else in a filter step with a small state, so matrices up to
`UNROLL_LIMIT` are unrolled into scalar operations that XLA fuses. All functions take one matrix; batch with `vmap`.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import lu_factor, lu_solve
from jaxtyping import Array, Float

UNROLL_LIMIT = 8
# Multiplications from which on a library is faster than a loop that XLA writes.
_MANY = 4096


def matmul(left: Float[Array, "rows inner"], right: Float[Array, "inner columns"]) -> Float[Array, "rows columns"]:
    """Matrix product without a library call where it is small, which is what a scan on a CPU runs fastest.

    A fused sum of outer products if no side is above `UNROLL_LIMIT`, else a sum over one axis.
    """
    if max(*left.shape, *right.shape) <= UNROLL_LIMIT:
        return _small_matmul(left, right)
    if left.shape[0] * right.size < _MANY:
        return jnp.sum(left[:, :, None] * right, 1)
    return left @ right


@jax.custom_jvp
def _small_matmul(
    left: Float[Array, "rows inner"], right: Float[Array, "inner columns"]
) -> Float[Array, "rows columns"]:
    later = (left[:, i, None] * right[None, i, :] for i in range(1, left.shape[1]))
    return sum(later, left[:, 0, None] * right[None, 0])


@_small_matmul.defjvp
def _small_matmul_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    """By reductions: on the way back, the slices of the value would each become a matrix full of zeros."""
    (left, right), (d_left, d_right) = primals, tangents
    return _small_matmul(left, right), jnp.sum(d_left[:, :, None] * right + left[:, :, None] * d_right, 1)


def symmetrise(matrix: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
    """The symmetric part of a matrix."""
    return (matrix + jnp.swapaxes(matrix, -1, -2)) / 2


def cholesky(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Lower Cholesky factor."""
    size = matrix.shape[0]
    if size > UNROLL_LIMIT:
        return jnp.linalg.cholesky(matrix)
    rows: list[list[Array]] = []
    for i in range(size):
        row: list[Array] = []
        for j in range(i + 1):
            rest = matrix[i, j] - sum(row[k] * (rows[j][k] if j < i else row[k]) for k in range(j))
            row.append(jnp.sqrt(rest) if i == j else rest / rows[j][j])
        rows.append(row)
    zero = jnp.zeros((), matrix.dtype)
    return jnp.stack([jnp.stack(row + [zero] * (size - len(row))) for row in rows])


def solve_lower(lower: Float[Array, "n n"], right: Float[Array, "n *columns"]) -> Float[Array, "n *columns"]:
    """Solve `lower @ x = right` by forward substitution."""
    size = lower.shape[0]
    if size > UNROLL_LIMIT:
        return jax.scipy.linalg.solve_triangular(lower, right, lower=True)
    solved: list[Array] = []
    for i in range(size):
        solved.append((right[i] - sum(lower[i, j] * solved[j] for j in range(i))) / lower[i, i])
    return jnp.stack(solved)


def solve_lower_transposed(lower: Float[Array, "n n"], right: Float[Array, "n *columns"]) -> Float[Array, "n *columns"]:
    """Solve `lower.T @ x = right`, by forward substitution in reversed order."""
    return solve_lower(lower.T[::-1, ::-1], right[::-1])[::-1]


def congruence_lower_inverse(lower: Float[Array, "n n"], matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """`inv(lower).T @ matrix @ inv(lower)` for a symmetric matrix: from whitened coordinates to precisions."""
    half = solve_lower_transposed(lower, matrix)
    return symmetrise(solve_lower_transposed(lower, half.T))


def solve_with_log_det(
    matrix: Float[Array, "n n"], right: Float[Array, "n columns"]
) -> tuple[Float[Array, "n columns"], Float[Array, ""]]:
    """Solve `matrix @ x = right` and give log det(matrix), NaN if the determinant is not positive.

    Gauss-Jordan elimination with partial pivoting; rows stay where they are and are marked as used.
    """
    size = matrix.shape[0]
    if size > UNROLL_LIMIT:
        factors = lu_factor(matrix)
        diagonal, swapped = jnp.diagonal(factors[0]), factors[1] != jnp.arange(size)
        positive = jnp.sum(diagonal < 0) % 2 == jnp.sum(swapped) % 2
        log_det = jnp.where(positive, jnp.sum(jnp.log(jnp.abs(diagonal))), jnp.nan)
        return lu_solve(factors, right), log_det
    if size == 1:
        return right / matrix, jnp.log(matrix[0, 0])
    table = jnp.concatenate([matrix, right], 1)
    unused, pivots, places = jnp.ones(size, bool), [], []
    for column in range(size):
        place = jnp.argmax(jnp.where(unused, jnp.abs(table[:, column]), -1))
        pivots.append(table[place, column])
        places.append(place)
        row = table[place] / pivots[-1]
        here = jnp.arange(size) == place
        table = jnp.where(here[:, None], row, table - table[:, column, None] * row)
        unused = unused & ~here
    # The determinant is the product of the pivots, with the sign of the order in which the rows were used.
    swaps = sum((places[i] > places[j]).astype(int) for i in range(size) for j in range(i + 1, size))
    positive = (jnp.prod(jnp.sign(jnp.stack(pivots))) > 0) == (swaps % 2 == 0)
    log_det = jnp.sum(jnp.log(jnp.abs(jnp.stack(pivots))))
    return table[jnp.stack(places), size:], jnp.where(positive, log_det, jnp.nan)


@jax.custom_jvp
def project_psd(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The nearest positive semi-definite matrix: negative eigenvalues become zero.

    A matrix that is positive semi-definite already comes back unchanged, bit for bit. The derivative is the
    divided-difference form, which stays finite for repeated eigenvalues, where that of `eigh` does not.
    """
    if matrix.shape[0] == 1:
        return jnp.maximum(matrix, 0)
    values, vectors = jnp.linalg.eigh(matrix)
    projected = (vectors * jnp.maximum(values, 0)) @ vectors.T
    return jnp.where(values[0] >= 0, matrix, projected)


@project_psd.defjvp
def _project_psd_jvp(
    primals: tuple[Float[Array, "n n"]], tangents: tuple[Float[Array, "n n"]]
) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    (matrix,), (tangent,) = primals, tangents
    if matrix.shape[0] == 1:
        return project_psd(matrix), jnp.where(matrix >= 0, tangent, 0)
    values, vectors = jnp.linalg.eigh(matrix)
    kept = jnp.maximum(values, 0)
    difference = values[:, None] - values[None, :]
    same_sign = (values[:, None] >= 0) == (values[None, :] >= 0)
    ratio = (kept[:, None] - kept[None, :]) / jnp.where(same_sign, 1, difference)
    weights = jnp.where(same_sign, (values >= 0)[:, None], ratio)
    return project_psd(matrix), vectors @ (weights * (vectors.T @ tangent @ vectors)) @ vectors.T


def root_psd(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """A root R with R R' = matrix, for a positive semi-definite matrix that may be singular or zero."""
    if matrix.shape[0] == 1:
        return jnp.sqrt(jnp.maximum(matrix, 0))
    values, vectors = jnp.linalg.eigh(matrix)
    return vectors * jnp.sqrt(jnp.maximum(values, 0))
