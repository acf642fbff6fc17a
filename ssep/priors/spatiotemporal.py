"""Gaussian processes in space and time: sums of separable terms, each carried by a set of inducing places."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ssep.checks import require
from ssep.data import Data
from ssep.kernels.base import Kernel
from ssep.locations import Locations, as_places
from ssep.priors.base import Part, Prior, begin, spread_latents
from ssep.priors.means import Mean, as_means, mean_at
from ssep.priors.separable import Separable
from ssep.statespace import Belief, Dynamics, StructuredDynamics, WeightedSums
from ssep.types import Scalar

_CALL = "SpatioTemporalPrior"


class SpatioTemporalPrior(Prior):
    """Independent latents with covariances k_t(t, t') k_s(r, r').

    Adding two priors adds their latents one by one: a field that is a sum of separable terms is not separable.

    Args:
        temporal: A kernel in time, or one per latent.
        spatial: A kernel in space, or one per latent.
        inducing: The places, shape (m, R), that carry the field between times: work per step grows with m cubed, or
            with m squared where a step has few observations. A tuple has one array per latent. None is the exact model
            of data at a fixed set of places.
        mean: A number or a function of (t, r), or one per latent; zero if absent.
        conditional_variance: Whether to keep the variance of the field given its inducing places. With it, `CVI` with
            `FreeEnergy` is the sparse variational bound and `PowerEP` the sparse power EP of Bui, Yan and Turner
            (2017); without it, the field is a deterministic function of its inducing places, as in [W20].
    """

    terms: tuple[Separable, ...]
    latents: int = eqx.field(static=True)

    def __init__(
        self,
        temporal: Kernel | Sequence[Kernel],
        spatial: Kernel | Sequence[Kernel],
        inducing: Any = None,
        *,
        mean: Mean | Sequence[Mean] | None = None,
        conditional_variance: bool = True,
    ):
        in_time = _kernels("temporal", temporal)
        in_space = _kernels("spatial", spatial)
        count = max(len(in_time), len(in_space))
        in_time, in_space = (_for_each(kernels, count) for kernels in (in_time, in_space))
        places = inducing if isinstance(inducing, tuple) else (inducing,) * count
        require(
            len(in_time) == len(in_space) == len(places),
            f"{_CALL}(temporal, spatial, inducing)",
            "must be one, or one per latent",
            f"{len(in_time)}, {len(in_space)} and {len(places)}",
            "Give each latent its kernels: `SpatioTemporalPrior((kt1, kt2), (ks1, ks2), inducing)`.",
        )
        means = as_means(_CALL, mean, count) or (None,) * count
        self.latents = count
        self.terms = tuple(
            Separable(
                temporal=kernel_t,
                spatial=kernel_s,
                inducing=None if at is None else as_places(f"{_CALL}(inducing)", at),
                mean=level,
                latent=latent,
                exact=at is None,
                conditional_variance=conditional_variance,
            )
            for latent, (kernel_t, kernel_s, at, level) in enumerate(zip(in_time, in_space, places, means, strict=True))
        )

    def __add__(self, other: "SpatioTemporalPrior") -> "SpatioTemporalPrior":
        """The prior of sums of latents."""
        require(
            isinstance(other, SpatioTemporalPrior) and other.num_latents == self.num_latents,
            f"{_CALL} + other",
            f"needs another `{_CALL}` with {self.num_latents} latents",
            getattr(other, "num_latents", type(other).__name__),
            "Several latents go into one prior: `SpatioTemporalPrior((kt1, kt2), (ks1, ks2), inducing)`.",
        )
        return self._with(self.terms + other.terms, self.latents)

    @property
    def num_latents(self) -> int:
        """The latents per observation."""
        return self.latents

    def check_places(self, call: str, locations: Locations) -> None:
        """Places are needed, in the dimension of the inducing ones; without inducing places they must not move."""
        require(
            locations.r is not None,
            call,
            f"must have places for a `{_CALL}`",
            "none",
            "Give `Data(t, y, r=...)`, with `r` of shape (J, R) or (n, J, R).",
        )
        places = locations.places.shape
        for term in self.terms:
            require(
                term.inducing is not None or not locations.moving,
                f"{_CALL}(inducing)",
                "may be None only for a fixed set of places",
                f"places of shape {places}",
                "Give inducing places, for example a grid or some of the data's.",
            )
            if term.inducing is not None:
                dimensions = term.inducing.shape[1]
                require(
                    dimensions == places[-1],
                    call,
                    f"must have places in {dimensions} dimensions, as the inducing ones",
                    f"{places[-1]} dimensions",
                    "Use the same coordinates for both.",
                )

    def sizes(self, locations: Locations) -> tuple[int, int]:
        """A temporal state and a node for each inducing place of each term."""
        counts = [term.anchored(locations.r).nodes.shape[0] for term in self.terms]
        return sum(term.temporal.state_dim * m for term, m in zip(self.terms, counts, strict=True)), sum(counts)

    def anchored(self, locations: Locations) -> "SpatioTemporalPrior":
        """Without inducing places, the nodes are the data's places."""
        return self._with([term.anchored(locations.r) for term in self.terms], self.latents)

    def dynamics(self, data: Data, start: Belief | None = None) -> Dynamics:
        """A temporal state at each inducing place of each term."""
        for term in self.terms:
            term.check_kernels(_CALL)
        terms = [term.as_type(data.t.dtype) for term in self.terms]

        initial = [term.temporal.state_cov(data.t[0])[..., None] for term in terms]
        begins = np.cumsum([0, *(term.nodes.shape[0] for term in terms)])

        def over(gaps: Float[Array, " gap"]) -> StructuredDynamics:
            bundles = tuple(term.bundle(gaps, int(first)) for term, first in zip(terms, begins[:-1], strict=True))
            return StructuredDynamics(bundles, initial)

        return begin(over, data, start)

    def view(self, locations: Locations) -> WeightedSums:
        """Each observation sees what the inducing places say about its place."""
        dtype, shape = locations.t.dtype, locations.shape
        terms = [term.as_type(dtype) for term in self.terms]
        weights, unresolved = [], [jnp.zeros(shape, dtype) for _ in range(self.num_latents)]
        for term in terms:
            seen, variance = term.view(locations.places, locations.own)
            weights.append(seen[:, None] if locations.moving and locations.per_step is None else seen)
            if variance is not None:
                unresolved[term.latent] += jnp.broadcast_to(variance, shape)
        resolved = all(term.resolves(locations.own) for term in terms)
        return WeightedSums(
            weights=tuple(weights),
            offset=self._offset(locations),
            unresolved=None if resolved else jnp.stack(unresolved, -1),
            latents=tuple(term.latent for term in terms),
            sizes=tuple(term.nodes.shape[0] for term in terms),
            moving=locations.moving,
            per_step=locations.per_step,
            num_latents=self.num_latents,
        )

    def covariance(self, locations: Locations) -> Float[Array, "..."]:
        """Sums of products of covariances in time and in space."""
        times = jnp.repeat(locations.t, locations.per_step or 1)
        shape = (*locations.shape, locations.places.shape[-1])
        places = jnp.broadcast_to(locations.places, shape).reshape(times.shape[0], -1)
        grams = [jnp.zeros((times.shape[0],) * 2, locations.t.dtype)] * self.num_latents
        for term in self.terms:
            grams[term.latent] += term.temporal.gram(times, times) * term.spatial.gram(places, places)
        return spread_latents(grams, locations)

    def residual(self) -> "SpatioTemporalPrior | None":
        """The field less what its nodes say of it."""
        left = [term.residual() for term in self.terms if term.exact or term.conditional_variance]
        return self._with(left, self.latents) if left else None

    def split(self) -> "tuple[SpatioTemporalPrior, tuple[Part, ...]]":
        """Every term as a latent of its own."""
        parts = tuple(Part(term.latent, term) for term in self.terms)
        alone = [term.alone(latent) for latent, term in enumerate(self.terms)]
        return self._with(alone, len(alone)), parts

    @staticmethod
    def _with(terms: Sequence[Separable], latents: int) -> "SpatioTemporalPrior":
        prior = object.__new__(SpatioTemporalPrior)
        object.__setattr__(prior, "terms", tuple(terms))
        object.__setattr__(prior, "latents", latents)
        return prior

    def _offset(self, locations: Locations) -> Float[Array, "time *obs latent"] | None:
        if all(term.mean is None for term in self.terms):
            return None

        def at(t: Scalar, r: Float[Array, " space"]) -> Float[Array, " latent"]:
            levels = jnp.zeros(self.num_latents, t.dtype)
            for term in self.terms:
                if term.mean is not None:
                    levels = levels.at[term.latent].add(mean_at(_CALL, term.mean, t, r))
            return levels

        over_places = at if locations.per_step is None else jax.vmap(at, (None, 0))
        return jax.vmap(over_places, (0, 0 if locations.moving else None))(locations.t, locations.places)


def _kernels(name: str, given: Kernel | Sequence[Kernel]) -> tuple[Kernel, ...]:
    kernels = (given,) if isinstance(given, Kernel) else given
    known = isinstance(kernels, Sequence) and bool(kernels) and all(isinstance(kernel, Kernel) for kernel in kernels)
    require(known, f"{_CALL}({name})", "takes a kernel or a sequence of kernels", given, "See `ssep.kernels`.")
    return tuple(kernels)


def _for_each(kernels: tuple[Kernel, ...], count: int) -> tuple[Kernel, ...]:
    return kernels * count if len(kernels) == 1 else kernels
