"""Likelihoods that are linear and Gaussian in some latents once the others are known."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp, ndtr
from jaxtyping import Array, Float, PRNGKeyArray

from ssep.cubature import Cubature, Dense
from ssep.likelihoods.base import Likelihood, Regression, Tilted, normalise, tilted_from_moments
from ssep.likelihoods.gaussian import log_normal, log_normal_power
from ssep.linalg import cholesky, solve_lower_transposed
from ssep.marginals import Marginals
from ssep.types import Aux, Latents, Scalar, ScalarLike


class ConditionallyLinear(Likelihood):
    """y ~ N(a(g)'f, v(g)): some latents f enter linearly, given the others g.

    The linear ones are integrated out in closed form, so that cubature runs over the others alone: three latents
    instead of six for `AmplitudeDemodulation` with three components, one instead of two for `HeteroscedasticGaussian`.
    A subclass writes `split` and `given`, and `selection` if an observation depends on some of the latents only. The
    latents that it does depend on come in the order (f, g).
    """

    @abc.abstractmethod
    def split(self, count: int) -> int:
        """How many of so many latents, those of one observation, are linear: the first ones."""

    @abc.abstractmethod
    def given(self, g: Float[Array, " other"], aux: Aux) -> tuple[Float[Array, " linear"], Scalar]:
        """a(g) and v(g)."""

    def selection(self, count: int, aux: Aux) -> Float[Array, "own latent"] | None:
        """Rows with a single one that pick an observation's own latents out of so many; None takes all."""
        return None

    def node_dims(self, count: int) -> int:
        """The linear latents need no nodes."""
        return count - self.split(count)

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        selection = self.selection(f.shape[0], aux)
        f = f if selection is None else jnp.sum(selection * f, -1)
        linear = self.split(f.shape[0])
        weights, variance = self.given(f[linear:], aux)
        return jnp.sum(weights * f[:linear]), variance

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density of y given the latents."""
        return log_normal(y, *self.conditional_moments(f, aux))

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        mean, variance = self.conditional_moments(f, aux)
        return mean + jnp.sqrt(variance) * jax.random.normal(key, (), f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        mean, variance = self.conditional_moments(f, aux)
        return ndtr((y - mean) / jnp.sqrt(variance))

    def tilted(self, y: Scalar, marginal: Marginals, alpha: ScalarLike, aux: Aux, cubature: Cubature) -> Tilted:
        """From the moments of the tilted distribution: a mixture of Gaussians, one for each node."""
        nodes = self._nodes(marginal, aux, cubature)
        log_values = log_normal_power(y, nodes.mean, nodes.spread, nodes.noise, alpha)
        log_normaliser, posterior = normalise(log_values, nodes.weights)
        total = nodes.spread + nodes.noise / alpha
        # Given a node, the whitened linear latents are normal around `pulled`, narrower along `weights`.
        pulled = nodes.direction * ((y - nodes.mean) / total)[:, None]
        z = jnp.concatenate([nodes.z, pulled], 1)
        mean = jnp.sum(posterior[:, None] * z, 0)
        centred = z - mean
        cov = jnp.sum(posterior[:, None, None] * centred[:, :, None] * centred[:, None, :], 0)
        others = nodes.z.shape[1]
        narrowed = jnp.einsum("p,pi,pj->ij", posterior / total, nodes.direction, nodes.direction)
        own = jnp.eye(nodes.direction.shape[1], dtype=cov.dtype) - narrowed
        return nodes.in_order(
            tilted_from_moments(log_normaliser, mean, cov.at[others:, others:].add(own), nodes.factor)
        )

    def expected_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """The linear latents add their spread to the square."""
        nodes = self._nodes(marginal, aux, cubature)
        return jnp.sum(nodes.weights * (log_normal(y, nodes.mean, nodes.noise) - nodes.spread / (2 * nodes.noise)))

    def regression(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> Regression:
        """The linear latents contribute their own direction at every node."""
        nodes = self._nodes(marginal, aux, cubature)
        mean = jnp.sum(nodes.weights * nodes.mean)
        by_others = jnp.sum((nodes.weights * nodes.mean)[:, None] * nodes.z, 0)
        by_linear = jnp.sum(nodes.weights[:, None] * nodes.direction, 0)
        left = nodes.mean - mean - jnp.sum(nodes.z * by_others, -1)
        aside = jnp.sum((nodes.direction - by_linear) ** 2, -1)
        noise = jnp.sum(nodes.weights * (nodes.noise + left**2 + aside))
        slope = solve_lower_transposed(nodes.factor, jnp.concatenate([by_others, by_linear]))
        return Regression(mean, nodes.back(slope), noise)

    def predictive_log_prob(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Cubature over the other latents, with many nodes for one of them."""
        nodes = self._nodes(marginal, aux, self._fine(marginal, cubature))
        return logsumexp(log_normal(y, nodes.mean, nodes.spread + nodes.noise), b=nodes.weights)

    def predictive_moments(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> tuple[Scalar, Scalar]:
        """Cubature over the other latents."""
        nodes = self._nodes(marginal, aux, cubature)
        mean = jnp.sum(nodes.weights * nodes.mean)
        return mean, jnp.sum(nodes.weights * (nodes.spread + nodes.noise + (nodes.mean - mean) ** 2))

    def predictive_cdf(self, y: Scalar, marginal: Marginals, aux: Aux, cubature: Cubature) -> Scalar:
        """Cubature over the other latents."""
        nodes = self._nodes(marginal, aux, self._fine(marginal, cubature))
        return jnp.sum(nodes.weights * ndtr((y - nodes.mean) / jnp.sqrt(nodes.spread + nodes.noise)))

    def _fine(self, marginal: Marginals, cubature: Cubature) -> Cubature:
        return Dense() if self.node_dims(marginal.mean.shape[0]) == 1 else cubature

    def _nodes(self, marginal: Marginals, aux: Aux, cubature: Cubature) -> "_Nodes":
        selection = self.selection(marginal.mean.shape[0], aux)
        marginal = marginal if selection is None else _pick(selection, marginal)
        linear = self.split(marginal.mean.shape[0])
        # The others first, so that the factor of their covariance is the corner of the whole one.
        order = jnp.roll(jnp.arange(marginal.mean.shape[0]), -linear)
        mean, cov = marginal.mean[order], marginal.cov[order][:, order]
        others = mean.shape[0] - linear
        factor = cholesky(cov)
        points = cubature.points(Marginals(mean[:others], cov[:others, :others]))
        weights, noise = jax.vmap(lambda g: self.given(g, aux))(points.f)
        centre = mean[others:] + jnp.sum(points.z[:, None, :] * factor[others:, :others], -1)
        direction = jnp.sum(weights[:, :, None] * factor[others:, others:], 1)
        return _Nodes(
            z=points.z,
            weights=points.weights,
            mean=jnp.sum(weights * centre, -1),
            spread=jnp.sum(direction**2, -1),
            noise=jnp.broadcast_to(noise, points.weights.shape),
            direction=direction,
            factor=factor,
            shift=linear,
            selection=selection,
        )


def _pick(selection: Float[Array, "own latent"], marginal: Marginals) -> Marginals:
    """The Gaussian of an observation's own latents."""
    across = jnp.sum(selection[:, None, :] * marginal.cov, -1)
    return Marginals(jnp.sum(selection * marginal.mean, -1), jnp.sum(across[:, None, :] * selection, -1))


class _Nodes(eqx.Module):
    """Nodes for the other latents, and at each the distribution of y with the linear ones integrated out."""

    z: Float[Array, "points other"]
    weights: Float[Array, " points"]
    mean: Float[Array, " points"]
    spread: Float[Array, " points"]
    """The variance of a'f given g."""
    noise: Float[Array, " points"]
    direction: Float[Array, "points linear"]
    """How a'f depends on the whitened linear latents."""
    factor: Float[Array, "latent latent"]
    """The Cholesky factor of the covariance of (g, f)."""
    shift: int = eqx.field(static=True)
    selection: Float[Array, "own all"] | None

    def back(self, slope: Float[Array, " latent"]) -> Float[Array, " all"]:
        """From the order (g, f) to all latents, with zeros for those that are not the observation's own."""
        slope = jnp.roll(slope, self.shift)
        return slope if self.selection is None else jnp.sum(self.selection * slope[:, None], 0)

    def in_order(self, tilted: Tilted) -> Tilted:
        """The same for a gradient and a Hessian."""
        half = jax.vmap(self.back)(tilted.hessian)
        return Tilted(tilted.log_normaliser, self.back(tilted.gradient), jax.vmap(self.back)(half.T))
