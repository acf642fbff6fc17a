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


class HeteroscedasticGaussian(OracleLikelihood):
    latents = 2

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


class AmplitudeDemodulation(OracleLikelihood):
    def __init__(self, variance, components):
        self.variance, self.latents = variance, 2 * components

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
