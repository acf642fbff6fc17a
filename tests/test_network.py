"""Regression networks: products of factors and weights, of which an observation sees those of its own output."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg

import ssep
from ssep.kernels import Matern32, Matern52
from ssep.likelihoods import AmplitudeDemodulation, Gaussian, Outputs, RegressionNetwork
from ssep.likelihoods.base import tilted_by_cubature
from ssep.marginals import Marginals
from tests import oracle
from tests import oracle_likelihoods as dense
from tests.test_sweep import close

DEGREE = 8
NOISES = np.array([0.3, 0.5])


class Products(dense.PartlyLinear):
    """y ~ N(g'f, variance): the network as one of its outputs sees it."""

    def __init__(self, variance, factors):
        self.variance, self.latents = variance, 2 * factors

    def parts(self, g):
        return g, np.full(len(g), self.variance)


class DenseNetwork(dense.OracleLikelihood):
    """The output of an observation takes the place of its exposure; other outputs' weights follow by regression."""

    def __init__(self, variances, factors):
        self.variances, self.factors = variances, factors

    @property
    def own(self):
        first = self.factors * (1 + int(self.exposure))
        return np.r_[: self.factors, first : first + self.factors]

    @property
    def inner(self):
        return Products(self.variances[int(self.exposure)], self.factors)

    @property
    def nodes(self):
        """As many as the library has, for a rule that takes the root of their number for its degree."""
        return None, np.ones(DEGREE ** (2 * self.factors))

    def tilted(self, y, mean, cov, alpha, nodes):
        own = self.own
        corner = cov[np.ix_(own, own)]
        log_z, new_mean, new_cov = self.inner.tilted(y, mean[own], corner, alpha, self.nodes)
        gain = linalg.solve(corner, cov[own]).T
        return log_z, mean + gain @ (new_mean - mean[own]), cov + gain @ (new_cov - corner) @ gain.T

    def expected_log_prob(self, y, mean, cov, nodes):
        own = self.own
        value, slope, curvature = self.inner.expected_log_prob(y, mean[own], cov[np.ix_(own, own)], self.nodes)
        gradient, hessian = np.zeros(len(mean)), np.zeros(cov.shape)
        gradient[own], hessian[np.ix_(own, own)] = slope, curvature
        return value, gradient, hessian

    def mean(self, f):
        factors, weights = np.split(f[:, self.own], 2, axis=1)
        slope = np.zeros_like(f)
        slope[:, self.own] = np.concatenate([weights, factors], 1)
        return np.sum(factors * weights, 1), slope

    def variance_of(self, f):
        return np.full(len(f), self.variances[int(self.exposure)])


FACTORS, STEPS = 2, 5
LATENTS = FACTORS * 3
RULES = {
    "PowerEP": (ssep.PowerEP(0.5, ssep.GaussHermite(DEGREE)), oracle.power_ep),
    "ExtendedEP": (ssep.ExtendedEP(0.5), oracle.extended_ep),
    "StatLinEP": (ssep.StatLinEP(0.5, ssep.GaussHermite(DEGREE)), oracle.stat_lin_ep),
    "CVI": (ssep.CVI(ssep.GaussHermite(DEGREE)), oracle.cvi),
}


@pytest.mark.parametrize("name", RULES)
def test_sweeps_equal_the_dense_oracle(name):
    rule, dense_rule = RULES[name]
    rng = np.random.default_rng(3)
    t, y = np.sort(rng.uniform(0, 4, STEPS)), rng.normal(size=(STEPS, 2))
    mask = np.ones(y.shape, bool)
    mask[2, 0] = mask[3] = False
    hyper, levels = np.exp(rng.normal(0, 0.3, (LATENTS, 2))), rng.normal(0.5, 0.5, LATENTS)
    prior = ssep.SDEPrior(tuple(Matern32(*each) for each in hyper), mean=tuple(levels))
    data = ssep.Data(t, np.where(mask, y, np.nan), aux=Outputs.columns(y))
    problem = oracle.Problem(
        covariances=[oracle.matern(1, *each, t, t) for each in hyper],
        means=np.tile(levels, (STEPS, 1)),
        y=y,
        mask=mask,
        likelihood=DenseNetwork(NOISES, FACTORS),
        # Three nodes are exact for what the regressions ask for: squares of products.
        nodes=oracle.gauss_hermite(3, LATENTS),
        exposure=Outputs.columns(y),
    )
    lik = RegressionNetwork(NOISES, outputs=2, factors=FACTORS)
    wanted_sites, sites = oracle.first_pass(problem, dense_rule), None
    for _ in range(3):
        if name == "PowerEP":
            wanted_energy = oracle.filter_energy_of_rows(problem, wanted_sites)
        wanted, wanted_sites = oracle.sweep(problem, dense_rule, wanted_sites, rule.alpha, 0.5)
        posterior, sites, energy = ssep.sweep(prior, lik, sites, rule, data, step=ssep.Step(0.5))
        seen = mask[:, 0]
        close(posterior.mean[seen, 0], wanted[0][seen])
        close(posterior.cov[seen, 0], wanted[1][seen])
        close(sites.precision[mask], wanted_sites[1][mask])
        if name == "PowerEP":
            close(energy, wanted_energy)


def some_marginal(count, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(count, count)) / 3
    return Marginals(jnp.asarray(rng.normal(0.5, 0.5, count)), jnp.asarray(root @ root.T + 0.2 * np.eye(count)))


def ask(lik, marginal, output=1, degree=20):
    """All that rules and predictions ask for, of one observation."""
    y, aux, rule = jnp.asarray(0.7), jnp.asarray(float(output)), ssep.GaussHermite(degree)
    tilted = lik.tilted(y, marginal, 0.5, aux, rule)
    expected = lik.expected_log_prob(y, marginal, aux, rule)
    moments = lik.predictive_moments(marginal, aux, rule)
    return tilted, lik.regression(marginal, aux, rule), expected, moments


def same(got, wanted, tolerance=1e-10):
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)  # noqa: E731
    jax.tree.map(close, got, wanted)


def test_nodes_for_own_weights_are_the_limit_of_nodes_for_everything():
    lik, marginal = RegressionNetwork([0.8, 1.1], outputs=2, factors=1), some_marginal(3)
    y, aux = jnp.asarray(0.7), jnp.asarray(1.0)
    brute = tilted_by_cubature(lik, y, marginal, 0.5, aux, ssep.GaussHermite(27))
    same(lik.tilted(y, marginal, 0.5, aux, ssep.GaussHermite(60)), brute, 1e-6)
    base = ssep.Likelihood
    whole = base.regression(lik, marginal, aux, ssep.GaussHermite(5))
    same(lik.regression(marginal, aux, ssep.GaussHermite(5)), whole)
    same(
        lik.expected_log_prob(y, marginal, aux, ssep.GaussHermite(5)),
        base.expected_log_prob(lik, y, marginal, aux, ssep.GaussHermite(5)),
    )
    same(
        lik.predictive_moments(marginal, aux, ssep.GaussHermite(5)),
        base.predictive_moments(lik, marginal, aux, ssep.GaussHermite(5)),
    )


def test_nodes_are_needed_for_as_many_dimensions_as_factors():
    lik, marginal = RegressionNetwork(0.5, outputs=20, factors=2), some_marginal(42)
    tilted = lik.tilted(jnp.asarray(0.7), marginal, 1.0, jnp.asarray(13.0), ssep.GaussHermite(20))
    own = np.r_[:2, 28:30]
    others = np.setdiff1d(np.arange(42), own)
    assert (np.asarray(tilted.gradient)[own] != 0).all()
    assert (np.asarray(tilted.gradient)[others] == 0).all()
    assert (np.asarray(tilted.hessian)[others] == 0).all()
    assert lik.node_dims(42) == 2


def test_signs_and_orders_do_not_matter():
    lik, marginal = RegressionNetwork(NOISES, outputs=2, factors=2), some_marginal(6)
    tilted, regression, expected, moments = ask(lik, marginal, degree=60)
    # The second factor and its weights with the other sign; the two factors and their weights the other way round, for
    # which nodes are at other places.
    signs, order = np.diag([1, -1, 1, -1, 1, -1]), np.eye(6)[[1, 0, 3, 2, 5, 4]]
    for move, tolerance in ((signs, 1e-10), (order, 1e-7)):
        moved = Marginals(move @ marginal.mean, move @ marginal.cov @ move.T)
        new_tilted, new_regression, new_expected, new_moments = ask(lik, moved, degree=60)
        same(new_tilted.log_normaliser, tilted.log_normaliser, tolerance)
        same(new_tilted.gradient, move @ tilted.gradient, tolerance)
        same(new_tilted.hessian, move @ tilted.hessian @ move.T, tolerance)
        same(new_regression.slope, move @ regression.slope)
        same((new_regression.mean, new_regression.noise), (regression.mean, regression.noise))
        same((new_expected, new_moments), (expected, moments))
    # The outputs the other way round.
    order = np.array([0, 1, 4, 5, 2, 3])
    moved = Marginals(marginal.mean[order], marginal.cov[order][:, order])
    swapped = ask(RegressionNetwork(NOISES[::-1], outputs=2, factors=2), moved, output=0, degree=60)
    same(swapped[0].hessian, tilted.hessian[order][:, order])
    same(swapped[2:], (expected, moments))


def test_one_output_with_large_weights_is_amplitude_demodulation():
    """The softplus of the amplitudes is the identity there."""
    marginal = some_marginal(4)
    marginal = Marginals(marginal.mean + jnp.array([0.0, 0.0, 40.0, 40.0]), marginal.cov)
    network = ask(RegressionNetwork(0.4, outputs=1, factors=2), marginal, output=0)
    same(network, ask(AmplitudeDemodulation(0.4), marginal), 1e-9)


def test_known_weights_are_a_mixture():
    weights, t = np.array([[1.0], [-0.6]]), np.linspace(0, 5, 8)
    y = np.random.default_rng(0).normal(size=(8, 2))
    data, factor = ssep.Data(t, y, aux=Outputs.columns(y)), Matern32(1.0, 2.0)
    fixed = ssep.kernels.Constant(1e-8)
    network = ssep.infer(
        ssep.SDEPrior((factor, fixed, fixed), mean=(0.0, *weights[:, 0])),
        RegressionNetwork([0.2, 0.4], outputs=2, factors=1),
        ssep.CVI(),
        data,
        # What little is left of the weights makes precisions indefinite; a clipped one would count in full.
        step=ssep.AdaptiveStep(definiteness=ssep.KeepIndefinite()),
    )
    mixture = ssep.infer(ssep.SDEPrior(factor), Outputs((Gaussian(0.2), Gaussian(0.4)), weights), ssep.CVI(), data)
    same(network.posterior.mean[..., :1], mixture.posterior.mean, 1e-5)
    same(network.posterior.cov[..., :1, :1], mixture.posterior.cov, 1e-5)
    same(network.energy, mixture.energy, 1e-5)


def scores(seed):
    """Of readings of the second output that are hidden, by a network and by a mixture, both learned."""
    rng, count = np.random.default_rng(seed), 120
    t = np.arange(float(count))
    factor = np.linalg.cholesky(oracle.matern(1, 1.0, 6.0, t, t) + 1e-9 * np.eye(count)) @ rng.normal(size=count)
    y = np.stack([factor, np.cos(np.pi * t / count) * factor], 1) + 0.2 * rng.normal(size=(count, 2))
    hidden = rng.uniform(size=count) < 0.4
    seen = np.where(hidden[:, None] & [False, True], np.nan, y)
    data = ssep.Data(t, seen, aux=Outputs.columns(seen))
    kernels = (Matern32(1.0, 10.0), Matern52(0.5, 40.0), Matern52(0.5, 40.0))
    network = ssep.SDEPrior(kernels, mean=(0.0, 1.0, 0.5)), RegressionNetwork([0.1, 0.1], outputs=2, factors=1)
    both = Outputs((Gaussian(0.1), Gaussian(0.1)), [[1.0, 0.1], [0.5, 1.0]])
    mixture = ssep.SDEPrior((Matern32(1.0, 10.0), Matern32(1.0, 10.0))), both
    found = []
    for prior, lik in (network, mixture):
        fitted = ssep.fit(prior, lik, ssep.CVI(), data, num_steps=60)
        prediction = ssep.predict(fitted, t[hidden], aux=np.ones(hidden.sum()))
        found.append(-float(np.mean(prediction.log_prob(y[hidden, 1]))))
    return found


def test_a_correlation_that_changes_is_found_where_a_constant_mixture_cannot():
    """The first output tells the second, if the sign of the correlation is known; otherwise only what is near does."""
    network, mixture = scores(0)
    # The noise alone has 0.5 log(2 pi e 0.04) = -0.19.
    assert network < -0.1
    assert mixture > network + 0.2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RegressionNetwork(1.0, outputs=0, factors=1), r"RegressionNetwork\(outputs\)` must be a positive int"),
        (lambda: RegressionNetwork([1.0, 2.0, 3.0], outputs=2, factors=1), r"one for each of 2 outputs; got shape \(3"),
        (lambda: RegressionNetwork(-1.0, outputs=2, factors=1), r"RegressionNetwork\(variance\)` must be positive"),
        (lambda: run(None), r"RegressionNetwork` takes one number per observation, its output"),
        (lambda: run(np.array([0.0, 2.0])), r"RegressionNetwork` needs outputs from 0 to 1 .* got 2.0 at position 1"),
        (lambda: run(np.zeros(2), latents=2), r"RegressionNetwork` needs 3 latents; got a prior with 2"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def run(aux, latents=3):
    prior, data = ssep.SDEPrior((Matern32(),) * latents), ssep.Data([0.0, 1.0], [1.0, 2.0], aux=aux)
    return ssep.sweep(prior, RegressionNetwork(1.0, outputs=2, factors=1), None, ssep.CVI(), data)
