"""A dense Gaussian process that redoes every step of the library with full matrices: NumPy and SciPy only.

Sites are updated as in the paper, in terms of means and covariances and for each alpha, so that the library's natural
parameter forms are checked against other algebra.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, special


def gauss_hermite(degree, dim):
    x, w = special.roots_hermitenorm(degree)
    grid = np.stack(np.meshgrid(*[x] * dim, indexing="ij"), -1).reshape(-1, dim)
    weights = np.prod(np.stack(np.meshgrid(*[w / w.sum()] * dim, indexing="ij"), -1).reshape(-1, dim), 1)
    return grid, weights


def matern(order, variance, lengthscale, t1, t2):
    """Closed forms of the Matern family, Rasmussen and Williams (2006), section 4.2.1."""
    r = np.abs(np.subtract.outer(t1, t2)) / lengthscale
    u = np.sqrt(2 * order + 1) * r
    polynomial = [1, 1 + u, 1 + u + u**2 / 3, 1 + u + 2 * u**2 / 5 + u**3 / 15][order]
    return variance * polynomial * np.exp(-u)


@dataclass
class Problem:
    """Independent latents with the given covariance matrices and means at n steps; y is (n,) or (n, J)."""

    covariances: list  # of (n, n), one per latent
    means: np.ndarray  # (n, d)
    y: np.ndarray
    mask: np.ndarray
    likelihood: object
    nodes: tuple
    exposure: np.ndarray | None = None
    group: np.ndarray | None = None  # (n,), the step of each observation where several y's of a field share one
    extra: np.ndarray | None = None  # (n, d), variances on top of the latents that sites are about

    @property
    def n(self):
        return len(self.y)

    @property
    def d(self):
        return len(self.covariances)

    @property
    def step(self):
        return np.arange(self.n) if self.group is None else self.group

    def widen(self, index, cov):
        """A covariance with the variance that is on top."""
        return cov if self.extra is None else cov + np.diag(self.extra[index])

    def prior(self):
        """Mean (n d,) and covariance (n d, n d), latents of one step next to each other."""
        cov = np.zeros((self.n, self.d, self.n, self.d))
        for i, matrix in enumerate(self.covariances):
            cov[:, i, :, i] = matrix
        return self.means.ravel(), cov.reshape(self.n * self.d, -1)

    def per_step(self, linear, precision):
        return (linear.sum(1), precision.sum(1)) if self.y.ndim == 2 else (linear, precision)

    def condition(self, linear, precision):
        """Posterior marginals (n, d), (n, d, d) and log of the normaliser, for sites per step."""
        mean, cov = self.prior()
        joint = linalg.block_diag(*precision)
        grown = np.eye(len(mean)) + cov @ joint
        new_cov = np.linalg.solve(grown, cov)
        pull = linear.ravel() - joint @ mean
        new_mean = mean + new_cov @ pull
        log_z = linear.ravel() @ mean - mean @ joint @ mean / 2 + pull @ new_cov @ pull / 2
        log_z -= np.linalg.slogdet(grown)[1] / 2
        return self.marginals(new_mean, new_cov), log_z

    def marginals(self, mean, cov):
        blocks = cov.reshape(self.n, self.d, self.n, self.d)
        return mean.reshape(self.n, self.d), np.stack([blocks[k, :, k] for k in range(self.n)])

    def predictions(self, linear, precision):
        """Marginals of each step given the sites before it, one dense conditioning per step."""
        means, covs = [], []
        for k in range(self.n):
            before = self.step < self.step[k]
            (mean, cov), _ = self.condition(linear * before[:, None], precision * before[:, None, None])
            means.append(mean[k])
            covs.append(cov[k])
        return np.array(means), np.array(covs)

    def observed(self):
        """Indices of the observations that are there: (k,) or (k, j)."""
        return [tuple(index) for index in np.argwhere(self.mask)]

    def at(self, index):
        """The likelihood for one observation."""
        if self.exposure is not None:
            self.likelihood.exposure = self.exposure[index]
        return self.likelihood


def cavity(mean, cov, linear, precision, alpha):
    inverse = np.linalg.inv(cov)
    new = np.linalg.inv(inverse - alpha * precision)
    return new @ (inverse @ mean - alpha * linear), new


def from_derivatives(gradient, hessian, mean, cov, alpha):
    """The power EP site from gradient and Hessian of the log normaliser."""
    grown = np.eye(len(mean)) + hessian @ cov
    precision = -np.linalg.solve(grown, hessian) / alpha
    return np.linalg.solve(grown, gradient) / alpha + precision @ mean, precision


def power_ep(lik, y, mean, cov, alpha, nodes):
    _, new_mean, new_cov = lik.tilted(y, mean, cov, alpha, nodes)
    # Exactly symmetric inverses: division by alpha would feed a skew rounding error back, larger with every sweep.
    before, after = (np.linalg.inv(matrix) for matrix in (cov, new_cov))
    before, after = (before + before.T) / 2, (after + after.T) / 2
    return (after @ new_mean - before @ mean) / alpha, (after - before) / alpha


def extended_ep(lik, y, mean, cov, alpha, nodes):
    value, slope = lik.mean(mean[None])
    noise, jac, residual = lik.variance_of(mean[None])[0], slope, y - value
    if alpha == 0:
        return jac.T @ (residual + jac @ mean) / noise, jac.T @ jac / noise
    spread = noise + alpha * jac @ cov @ jac.T
    return from_derivatives(
        alpha * jac.T @ np.linalg.solve(spread, residual),
        -alpha * jac.T @ np.linalg.solve(spread, jac),
        mean,
        cov,
        alpha,
    )


def stat_lin_ep(lik, y, mean, cov, alpha, nodes):
    z, w = nodes
    f = mean + z @ lik.root(cov).T
    values = lik.mean(f)[0]
    mu = w @ values
    innovation = w @ ((values - mu) ** 2 + lik.variance_of(f))
    cross = ((f - mean).T * w) @ (values - mu)
    omega = np.linalg.solve(cov, cross)[None]
    if alpha == 0:
        noise = innovation - cross @ omega[0]
        return omega[0] * (y - mu + omega[0] @ mean) / noise, omega.T @ omega / noise
    spread = innovation + (alpha - 1) * cross @ omega[0]
    return from_derivatives(alpha * omega[0] * (y - mu) / spread, -alpha * omega.T @ omega / spread, mean, cov, alpha)


def cvi(lik, y, mean, cov, alpha, nodes):
    _, gradient, hessian = lik.expected_log_prob(y, mean, cov, nodes)
    return gradient - hessian @ mean, -hessian


def clip(linear, precision, expansion):
    """Positive part of the precision, gradient at the expansion point kept."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    if values.min() >= 0:
        return linear, precision
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    return linear - precision @ expansion + clipped @ expansion, clipped


def target(problem, rule, index, mean, cov, alpha):
    """The rule's site; with a variance on top of the latents, by the derivatives that it has in their mean."""
    total = problem.widen(index, cov)
    linear, precision = rule(problem.at(index), problem.y[index], mean, total, alpha, problem.nodes)
    if problem.extra is None or alpha == 0:
        return linear, precision
    grown = np.eye(len(mean)) + alpha * precision @ total
    gradient = np.linalg.solve(grown, alpha * (linear - precision @ mean))
    return from_derivatives(gradient, -np.linalg.solve(grown, alpha * precision), mean, cov, alpha)


def first_pass(problem, rule):
    linear = np.zeros((*problem.y.shape, problem.d))
    precision = np.zeros((*linear.shape, problem.d))
    for step in np.unique(problem.step):
        means, covs = problem.predictions(*problem.per_step(linear, precision))
        for index in [index for index in problem.observed() if problem.step[index[0]] == step]:
            mean, cov = means[index[0]], covs[index[0]]
            linear[index], precision[index] = clip(
                *target(problem, rule, index, mean, cov, float(rule is not cvi)), mean
            )
    return linear, precision


def sweep(problem, rule, sites, alpha, damping):
    """Posterior under the sites and the refreshed sites."""
    linear, precision = sites
    (means, covs), _ = problem.condition(*problem.per_step(linear, precision))
    new_linear, new_precision = np.zeros_like(linear), np.zeros_like(precision)
    for index in problem.observed():
        mean, cov = cavity(means[index[0]], covs[index[0]], linear[index], precision[index], alpha)
        wanted = clip(*target(problem, rule, index, mean, cov, alpha), mean)
        new_linear[index] = (1 - damping) * linear[index] + damping * wanted[0]
        new_precision[index] = (1 - damping) * precision[index] + damping * wanted[1]
    return (means, covs), (new_linear, new_precision)


def log_site(mean, cov, linear, precision):
    """log E[exp(b'f - f'Lam f / 2)]."""
    grown = np.eye(len(mean)) + precision @ cov
    pull = linear - precision @ mean
    return (
        linear @ mean - mean @ precision @ mean / 2 + pull @ cov @ np.linalg.solve(grown, pull) / 2
    ) - np.linalg.slogdet(grown)[1] / 2


def log_power(lik, y, mean, cov, alpha, nodes, linearised):
    """log E[p^alpha], of the likelihood or of its linearisation at the mean."""
    if not linearised:
        return lik.tilted(y, mean, cov, alpha, nodes)[0]
    value, slope = lik.mean(mean[None])
    noise = lik.variance_of(mean[None])[0]
    spread = (slope @ cov @ slope.T)[0, 0] + noise / alpha
    power = 0.5 * (1 - alpha) * np.log(2 * np.pi * noise) - 0.5 * np.log(alpha)
    return power - 0.5 * np.log(2 * np.pi * spread) - 0.5 * (y - value[0]) ** 2 / spread


def filter_energy(problem, sites, linearised=False):
    means, covs = problem.predictions(*problem.per_step(*sites))
    return -sum(
        log_power(
            problem.at(i), problem.y[i], means[i[0]], problem.widen(i, covs[i[0]]), 1.0, problem.nodes, linearised
        )
        for i in problem.observed()
    )


def filter_energy_of_field(problem, sites, linearised=False):
    """The filter energy where steps are groups: each observation scored given its step's others and all before."""
    linear, precision = sites
    total = problem.condition(linear, precision)[1]
    for (k,) in problem.observed():
        keep = problem.step <= problem.step[k]
        keep[k] = False
        (means, covs), _ = problem.condition(linear * keep[:, None], precision * keep[:, None, None])
        wide = problem.widen(k, covs[k])
        total += log_power(problem.at((k,)), problem.y[k], means[k], wide, 1.0, problem.nodes, linearised)
        total -= log_site(means[k], covs[k], linear[k], precision[k])
    return -total


def filter_energy_of_rows(problem, sites):
    """The filter energy of (n, J) observations: each scored under the prediction and its step's other sites."""
    linear, precision = sites
    total = problem.condition(*problem.per_step(linear, precision))[1]
    for k, j in problem.observed():
        keep = np.zeros(problem.y.shape)
        keep[: k + 1] = 1
        keep[k, j] = 0
        others = problem.per_step(linear * keep[..., None], precision * keep[..., None, None])
        (means, covs), _ = problem.condition(*others)
        score = log_power(problem.at((k, j)), problem.y[k, j], means[k], covs[k], 1.0, problem.nodes, False)
        total += score - log_site(means[k], covs[k], linear[k, j], precision[k, j])
    return -total


def power_ep_energy(problem, sites, alpha, linearised=False):
    (means, covs), total = problem.condition(*problem.per_step(*sites))
    for i in problem.observed():
        linear, precision = sites[0][i], sites[1][i]
        mean, cov = cavity(means[i[0]], covs[i[0]], linear, precision, alpha)
        ratio = log_power(problem.at(i), problem.y[i], mean, problem.widen(i, cov), alpha, problem.nodes, linearised)
        total += (ratio - log_site(mean, cov, alpha * linear, alpha * precision)) / alpha
    return -total


def free_energy(problem, sites, linearised=False):
    (means, covs), total = problem.condition(*problem.per_step(*sites))
    for i in problem.observed():
        mean, cov, linear, precision = means[i[0]], covs[i[0]], sites[0][i], sites[1][i]
        wide = problem.widen(i, cov)
        if linearised:
            value, slope = problem.at(i).mean(mean[None])
            noise = problem.at(i).variance_of(mean[None])[0]
            expected = (
                -0.5 * np.log(2 * np.pi * noise)
                - 0.5 * ((problem.y[i] - value[0]) ** 2 + (slope @ wide @ slope.T)[0, 0]) / noise
            )
        else:
            expected = problem.at(i).expected_log_prob(problem.y[i], mean, wide, problem.nodes)[0]
        total += expected - linear @ mean + np.sum(precision * (cov + np.outer(mean, mean))) / 2
    return -total
