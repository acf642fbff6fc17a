"""How fast a sweep could be: what its arithmetic costs where nothing else does.

For small states a loop in Numba over the same recursions; for others the number of floating point operations over the
rate at which this machine multiplies matrices.
"""

import functools
import time

import jax
import jax.numpy as jnp
import numba  # pyright: ignore[reportMissingImports]
import numpy as np

from ssep.smoothers.strides import stride_length
from ssep.statespace import DenseDynamics, StateSpace, StructuredDynamics


def bound(state_space: StateSpace, linear: np.ndarray, precision: np.ndarray) -> float:
    """Seconds for a filter and a smoother."""
    dynamics = state_space.dynamics
    if isinstance(dynamics, DenseDynamics):
        count = len(dynamics.observation)
        matrices = (dynamics.transitions, dynamics.noises, dynamics.observation, dynamics.initial_cov)
        sites = (linear.reshape(-1, count), precision.reshape(-1, count, count))
        arrays = [np.asarray(each) for each in (*matrices, state_space.gaps.index, *sites)]
        call = functools.partial(_passes, *arrays)
        call()
        return min(_seconds(call) for _ in range(5))
    return _operations(state_space) / _rate()


def _operations(state_space: StateSpace) -> float:
    """Multiplications and additions of both passes, each product counted once."""
    dynamics, length = state_space.dynamics, stride_length(state_space.num_states, state_space.num_targets)
    assert isinstance(dynamics, StructuredDynamics)
    s, q = len(dynamics.initial_mean), length * state_space.num_targets
    small = max(bundle.observation.shape[0] for bundle in dynamics.bundles)
    move, solve = 4 * s * s * small, 8 / 3 * q**3
    if length == 1:
        # On a grid H is cheap: what remains is U Gam U' forward, and L U, U'L U and Gam (.) Gam back.
        return len(state_space.gaps.index) * (2 * move + solve + 4 * s * s * q + 4 * s * q * q + 4 * q**3)
    forward = move + solve + 4 * s * s * q + 4 * s * q * q
    backward = move + 6 * s * s * q + 6 * s * q * q + 8 * q**3
    return -(-len(state_space.gaps.index) // length) * (forward + backward)


def _rate() -> float:
    """Floating point operations per second in a product of two matrices."""
    size = 512
    left = jnp.ones((size, size))
    product = jax.jit(lambda x: x @ x)
    product(left).block_until_ready()
    return 2 * size**3 / min(_seconds(lambda: product(left).block_until_ready()) for _ in range(20))


def _seconds(call) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


@numba.njit(cache=False, fastmath=True)
def _passes(transitions, noises, reading, start, index, linear, precision):
    """Both passes in plain loops; for one latent, or two."""
    n, d, s = index.shape[0], reading.shape[0], reading.shape[1]
    mean, cov, moved, half = np.zeros(s), start.copy(), np.zeros(s), np.zeros((s, s))
    means, covs = np.zeros((n, d)), np.zeros((n, d, d))
    crosses, shifts, shrinks = np.zeros((n, s, d)), np.zeros((n, d)), np.zeros((n, d, d))
    inverse, slope, weighted = np.zeros((d, d)), np.zeros(d), np.zeros((s, d))
    for k in range(n):
        a, q, u, v, shrink = transitions[index[k]], noises[index[k]], crosses[k], covs[k], shrinks[k]
        for i in range(s):
            moved[i] = 0.0
            for j in range(s):
                moved[i] += a[i, j] * mean[j]
                half[i, j] = 0.0
                for m in range(s):
                    half[i, j] += a[i, m] * cov[m, j]
        for i in range(s):
            mean[i] = moved[i]
            for j in range(i + 1):
                total = q[i, j]
                for m in range(s):
                    total += half[i, m] * a[j, m]
                cov[i, j] = cov[j, i] = total
        for e in range(d):
            for i in range(s):
                means[k, e] += reading[e, i] * mean[i]
                for j in range(s):
                    u[i, e] += cov[i, j] * reading[e, j]
        for e in range(d):
            slope[e] = linear[k, e]
            for f in range(d):
                slope[e] -= precision[k, e, f] * means[k, f]
                for i in range(s):
                    v[e, f] += reading[e, i] * u[i, f]
        for e in range(d):
            for f in range(d):
                inverse[e, f] = 1.0 if e == f else 0.0
                for g in range(d):
                    inverse[e, f] += precision[k, e, g] * v[g, f]
        if d == 1:
            inverse[0, 0] = 1.0 / inverse[0, 0]
        else:
            det = inverse[0, 0] * inverse[1, 1] - inverse[0, 1] * inverse[1, 0]
            first = inverse[0, 0]
            inverse[0, 0], inverse[1, 1] = inverse[1, 1] / det, first / det
            inverse[0, 1], inverse[1, 0] = -inverse[0, 1] / det, -inverse[1, 0] / det
        for e in range(d):
            for f in range(d):
                shifts[k, e] += inverse[e, f] * slope[f]
                for g in range(d):
                    shrink[e, f] += inverse[e, g] * precision[k, g, f]
        for i in range(s):
            for e in range(d):
                mean[i] += u[i, e] * shifts[k, e]
                weighted[i, e] = 0.0
                for f in range(d):
                    weighted[i, e] += u[i, f] * shrink[f, e]
        for i in range(s):
            for j in range(s):
                for e in range(d):
                    cov[i, j] -= weighted[i, e] * u[j, e]
    vector, matrix, c, seen = np.zeros(s), np.zeros((s, s)), np.zeros((s, s)), np.zeros(d)
    for k in range(n - 1, -1, -1):
        a, u, shrink = transitions[index[k]], crosses[k], shrinks[k]
        for e in range(d):
            seen[e] = 0.0
            for i in range(s):
                seen[e] += u[i, e] * vector[i]
        for i in range(s):
            for e in range(d):
                weighted[i, e] = 0.0
                for f in range(d):
                    weighted[i, e] += u[i, f] * shrink[f, e]
        for e in range(d):
            step = shifts[k, e]
            for f in range(d):
                step -= shrink[e, f] * seen[f]
            for i in range(s):
                vector[i] += reading[e, i] * step
        for i in range(s):
            for j in range(s):
                c[i, j] = 1.0 if i == j else 0.0
                for e in range(d):
                    c[i, j] -= weighted[i, e] * reading[e, j]
        _congruence(matrix, c, half)
        for i in range(s):
            for j in range(s):
                for e in range(d):
                    for f in range(d):
                        matrix[i, j] += reading[e, i] * shrink[e, f] * reading[f, j]
        for e in range(d):
            for i in range(s):
                means[k, e] += u[i, e] * vector[i]
                for j in range(s):
                    for f in range(d):
                        covs[k, e, f] -= u[i, e] * matrix[i, j] * u[j, f]
        for i in range(s):
            moved[i] = 0.0
            for j in range(s):
                moved[i] += a[j, i] * vector[j]
        vector[:] = moved
        _congruence(matrix, a, half)
    return means, covs


@numba.njit(cache=False, fastmath=True)
def _congruence(matrix, outer, half):
    """A symmetric matrix between a transposed and a plain one, in place."""
    s = matrix.shape[0]
    for i in range(s):
        for j in range(s):
            half[i, j] = 0.0
            for m in range(s):
                half[i, j] += matrix[i, m] * outer[m, j]
    for i in range(s):
        for j in range(i + 1):
            total = 0.0
            for m in range(s):
                total += outer[m, i] * half[m, j]
            matrix[i, j] = matrix[j, i] = total
