"""Transition and noise of any linear stochastic differential equation over a gap."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ssep.linalg import symmetrise
from ssep.types import Scalar, StateMatrix

# With the drift times a gap below this, a power series of as many terms is exact to rounding, as is the quadrature.
_SHORT = 0.5
_TERMS = 14
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
ENDLESS = 60
"""As many doublings as no gap needs, however different the rates of a process."""


def integrate(
    drift: StateMatrix, diffusion: StateMatrix, gap: Scalar, doublings: int
) -> tuple[StateMatrix, StateMatrix]:
    """A = exp(F gap) and Q = the integral of exp(F s) D exp(F s)' over the gap, for dx = F x dt + noise of density D.

    A power series and a quadrature over a short piece of the gap, which is then doubled: A becomes A A and Q becomes
    A Q A' + Q. Only positive semi-definite terms are added, so that Q is one whatever the gap. Gaps are cut off where
    `doublings` end, at `_SHORT` 2^doublings over the size of the drift: the state should have forgotten its past there.
    """
    size = jnp.maximum(jnp.max(jnp.sum(jnp.abs(drift), 1)), jnp.finfo(gap.dtype).tiny)
    # The number of doublings jumps; it moves nothing but rounding.
    reach = jax.lax.stop_gradient(size * gap) / _SHORT
    count = jnp.clip(jnp.ceil(jnp.log2(jnp.maximum(reach, 1))), 0, doublings)
    short = jnp.where(reach > 2.0**doublings, _SHORT / size, gap * 2**-count)
    # Without units, so that no power of a rate or of a time overflows.
    scaled = drift * short
    powers = [jnp.eye(drift.shape[0], dtype=drift.dtype)]
    for term in range(1, _TERMS + 1):
        powers.append(powers[-1] @ scaled / term)
    series = jnp.stack(powers)
    # exp(F s) at the end of the piece, and at the nodes in it.
    shares = jnp.asarray((_NODES + 1) / 2, gap.dtype)[:, None] ** jnp.arange(_TERMS + 1)
    pieces = jnp.einsum("nk,kij->nij", shares, series)
    weights = jnp.asarray(_WEIGHTS, gap.dtype) * short / 2
    noise = jnp.einsum("n,nij,jl,nml->im", weights, pieces, diffusion, pieces)

    def double(moments: tuple[StateMatrix, StateMatrix], number: Int[Array, ""]):
        moved, noise = moments
        twice = (moved @ moved, noise + moved @ noise @ moved.T)
        return jax.tree.map(lambda new, old: jnp.where(number < count, new, old), twice, moments), None

    (moved, noise), _ = jax.lax.scan(jax.checkpoint(double), (series.sum(0), noise), jnp.arange(doublings))
    return moved, symmetrise(noise)
