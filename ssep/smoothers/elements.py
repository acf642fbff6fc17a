"""Stretches of time as elements that combine in any grouping: what lets a filter and a smoother run in parallel.

Särkkä and García-Fernández, "Temporal parallelization of Bayesian smoothers", 2021, in natural parameters, for strides
and the adjoint smoother. Nothing is inverted but I + C J, whose eigenvalues are at least one for definite sites.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.conditioning import condition
from ssep.linalg import symmetrise
from ssep.statespace import Dynamics


class Stretch(eqx.Module):
    """The state x' after a stretch given the state x before it, and what its sites say about x.

    x' | x ~ N(A x + b, C), and the sites are worth exp(eta'x - x'J x/2) as a function of x.
    """

    transition: Float[Array, "*stride state state"]
    shift: Float[Array, "*stride state"]
    cov: Float[Array, "*stride state state"]
    linear: Float[Array, "*stride state"]
    precision: Float[Array, "*stride state state"]


def begin(mean: Float[Array, " state"], cov: Float[Array, "state state"]) -> Stretch:
    """What is known before all strides, as a stretch whose end does not depend on its beginning."""
    nothing, none = jnp.zeros_like(cov), jnp.zeros_like(mean)
    return Stretch(nothing, mean, cov, none, nothing)


def stretch(dynamics: Dynamics, inputs: Any) -> Stretch:
    """One stride as a stretch."""
    gap, reading, noise, shared, site = inputs
    met = condition(jnp.zeros_like(site.linear), noise, site.linear, site.precision)
    identity = jnp.eye(reading.shape[1], dtype=reading.dtype)
    seen = met.shrink @ reading
    return Stretch(
        transition=dynamics.advance(gap, identity) - shared @ seen,
        shift=shared @ met.shift,
        cov=symmetrise(dynamics.add_noise(gap, -shared @ met.shrink @ shared.T)),
        linear=reading.T @ met.shift,
        precision=symmetrise(reading.T @ seen),
    )


def join(earlier: Stretch, later: Stretch) -> Stretch:
    """Two stretches, one after the other, as one."""
    size = earlier.shift.shape[-1]
    grown = jnp.eye(size, dtype=earlier.cov.dtype) + earlier.cov @ later.precision
    moved = earlier.shift + _times(earlier.cov, later.linear)
    right = jnp.concatenate([earlier.transition, moved[..., None], earlier.cov], -1)
    solved = later.transition @ jnp.linalg.solve(grown, right)
    slope = later.linear - _times(later.precision, earlier.shift)
    back = jnp.concatenate([slope[..., None], later.precision @ earlier.transition], -1)
    pulled = _transposed(earlier.transition) @ jnp.linalg.solve(_transposed(grown), back)
    return Stretch(
        transition=solved[..., :size],
        shift=solved[..., size] + later.shift,
        cov=symmetrise(solved[..., size + 1 :] @ _transposed(later.transition)) + later.cov,
        linear=pulled[..., 0] + earlier.linear,
        precision=symmetrise(pulled[..., 1:]) + earlier.precision,
    )


class Adjoint(eqx.Module):
    """How the adjoint of the state after a stretch becomes that before it: a <- F'a + v, L <- F'L F + M."""

    transition: Float[Array, "*stride state state"]
    vector: Float[Array, "*stride state"]
    matrix: Float[Array, "*stride state state"]


def adjoint(dynamics: Dynamics, inputs: Any) -> Adjoint:
    """One stride as a map of adjoints."""
    gap, reading, cross, shift, shrink, _ = inputs
    identity = jnp.eye(reading.shape[1], dtype=reading.dtype)
    seen = shrink @ reading
    return Adjoint(dynamics.advance(gap, identity) - cross @ seen, reading.T @ shift, symmetrise(reading.T @ seen))


def join_back(later: Adjoint, earlier: Adjoint) -> Adjoint:
    """First over the later stretch, then over the earlier one."""
    back = _transposed(earlier.transition)
    return Adjoint(
        transition=later.transition @ earlier.transition,
        vector=_times(back, later.vector) + earlier.vector,
        matrix=symmetrise(back @ later.matrix @ earlier.transition) + earlier.matrix,
    )


def _times(matrix: Float[Array, "*batch n m"], vector: Float[Array, "*batch m"]) -> Float[Array, "*batch n"]:
    return jnp.einsum("...ij,...j->...i", matrix, vector)


def _transposed(matrix: Float[Array, "*batch n m"]) -> Float[Array, "*batch m n"]:
    return jnp.swapaxes(matrix, -1, -2)
