"""Small fields in every layout, with their dense covariances by NumPy alone."""

from dataclasses import dataclass

import numpy as np

import ssep
from ssep.kernels import Matern12, Matern32, Matern52
from tests import oracle

NUM_STEPS = 5
ORDERS = {Matern12: 0, Matern32: 1, Matern52: 2}


@dataclass
class Field:
    """Places (J, R), (n, R) or (n, J, R); terms (latent, temporal, spatial, inducing or None for the exact model)."""

    t: np.ndarray
    r: np.ndarray
    shape: tuple
    terms: list
    conditional: bool = True

    @property
    def prior(self):
        total = None
        num_latents = 1 + max(term[0] for term in self.terms)
        # Terms of one latent after the other, one term of each latent per prior.
        for begin in range(0, len(self.terms), num_latents):
            chosen = self.terms[begin : begin + num_latents]
            part = ssep.SpatioTemporalPrior(
                [term[1] for term in chosen],
                [term[2] for term in chosen],
                tuple(term[3] for term in chosen),
                conditional_variance=self.conditional,
            )
            total = part if total is None else total + part
        return total

    @property
    def flat(self):
        """Times (N,) and places (N, R) of all observations."""
        times = np.broadcast_to(self.t.reshape(-1, *(1,) * (len(self.shape) - 1)), self.shape).ravel()
        return times, np.broadcast_to(self.r, (*self.shape, self.r.shape[-1])).reshape(len(times), -1)

    @property
    def step(self):
        count = len(self.t)
        return np.broadcast_to(np.arange(count).reshape(-1, *(1,) * (len(self.shape) - 1)), self.shape).ravel()

    def covariances(self, t1, r1, t2, r2):
        """Per latent, between two sets of points: what the nodes carry, and all there is."""
        num_latents = 1 + max(term[0] for term in self.terms)
        carried, full = ([0.0] * num_latents for _ in range(2))
        for latent, temporal, spatial, inducing in self.terms:
            in_time = matern(temporal, t1[:, None], t2[:, None])
            everything = in_time * matern(spatial, r1, r2)
            u = self.r if inducing is None else inducing
            through = matern(spatial, r1, u) @ np.linalg.solve(matern(spatial, u, u), matern(spatial, u, r2))
            carried[latent] = carried[latent] + in_time * through
            full[latent] = full[latent] + (everything if self.conditional or inducing is None else in_time * through)
        return carried, full

    def problem(self, y, likelihood, nodes, means=None):
        times, places = self.flat
        carried, full = self.covariances(times, places, times, places)
        extra = np.stack([np.diag(b) - np.diag(a) for a, b in zip(carried, full, strict=True)], -1)
        exact = all(term[3] is None for term in self.terms) or not self.conditional
        count = len(carried)
        return oracle.Problem(
            covariances=carried,
            means=np.zeros((len(times), count)) if means is None else means,
            y=y.ravel(),
            mask=~np.isnan(y.ravel()),
            likelihood=likelihood,
            nodes=nodes,
            group=self.step,
            extra=None if exact else extra,
        )


def matern(kernel, x1, x2):
    scaled = (x1[:, None] - x2[None]) / np.asarray(kernel.lengthscale)
    distances = np.sqrt((scaled**2).sum(-1))
    return oracle.matern(ORDERS[type(kernel)], float(kernel.variance), 1.0, distances.ravel(), 0.0).reshape(
        distances.shape
    )


def draw(layout, seed, num_latents=1):
    """A random field of a named layout."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.2, 1.0, NUM_STEPS))
    t[2] = t[1]
    dims, count, nodes, moving = {
        "grid": (2, 4, None, False),
        "sum": (1, 3, None, False),
        "few places": (2, 3, 5, False),
        "many places": (1, 5, 3, False),
        "one by one": (1, None, 4, True),
        "ragged": (2, 4, 3, True),
        "two by two": (1, 2, 5, True),
    }[layout]
    shape = (NUM_STEPS,) if count is None else (NUM_STEPS, count)
    r = rng.uniform(-2, 2, (*shape, dims) if moving else (count, dims))
    terms = []
    for _ in range(2 if layout == "sum" else 1):
        for latent in range(num_latents):
            temporal = (Matern32, Matern52)[latent](rng.uniform(0.5, 1.5), rng.uniform(0.5, 2))
            spatial = (Matern52, Matern12)[latent](rng.uniform(0.5, 1.5), rng.uniform(0.5, 2, dims))
            inducing = None if nodes is None else rng.uniform(-2, 2, (nodes, dims))
            terms.append((latent, temporal, spatial, inducing))
    return Field(t, r, shape, terms)
