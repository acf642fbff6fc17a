"""The adjoint smoother equals a textbook filter with Rauch-Tung-Striebel smoothing, and the dense posterior."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssep
from ssep.kernels import Cosine, Matern12, Matern32, Matern52, Matern72, Periodic
from tests import oracle

PRIORS = {
    "Matern12": ssep.SDEPrior(Matern12(1.2, 0.8)),
    "Matern72": ssep.SDEPrior(Matern72(0.7, 1.5)),
    "sum": ssep.SDEPrior(Matern52(1.0, 2.0) + Periodic(0.5, 1.0, 1.7, 3) * Matern32(1.0, 5.0), mean=0.3),
    "deterministic": ssep.SDEPrior(Cosine(1.0, 1.3)),
    "two latents": ssep.SDEPrior((Matern32(1.0, 1.0), Matern52(0.5, 2.0)), mean=(0.1, -0.2)),
    "three latents": ssep.SDEPrior((Matern32(1.0, 1.0), Matern12(0.5, 2.0), Matern12(2.0, 0.5))),
}
NUM_STEPS = 12


@eqx.filter_jit
def run(prior, sites, data):
    state_space = prior.discretise(data)
    filtered = ssep.Sequential().filter(state_space, sites)
    return state_space, filtered, ssep.Sequential().smooth(filtered)


def draw(prior, seed):
    """Times with repeats, sites with missing ones."""
    rng = np.random.default_rng(seed)
    d = prior.num_latents
    t = np.sort(rng.uniform(0, 5, NUM_STEPS))
    t[5:7] = t[4]
    factor = rng.normal(size=(NUM_STEPS, d, d)) * (rng.uniform(size=(NUM_STEPS, 1, 1)) < 0.8)
    linear = rng.normal(size=(NUM_STEPS, d)) * (np.abs(factor).sum((1, 2)) > 0)[:, None]
    return ssep.Data(t, np.zeros(NUM_STEPS)), linear, factor @ np.swapaxes(factor, 1, 2)


@pytest.mark.parametrize("name", PRIORS)
@given(seed=st.integers(0, 2**32 - 1))
def test_smoother_equals_dense_posterior(name, seed):
    prior = PRIORS[name]
    data, linear, precision = draw(prior, seed)
    _, filtered, posterior = run(prior, ssep.SiteState(jnp.asarray(linear), jnp.asarray(precision)), data)
    means = [0.0 if prior.means is None else float(prior.means[i]) for i in range(prior.num_latents)]
    problem = oracle.Problem(
        covariances=[np.asarray(kernel.gram(data.t, data.t)) for kernel in prior.kernels],
        means=np.tile(means, (NUM_STEPS, 1)),
        y=np.zeros(NUM_STEPS),
        mask=np.ones(NUM_STEPS, bool),
        likelihood=None,
        nodes=None,
    )
    (mean, cov), log_z = problem.condition(linear, precision)
    predicted_mean, predicted_cov = problem.predictions(linear, precision)
    np.testing.assert_allclose(posterior.mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(posterior.cov, cov, rtol=0, atol=1e-9)
    np.testing.assert_allclose(filtered.predicted.mean, predicted_mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(filtered.predicted.cov, predicted_cov, rtol=0, atol=1e-9)
    np.testing.assert_allclose(filtered.log_normaliser, log_z, rtol=1e-10, atol=1e-9)


def textbook(state_space, linear, precision):
    """Covariance filter and RTS smoother; needs invertible site precisions and predicted covariances."""
    dynamics = state_space.dynamics
    index, h = np.asarray(state_space.gaps.index), np.asarray(dynamics.observation)
    a, q = (np.asarray(part)[index] for part in (dynamics.transitions, dynamics.noises))
    offset = np.zeros((len(index), len(h))) if state_space.view.offset is None else np.asarray(state_space.view.offset)
    mean, cov = np.zeros(h.shape[1]), np.asarray(dynamics.initial_cov)
    means, covs = [], []
    for k in range(len(index)):
        mean, cov = a[k] @ mean, a[k] @ cov @ a[k].T + q[k]
        noise = np.linalg.inv(precision[k])
        gain = cov @ h.T @ np.linalg.inv(h @ cov @ h.T + noise)
        mean = mean + gain @ (noise @ linear[k] - h @ mean - offset[k])
        cov = cov - gain @ h @ cov
        means.append(mean)
        covs.append(cov)
    for k in range(len(index) - 2, -1, -1):
        predicted = a[k + 1] @ covs[k] @ a[k + 1].T + q[k + 1]
        gain = np.linalg.solve(predicted, a[k + 1] @ covs[k]).T
        means[k] = means[k] + gain @ (means[k + 1] - a[k + 1] @ means[k])
        covs[k] = covs[k] + gain @ (covs[k + 1] - predicted) @ gain.T
    return np.array(means) @ h.T + offset, h @ np.array(covs) @ h.T


@pytest.mark.parametrize("name", ["Matern12", "Matern72", "two latents"])
@given(seed=st.integers(0, 2**32 - 1))
def test_adjoint_smoother_equals_rts(name, seed):
    prior = PRIORS[name]
    data, linear, precision = draw(prior, seed)
    precision = precision + np.eye(prior.num_latents)
    state_space, _, posterior = run(prior, ssep.SiteState(jnp.asarray(linear), jnp.asarray(precision)), data)
    mean, cov = textbook(state_space, linear, precision)
    np.testing.assert_allclose(posterior.mean, mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(posterior.cov, cov, rtol=0, atol=1e-7)


def primitives(jaxpr):
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else [value]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from primitives(inner)


LAPACK = {"cholesky", "lu", "eigh", "svd", "qr", "triangular_solve", "custom_linear_solve", "geqrf"}


@pytest.mark.parametrize("rule", [ssep.PowerEP(), ssep.ExtendedEP(), ssep.StatLinEP(), ssep.CVI()])
def test_one_latent_calls_no_lapack_anywhere(rule):
    prior, lik = ssep.SDEPrior(Matern52(1.0, 1.0)), ssep.likelihoods.Poisson()
    data = ssep.Data(np.arange(20.0), np.ones(20))

    def two_sweeps():
        _, sites, _ = ssep.sweep(prior, lik, None, rule, data)
        return ssep.sweep(prior, lik, sites, rule, data)

    used = set(primitives(jax.make_jaxpr(two_sweeps)().jaxpr))
    assert "scan" in used
    assert not used & LAPACK


def test_several_latents_call_no_lapack_inside_a_scan_once_sites_exist():
    prior, lik = PRIORS["two latents"], ssep.likelihoods.HeteroscedasticGaussian()
    data = ssep.Data(np.arange(20.0), np.ones(20))
    _, sites, _ = ssep.sweep(prior, lik, None, ssep.PowerEP(), data)
    jaxpr = jax.make_jaxpr(lambda s: ssep.sweep(prior, lik, s, ssep.PowerEP(), data))(sites).jaxpr

    def scans(inner):
        for equation in inner.eqns:
            for value in equation.params.values():
                body = getattr(value, "jaxpr", value)
                if hasattr(body, "eqns"):
                    yield from [body] if equation.primitive.name == "scan" else scans(body)

    bodies = list(scans(jaxpr))
    assert len(bodies) == 2
    assert not {name for body in bodies for name in primitives(body)} & LAPACK
