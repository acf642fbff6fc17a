"""Likelihoods of the dense oracle: NumPy and SciPy only, derivatives by hand.

Each has `log_prob(y, f)`, its gradient in f, E[y|f] with its gradient, and Var[y|f]; f has shape (points, latents).
"""

import numpy as np
from scipy import special, stats


def softplus(f):
    return np.logaddexp(0, f)


class OracleLikelihood:
    latents = 1
    exposure = 1.0

    def root(self, cov):
        """The root of the covariance with which nodes are placed."""
        return np.linalg.cholesky(cov)

    def tilted(self, y, mean, cov, alpha, nodes):
        """log E[p^alpha] and the tilted moments, by quadrature."""
        z, w = nodes
        factor = np.linalg.cholesky(cov)
        f = mean + z @ factor.T
        log_values = alpha * self.log_prob(y, f)
        top = log_values.max()
        values = w * np.exp(log_values - top)
        total = values.sum()
        tilted_mean = (values @ f) / total
        centred = f - tilted_mean
        return np.log(total) + top, tilted_mean, (centred.T * values) @ centred / total

    def expected_log_prob(self, y, mean, cov, nodes):
        """E[log p] with the gradient and Hessian in the mean, from derivatives of the sum in mean and covariance."""
        z, w = nodes
        factor = np.linalg.cholesky(cov)
        f = mean + z @ factor.T
        gradients = self.gradient(y, f)
        # With L the Cholesky factor, d/dV sum_i w_i log p(m + L z_i) = inv(L)' S inv(L) / 2, where S mirrors the
        # lower triangle of L' sum_i w_i grad_i z_i'.
        moment = factor.T @ ((gradients.T * w) @ z)
        mirrored = np.tril(moment) + np.tril(moment, -1).T
        inverse = np.linalg.inv(factor)
        return w @ self.log_prob(y, f), w @ gradients, inverse.T @ mirrored @ inverse


class Gaussian(OracleLikelihood):
    def __init__(self, variance):
        self.variance = variance

    def log_prob(self, y, f):
        return stats.norm.logpdf(y, f[:, 0], np.sqrt(self.variance))

    def gradient(self, y, f):
        return (y - f) / self.variance

    def mean(self, f):
        return f[:, 0], np.ones_like(f)

    def variance_of(self, f):
        return np.full(len(f), self.variance)

    def tilted(self, y, mean, cov, alpha, nodes):
        noise = self.variance / alpha
        gain = cov[0, 0] / (cov[0, 0] + noise)
        scale = 0.5 * (1 - alpha) * np.log(2 * np.pi * self.variance) - 0.5 * np.log(alpha)
        log_z = stats.norm.logpdf(y, mean[0], np.sqrt(cov[0, 0] + noise)) + scale
        return log_z, mean + gain * (y - mean), cov * (1 - gain)


class Poisson(OracleLikelihood):
    def rate(self, f):
        return self.exposure * np.exp(f[:, 0])

    def rate_slope(self, f):
        return self.rate(f)

    def log_prob(self, y, f):
        return stats.poisson.logpmf(y, self.rate(f))

    def gradient(self, y, f):
        return ((y / self.rate(f) - 1) * self.rate_slope(f))[:, None]

    def mean(self, f):
        return self.rate(f), self.rate_slope(f)[:, None]

    def variance_of(self, f):
        return self.rate(f)

    def expected_log_prob(self, y, mean, cov, nodes):
        rate = self.exposure * np.exp(mean[0] + cov[0, 0] / 2)
        value = y * (mean[0] + np.log(self.exposure)) - rate - special.gammaln(y + 1)
        return value, np.array([y - rate]), np.array([[-rate]])


class PoissonSoftplus(Poisson):
    def rate(self, f):
        return self.exposure * softplus(f[:, 0])

    def rate_slope(self, f):
        return self.exposure * special.expit(f[:, 0])

    expected_log_prob = OracleLikelihood.expected_log_prob


class Bernoulli(OracleLikelihood):
    def log_prob(self, y, f):
        return special.log_expit((2 * y - 1) * f[:, 0])

    def gradient(self, y, f):
        return y - special.expit(f)

    def mean(self, f):
        p = special.expit(f[:, 0])
        return p, (p * (1 - p))[:, None]

    def variance_of(self, f):
        p = special.expit(f[:, 0])
        return p * (1 - p)


class BernoulliProbit(Bernoulli):
    def log_prob(self, y, f):
        return special.log_ndtr((2 * y - 1) * f[:, 0])

    def gradient(self, y, f):
        s = 2 * y - 1
        return s * np.exp(stats.norm.logpdf(f) - special.log_ndtr(s * f))

    def mean(self, f):
        return special.ndtr(f[:, 0]), stats.norm.pdf(f)

    def variance_of(self, f):
        return special.ndtr(f[:, 0]) * special.ndtr(-f[:, 0])

    def tilted(self, y, mean, cov, alpha, nodes):
        if alpha != 1:
            return super().tilted(y, mean, cov, alpha, nodes)
        s, v = 2 * y - 1, cov[0, 0]
        z = s * mean[0] / np.sqrt(1 + v)
        ratio = np.exp(stats.norm.logpdf(z) - special.log_ndtr(z))
        new_mean = mean[0] + s * v * ratio / np.sqrt(1 + v)
        new_var = v - v**2 * ratio / (1 + v) * (z + ratio)
        return special.log_ndtr(z), np.array([new_mean]), np.array([[new_var]])


class PartlyLinear(OracleLikelihood):
    """y ~ N(a(g)'f, v(g)) with latents (f, g): f is integrated out by the formulas for Gaussians, g by nodes."""

    @property
    def linear(self):
        return self.latents // 2

    def root(self, cov):
        order = np.roll(np.arange(self.latents), -self.linear)
        return np.linalg.cholesky(cov[np.ix_(order, order)])[np.argsort(order)]

    def mixture(self, mean, cov, nodes):
        """Nodes of g with weights, the Gaussians of f given each, and a and v there."""
        first, rest = slice(self.linear), slice(self.linear, None)
        degree = round(len(nodes[1]) ** (1 / self.latents))
        z, w = np.polynomial.hermite_e.hermegauss(degree)
        others = self.latents - self.linear
        grid = np.stack(np.meshgrid(*[z] * others, indexing="ij"), -1).reshape(-1, others)
        weights = np.prod(np.stack(np.meshgrid(*[w / w.sum()] * others, indexing="ij"), -1), -1).ravel()
        g = mean[rest] + grid @ np.linalg.cholesky(cov[rest, rest]).T
        gain = np.linalg.solve(cov[rest, rest], cov[rest, first]).T
        given = mean[first] + (g - mean[rest]) @ gain.T
        return g, weights, given, cov[first, first] - gain @ cov[rest, first], *self.parts(g)

    def tilted(self, y, mean, cov, alpha, nodes):
        g, weights, given, left, a, v = self.mixture(mean, cov, nodes)
        spread = np.einsum("pi,ij,pj->p", a, left, a) + v / alpha
        centre = np.sum(a * given, 1)
        # N(y | m, v)^alpha is a multiple of N(y | m, v / alpha).
        scale = 0.5 * (1 - alpha) * np.log(2 * np.pi * v) - 0.5 * np.log(alpha)
        log_values = stats.norm.logpdf(y, centre, np.sqrt(spread)) + scale
        top = log_values.max()
        shares = weights * np.exp(log_values - top)
        total, gains = shares.sum(), (a @ left) / spread[:, None]
        shares = shares / total
        means = np.concatenate([given + gains * (y - centre)[:, None], g], 1)
        tilted_mean = shares @ means
        tilted_cov = ((means - tilted_mean).T * shares) @ (means - tilted_mean)
        own = left - np.einsum("p,pi,pj->ij", shares * spread, gains, gains)
        tilted_cov[: self.linear, : self.linear] += own
        return np.log(total) + top, tilted_mean, tilted_cov

    def expected_log_prob(self, y, mean, cov, nodes):
        def value(mean, cov):
            _, weights, given, left, a, v = self.mixture(mean, cov, nodes)
            square = (y - np.sum(a * given, 1)) ** 2 + np.einsum("pi,ij,pj->p", a, left, a)
            return weights @ (-0.5 * np.log(2 * np.pi * v) - square / (2 * v))

        def slope(function, step):
            near, far = (function(s * step) - function(-s * step) for s in (1, 2))
            return (8 * near - far) / (12 * step)

        unit, size = np.eye(self.latents), 1e-3 * np.sqrt(np.diag(cov))
        gradient = [slope(lambda s, e=e: value(mean + s * e, cov), h) for e, h in zip(unit, size, strict=True)]
        hessian = np.empty((self.latents, self.latents))
        for i, j in np.ndindex(*hessian.shape):
            # Half the Hessian in the mean is the derivative in the covariance, whose two entries move together.
            move = (np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i])) / 2
            hessian[i, j] = 2 * slope(lambda s, move=move: value(mean, cov + s * move), 0.1 * size[i] * size[j] * 1e3)
        return value(mean, cov), np.array(gradient), hessian


class HeteroscedasticGaussian(PartlyLinear):
    latents = 2

    def parts(self, g):
        return np.ones_like(g), softplus(g[:, 0] - 0.5) ** 2

    def scale(self, f):
        return softplus(f[:, 1] - 0.5)

    def log_prob(self, y, f):
        return stats.norm.logpdf(y, f[:, 0], self.scale(f))

    def gradient(self, y, f):
        s, r = self.scale(f), y - f[:, 0]
        return np.stack([r / s**2, (r**2 / s**3 - 1 / s) * special.expit(f[:, 1] - 0.5)], 1)

    def mean(self, f):
        return f[:, 0], np.tile([1.0, 0.0], (len(f), 1))

    def variance_of(self, f):
        return self.scale(f) ** 2


class StudentT(OracleLikelihood):
    def __init__(self, df, scale):
        self.df, self.scale = df, scale

    def log_prob(self, y, f):
        return stats.t.logpdf(y, self.df, f[:, 0], self.scale)

    def gradient(self, y, f):
        r = y - f
        return (self.df + 1) * r / (self.df * self.scale**2 + r**2)

    def mean(self, f):
        return f[:, 0], np.ones_like(f)

    def variance_of(self, f):
        return np.full(len(f), stats.t.var(self.df, 0, self.scale))


class AmplitudeDemodulation(PartlyLinear):
    def __init__(self, variance, components):
        self.variance, self.latents = variance, 2 * components

    def parts(self, g):
        return softplus(g), np.full(len(g), self.variance)

    def mean(self, f):
        carriers, amplitudes = np.split(f, 2, axis=1)
        slope = np.concatenate([softplus(amplitudes), carriers * special.expit(amplitudes)], 1)
        return (carriers * softplus(amplitudes)).sum(1), slope

    def log_prob(self, y, f):
        return stats.norm.logpdf(y, self.mean(f)[0], np.sqrt(self.variance))

    def gradient(self, y, f):
        mean, slope = self.mean(f)
        return ((y - mean) / self.variance)[:, None] * slope

    def variance_of(self, f):
        return np.full(len(f), self.variance)
