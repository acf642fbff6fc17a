"""How much memory a filter and a smoother need, said before they start."""

import math
import os

from ssep.checks import require
from ssep.locations import Locations
from ssep.priors.base import Prior
from ssep.smoothers.strides import stride_length

# A derivative holds what a sweep keeps, its cotangent and copies; and, per step of one stretch, some covariances.
_COPIES = 3
_COVARIANCES = 10


def check_memory(call: str, prior: Prior, locations: Locations) -> None:
    """Raise if a sweep over observations cannot fit into this machine's memory."""
    states, nodes = prior.sizes(locations)
    seen = (locations.per_step or 1) * prior.num_latents
    steps = locations.t.shape[0]
    numbers = _numbers(steps, states, min(nodes, seen), seen * prior.num_latents)
    if call == "fit":
        numbers = _COPIES * numbers + _COVARIANCES * math.isqrt(steps) * states**2
    _check(f"{call}(prior, data)", locations, states, nodes, locations.t.dtype.itemsize * numbers)


def check_memory_of_nodes(call: str, prior: Prior, seen: Locations, where: Locations) -> None:
    """Raise if a pass over the nodes at all times, old and new, cannot fit, or what is predicted from it cannot."""
    states, nodes = prior.sizes(seen)
    count, size = seen.t.shape[0] + where.t.shape[0], where.t.dtype.itemsize
    predicted = where.t.shape[0] * (where.per_step or 1) * prior.num_latents
    # The weights of all nodes at each place, times their covariance.
    weighted = 2 * predicted * nodes
    needed = size * (_numbers(count, states, nodes, nodes) + 12 * predicted * prior.num_latents + weighted)
    _check(call, where, states, nodes, needed)


def _numbers(steps: int, states: int, targets: int, entries: int) -> int:
    """Per step the covariance of state and targets and two matrices of targets; a few covariances of the state.

    Strides have more of both: what their targets read of the state, and the noise that they share with it.
    """
    length = stride_length(states, targets)
    kept = states + 2 * targets if length == 1 else 3 * states + 4 * length * targets
    return steps * (targets * kept + 12 * entries) + 8 * states**2


def _check(call: str, locations: Locations, states: int, nodes: int, needed: int) -> None:
    available = _physical_memory()
    require(
        available is None or needed <= available,
        call,
        "must fit into memory",
        f"{locations.t.shape[0]} times, a state of {states} numbers and {nodes} nodes, which need about "
        f"{needed / 2**30:.3g} GiB of the {(available or 0) / 2**30:.3g} GiB here",
        "Use fewer inducing places, fewer times at once, single precision, or `update` for one stretch of time after "
        "the other.",
    )


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None  # not known on this system
