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
    dynamics, length = state_space.dynamics, stride_length(state_space)
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


@numba.njit(cache=False)
def _passes(transitions, noises, reading, start, index, linear, precision):
    n, d, s = index.shape[0], reading.shape[0], reading.shape[1]
    mean, cov = np.zeros(s), start.copy()
    means, covs = np.zeros((n, d)), np.zeros((n, d, d))
    crosses, shifts, shrinks = np.zeros((n, s, d)), np.zeros((n, d)), np.zeros((n, d, d))
    for k in range(n):
        a = transitions[index[k]]
        mean = a @ mean
        cov = a @ cov @ a.T + noises[index[k]]
        u = cov @ reading.T
        v = reading @ u
        mu = reading @ mean
        grown = np.eye(d) + precision[k] @ v
        inverse = 1.0 / grown if d == 1 else np.linalg.inv(grown)
        shrink = inverse @ precision[k]
        shift = inverse @ (linear[k] - precision[k] @ mu)
        mean = mean + u @ shift
        cov = cov - u @ shrink @ u.T
        means[k], covs[k], crosses[k], shifts[k], shrinks[k] = mu, v, u, shift, shrink
    vector, matrix = np.zeros(s), np.zeros((s, s))
    for k in range(n - 1, -1, -1):
        u, shrink = crosses[k], shrinks[k]
        vector = vector + reading.T @ (shifts[k] - shrink @ (u.T @ vector))
        c = np.eye(s) - u @ shrink @ reading
        matrix = c.T @ matrix @ c + reading.T @ shrink @ reading
        means[k] += u.T @ vector
        covs[k] -= u.T @ matrix @ u
        a = transitions[index[k]]
        vector = a.T @ vector
        matrix = a.T @ matrix @ a
    return means, covs
