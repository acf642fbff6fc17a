"""How much memory a sweep needs, said before it starts."""

import os

from ssep.checks import require
from ssep.data import Data
from ssep.priors.base import Prior


def required_bytes(prior: Prior, data: Data) -> int:
    """What a filter and a smoother hold at once: per step the cross-covariance and two small matrices, no state's."""
    states, nodes = prior.sizes(data.locations)
    observations = (data.per_step or 1) * prior.num_latents
    targets = min(nodes, observations)
    per_step = targets * (states + 2 * targets) + 12 * observations * prior.num_latents
    return data.y.dtype.itemsize * (data.t.shape[0] * per_step + 8 * states**2)


def check_memory(call: str, prior: Prior, data: Data) -> None:
    """Raise if a sweep cannot fit into this machine's memory."""
    needed = required_bytes(prior, data)
    available = _physical_memory()
    states, nodes = prior.sizes(data.locations)
    require(
        available is None or needed <= available,
        f"{call}(prior, data)",
        "must fit into memory",
        f"{data.t.shape[0]} steps of a state of {states} numbers with {nodes} nodes, which need about "
        f"{needed / 2**30:.3g} GiB of the {(available or 0) / 2**30:.3g} GiB here",
        "Use fewer inducing places, fewer or longer steps, single precision, or `update` for one stretch of time after "
        "the other.",
    )


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None  # not known on this system
