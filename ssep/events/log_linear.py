"""Intensities with a logarithm that is linear between the times of a grid, and events drawn from them."""

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int


class LogLinear(eqx.Module):
    """A positive function of time on segments, in one or more cells: exp of a straight line on each."""

    start: Float[np.ndarray, " segment"]
    end: Float[np.ndarray, " segment"]
    log_left: Float[np.ndarray, "segment *cell"]
    log_right: Float[np.ndarray, "segment *cell"]

    @property
    def bound(self) -> Float[np.ndarray, "segment *cell"]:
        """The maximum on each segment: that of its ends."""
        return np.exp(np.maximum(self.log_left, self.log_right))

    @property
    def integral(self) -> Float[np.ndarray, "segment *cell"]:
        """The integral over each segment."""
        drop = np.abs(self.log_right - self.log_left)
        # (1 - e^-x) / x times the maximum, and its limit at zero.
        share = np.where(drop > 0, -np.expm1(-drop) / np.where(drop > 0, drop, 1), 1)
        return self.bound * share * self._lengths

    def draw(
        self, rng: np.random.Generator, scale: float = 1.0
    ) -> tuple[Float[np.ndarray, " event"], tuple[Int[np.ndarray, " event"], ...]]:
        """Events of a Poisson process with this intensity times a scale, and the indices of their segment and cell.

        Lewis and Shedler (1979): a homogeneous process under the maximum of each segment and cell, of which each event
        stays with the probability of the intensity over the maximum.
        """
        counts = rng.poisson(scale * self.bound * self._lengths)
        index = np.unravel_index(np.repeat(np.arange(counts.size), counts.ravel()), counts.shape)
        share = rng.uniform(size=len(index[0]))
        left, right = self.log_left[index], self.log_right[index]
        log_chance = left + share * (right - left) - np.maximum(left, right)
        stays = -rng.exponential(size=len(share)) < log_chance
        index, share = tuple(axis[stays] for axis in index), share[stays]
        start, end = self.start[index[0]], self.end[index[0]]
        # Rounding must not carry an event out of its segment.
        return np.minimum(start + share * (end - start), end), index

    @property
    def _lengths(self) -> Float[np.ndarray, "segment *one"]:
        return (self.end - self.start).reshape(-1, *(1,) * (self.log_left.ndim - 1))
