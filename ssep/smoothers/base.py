"""What a smoother is: it turns a state space and sites into marginals and a normaliser."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ssep.conditioning import Conditioned
from ssep.marginals import Marginals
from ssep.sites import SiteState
from ssep.statespace import StateSpace
from ssep.types import Scalar, State, StateMatrix


class Filtered(eqx.Module):
    """What a forward pass knows, per step and in function space: memory n s d, never n s s."""

    state_space: StateSpace
    predicted: Marginals
    """f_k given the sites before step k."""
    conditioned: Conditioned
    """f_k given also the site of step k."""
    cross: Float[Array, "time state latent"]
    """Covariance of the predicted state with f_k."""
    last_mean: State
    """The state after the last step, given all sites."""
    last_cov: StateMatrix

    @property
    def log_normaliser(self) -> Scalar:
        """The logarithm of the expected product of all sites under the prior."""
        return jnp.sum(self.conditioned.log_normaliser)


class Smoother(eqx.Module):
    """A way to run the filter and the smoother over time."""

    @abc.abstractmethod
    def filter(self, state_space: StateSpace, sites: SiteState) -> Filtered:
        """The forward pass; sites are per observation."""

    @abc.abstractmethod
    def smooth(self, filtered: Filtered) -> Marginals:
        """The backward pass: marginals of f at each step given all sites."""

    @abc.abstractmethod
    def mean(self, filtered: Filtered, sites: SiteState) -> Float[Array, "time latent"]:
        """Posterior means under sites, one per step, that differ from the filtered ones in their linear parts only.

        Covariances do not depend on those, so that only vectors travel.
        """
