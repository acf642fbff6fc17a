"""Bad input gets one clear sentence: the call, the requirement, what was got, the remedy."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ssep
from ssep.kernels import Constant, Cosine, Matern32, Matern52, Periodic

T, Y = np.arange(5.0), np.array([0.0, 1, 1, 0, 1])
PRIOR = ssep.SDEPrior(Matern52(1.0, 1.0))
TWO = ssep.SDEPrior((Matern52(1.0, 1.0), Matern32(1.0, 1.0)))
BERNOULLI = ssep.likelihoods.Bernoulli()


def sweep(prior=PRIOR, lik=BERNOULLI, sites=None, rule=ssep.PowerEP(), data=None):
    return ssep.sweep(prior, lik, sites, rule, ssep.Data(T, Y) if data is None else data)


CASES = {
    "lengths differ": (lambda: ssep.Data(T, Y[:3]), r"`Data\(t, y\)` must have equal lengths; got 5 times and 3 obs"),
    "t unsorted": (lambda: ssep.Data(T[::-1], Y), r"`Data\(t\)` must not decrease; got 3.0 at position 1 .*argsort"),
    "t not finite": (
        lambda: ssep.Data([0, np.nan, 2], [1, 1, 1]),
        r"`Data\(t\)` must be finite; got nan at position 1",
    ),
    "t of wrong rank": (lambda: ssep.Data(T[:, None], Y), r"`Data\(t\)` must have shape \(n,\)"),
    "y of wrong rank": (lambda: ssep.Data(T, np.zeros((5, 2, 2))), r"`Data\(y\)` must have shape"),
    "y infinite": (lambda: ssep.Data(T, [0, 1, np.inf, 0, 1]), r"`Data\(y\)` must be finite .* got inf at position 2"),
    "empty": (lambda: ssep.Data([], []), r"`Data\(t, y\)` must hold at least one time"),
    "mask shape": (
        lambda: ssep.Data(T, Y, mask=[True]),
        r"`Data\(mask\)` must have the shape of y, \(5,\); got shape \(1,\)",
    ),
    "aux shape": (lambda: ssep.Data(T, Y, aux=np.ones(3)), r"`Data\(aux\)` must begin with the shape of y"),
    "aux not finite": (lambda: ssep.Data(T, Y, aux=np.full(5, np.nan)), r"`Data\(aux\)` must be finite where y is obs"),
    "negative counts": (
        lambda: sweep(lik=ssep.likelihoods.Poisson(), data=ssep.Data(T, Y - 1)),
        r"`Poisson` needs non-negative integer counts in y; got -1.0 at position 0",
    ),
    "fractional counts": (
        lambda: sweep(lik=ssep.likelihoods.Poisson(), data=ssep.Data(T, Y + 0.5)),
        r"`Poisson` needs non-negative integer counts",
    ),
    "no exposure": (
        lambda: sweep(lik=ssep.likelihoods.Poisson(), data=ssep.Data(T, Y, aux=T)),
        r"`Poisson` needs positive exposures .* got 0.0 at position 0",
    ),
    "labels": (lambda: sweep(data=ssep.Data(T, 2 * Y - 1)), r"`Bernoulli` needs labels 0 or 1 in y; got -1.0 at pos"),
    "PowerEP(0)": (
        lambda: ssep.PowerEP(0),
        r"`PowerEP\(alpha\)` must lie in \(0, 1\]; got 0. For the limit use `ssep.CVI`",
    ),
    "PowerEP(2)": (lambda: ssep.PowerEP(2.0), r"`PowerEP\(alpha\)` must lie in \(0, 1\]; got 2.0"),
    "PowerEP(nan)": (lambda: ssep.PowerEP(float("nan")), r"`PowerEP\(alpha\)` must lie in"),
    "ExtendedEP(-1)": (lambda: ssep.ExtendedEP(-1.0), r"`ExtendedEP\(alpha\)` must lie in \[0, 1\]; got -1.0"),
    "StatLinEP(1.1)": (lambda: ssep.StatLinEP(1.1), r"`StatLinEP\(alpha\)` must lie in \[0, 1\]; got 1.1"),
    "Step(0)": (lambda: ssep.Step(0.0), r"`Step\(damping\)` must lie in \(0, 1\]; got 0.0"),
    "PowerEPEnergy(0)": (lambda: ssep.PowerEPEnergy(0.0), r"`PowerEPEnergy\(alpha\)` must lie in \(0, 1\]"),
    "PowerEPEnergy with CVI": (
        lambda: ssep.sweep(PRIOR, BERNOULLI, None, ssep.CVI(), ssep.Data(T, Y), objective=ssep.PowerEPEnergy()),
        r"`PowerEPEnergy\(\)` needs a rule with alpha above 0; got CVI with alpha = 0.0",
    ),
    "variance": (lambda: Matern52(-1.0, 1.0), r"`Matern52\(variance\)` must be positive and finite; got -1.0"),
    "lengthscale": (lambda: Matern52(1.0, 0.0), r"`Matern52\(lengthscale\)` must be positive and finite; got 0.0"),
    "frequency": (lambda: Cosine(1.0, np.inf), r"`Cosine\(frequency\)` must be positive and finite; got inf"),
    "order": (lambda: Periodic(order=-1), r"`Periodic\(order\)` must be a non-negative integer; got -1"),
    "scaling": (lambda: -2.0 * Constant(), r"`Constant\(variance\)` must be positive and finite"),
    "noise": (lambda: ssep.likelihoods.Gaussian(0.0), r"`Gaussian\(variance\)` must be positive and finite"),
    "df": (lambda: ssep.likelihoods.StudentT(np.nan), r"`StudentT\(df\)` must be positive and finite; got nan"),
    "df for linearised rules": (
        lambda: sweep(lik=ssep.likelihoods.StudentT(2.0), rule=ssep.StatLinEP()),
        r"`StudentT\(df\)` must exceed 2 where the variance of y is needed.*Use `PowerEP` or `CVI`",
    ),
    "link": (
        lambda: ssep.likelihoods.Bernoulli(ssep.links.exp),
        r"`Bernoulli\(link\)` must map to probabilities.*logistic",
    ),
    "too many latents": (lambda: sweep(prior=TWO), r"`Bernoulli` needs 1 latent; got a prior with 2"),
    "too few latents": (
        lambda: sweep(lik=ssep.likelihoods.HeteroscedasticGaussian()),
        r"`HeteroscedasticGaussian` needs 2 latents; got a prior with 1. Give `SDEPrior` one kernel.*`\(k1, k2\)`",
    ),
    "odd latents": (
        lambda: sweep(lik=ssep.likelihoods.AmplitudeDemodulation()),
        r"`AmplitudeDemodulation` needs an even number of latents.*got 1",
    ),
    "sites of another shape": (
        lambda: sweep(sites=ssep.SiteState(jnp.zeros((4, 1)), jnp.zeros((4, 1, 1)))),
        r"`sweep\(sites\)` must have linear and precision of shapes \(5, 1\) and \(5, 1, 1\).*got \(4, 1\)",
    ),
    "vector alpha": (
        lambda: sweep(rule=jax.tree.map(lambda leaf: jnp.full(3, leaf), ssep.ExtendedEP(jnp.asarray(0.5)))),
        r"`ExtendedEP\(alpha\)` must be one number; got shape \(3,\).*vmap",
    ),
    "mask of numbers": (lambda: ssep.Data(T, Y, mask=[0.5] * 5), r"`Data\(mask\)` must be boolean"),
    "mean not finite": (
        lambda: ssep.SDEPrior(Matern52(), mean=np.nan),
        r"`SDEPrior\(mean\)` must be finite numbers or fun",
    ),
    "dates": (
        lambda: ssep.Data(np.array(["2020-01-01", "2020-01-02"], "M8[D]"), [1, 2]),
        r"`ssep` works with real numbers; got dates\. Count units from an origin: .*timedelta64",
    ),
    "text": (lambda: ssep.Data(T, ["1"] * 5), r"works with real numbers"),
    "None in y": (lambda: ssep.Data(T, [1.0, None, 2, 3, 4]), r"works with real numbers.*missing values to NaN"),
    "complex": (lambda: ssep.Data(T, Y + 1j), r"works with real numbers"),
    "means": (lambda: ssep.SDEPrior(Matern52(), mean=(0.0, 1.0)), r"`SDEPrior\(mean\)` must be one mean, or one per"),
    "vector mean": (
        lambda: sweep(prior=ssep.SDEPrior(Matern52(), mean=lambda t: jnp.stack([t, t]))),
        r"`SDEPrior\(mean\)` must be a number or a function with one number as its value; got shape \(2,\)",
    ),
    "no kernel": (lambda: ssep.SDEPrior(()), r"`SDEPrior\(kernels\)` takes a kernel or a sequence of kernels"),
    "array of lengthscales": (
        lambda: sweep(prior=jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), PRIOR)),
        r"`SDEPrior\(kernels\)` needs scalar hyperparameters in time; got shapes \[\(2,\)\] in Matern52.*vmap",
    ),
    "gram instead of call": (lambda: Matern52()(np.zeros((2, 2)), 0.0), r"takes two single points.*gram"),
    "plane cosine": (lambda: Cosine()(np.zeros(2), np.ones(2)), r"`Cosine\(x1, x2\)` is defined for points on a line"),
    "degree": (lambda: ssep.GaussHermite(0), r"`GaussHermite\(degree\)` must be an integer from 1 to 100; got 0"),
    "too many points": (
        lambda: ssep.GaussHermite(20).standard(6),
        r"`GaussHermite\(20\)` must have at most 20000 points; got 20\*\*6 = 64000000 for 6 latents. Use `Unscented5",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_name(name):
    call, message = CASES[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        call()


UNDER_JIT = ["lengths differ", "t of wrong rank", "y of wrong rank", "mask shape", "aux shape", "empty"]


@pytest.mark.parametrize("name", UNDER_JIT)
def test_shapes_are_checked_under_jit(name):
    call, message = CASES[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        jax.jit(call)()


def test_values_are_unknown_under_jit_and_not_checked():
    def energy(t, y, lengthscale, alpha):
        return ssep.sweep(
            ssep.SDEPrior(Matern52(1.0, lengthscale)), BERNOULLI, None, ssep.PowerEP(alpha), ssep.Data(t, y)
        )[2]

    assert np.isfinite(jax.jit(energy)(T, Y, 1.0, 0.5))


@pytest.mark.parametrize("name", ["too few latents", "sites of another shape"])
def test_mismatched_shapes_are_found_under_jit(name):
    call, message = CASES[name]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        jax.jit(call)()


def test_support_of_data_known_outside_is_checked_under_jit():
    data = ssep.Data(T, 2 * Y - 1)
    with pytest.raises(ValueError, match="`Bernoulli` needs labels 0 or 1 in y"):
        jax.jit(lambda lengthscale: sweep(prior=ssep.SDEPrior(Matern52(1.0, lengthscale)), data=data))(1.0)


def test_swapped_arguments_are_named():
    """In a process without the type checker of the tests, as a user has it."""
    code = """
import numpy as np, ssep
data = ssep.Data(np.arange(3.0), np.ones(3))
ssep.sweep(ssep.likelihoods.Poisson(), ssep.SDEPrior(ssep.kernels.Matern12()), None, ssep.CVI(), data)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (
        "`sweep(prior)` must be an instance of `Prior`; got a `Poisson`. The call is sweep(prior, lik, sites,"
        in run.stderr
    )
