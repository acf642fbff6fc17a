"""Streaming equals batch."""

import numpy as np
import pytest

import ssep
from ssep.kernels import Matern12, Matern52
from tests.test_sweep import RULES

RNG = np.random.default_rng(2)
T = np.sort(RNG.uniform(0, 20, 40))
Y = RNG.poisson(np.exp(1 + np.sin(T / 2))).astype(float)
Y[[3, 17, 30]] = np.nan
EXPOSURE = RNG.uniform(0.5, 2, 40)
PRIOR = ssep.SDEPrior(Matern52(0.8, 2.0) + Matern12(0.2, 1.0), mean=lambda t: 0.5 + 0.01 * t)
LIK = ssep.likelihoods.Poisson()


def part(low, high):
    return ssep.Data(T[low:high], Y[low:high], aux=EXPOSURE[low:high])


def first(low, high, rule):
    return ssep.infer(PRIOR, LIK, rule, part(low, high), max_sweeps=0, throw=False)


@pytest.mark.parametrize("rule_name", RULES)
def test_updates_equal_a_first_pass_over_all_data(rule_name):
    rule = RULES[rule_name][0](1.0)
    solution = first(0, 20, rule)
    energies = [solution.energy]
    for low in range(20, 40, 5):
        solution = ssep.update(solution, part(low, low + 5))
        energies.append(solution.energy)
    whole = first(0, 40, rule)
    np.testing.assert_allclose(solution.sites.linear, whole.sites.linear[35:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.sites.precision, whole.sites.precision[35:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.posterior.mean, whole.posterior.mean[35:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.posterior.cov, whole.posterior.cov[35:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.end.cov, whole.end.cov, rtol=0, atol=1e-9)
    # Filter energies are sums over time.
    assert float(sum(energies)) == pytest.approx(float(whole.energy), abs=1e-8)
    t_new = T[-1] + np.array([0.0, 0.7, 5.0])
    streamed, batch = (ssep.predict(s, t_new, joint=True) for s in (solution, whole))
    np.testing.assert_allclose(streamed.f_mean, batch.f_mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(streamed.f_joint_cov, batch.f_joint_cov, rtol=0, atol=1e-9)


def test_refreshing_everything_equals_converged_batch_inference():
    rule = ssep.PowerEP(0.5)
    whole = ssep.infer(PRIOR, LIK, rule, part(0, 40))
    solution = ssep.update(first(0, 30, rule), part(30, 40), refresh=30)
    np.testing.assert_allclose(solution.posterior.mean, whole.posterior.mean, rtol=0, atol=1e-4)
    assert solution.start is None
    assert bool(solution.result == ssep.RESULTS.converged)


def test_refreshing_a_window_comes_closer_to_batch_inference():
    rule = ssep.PowerEP(0.5)
    whole = ssep.infer(PRIOR, LIK, rule, part(0, 40), tol=1e-8)
    errors = []
    for refresh in (0, 5, 20):
        solution = ssep.update(first(0, 35, rule), part(35, 40), refresh=refresh)
        assert solution.data.t.shape == (refresh + 5,)
        errors.append(float(np.abs(solution.posterior.mean[-5:] - whole.posterior.mean[-5:]).max()))
    assert errors[2] < errors[1] < errors[0]


def test_a_stream_of_windows_keeps_its_length_and_compiles_once():
    import jax

    from tests.test_predict import _Compilations

    rule = ssep.CVI()
    solution = ssep.update(first(0, 20, rule), part(20, 22), refresh=6)
    solution = ssep.update(solution, part(22, 24), refresh=6)
    with jax.log_compiles(True), _Compilations() as compiled:
        for low in range(24, 38, 2):
            solution = ssep.update(solution, part(low, low + 2), refresh=6)
    assert solution.data.t.shape == (8,)
    assert [name for name in compiled.names if name in ("_infer", "_forward", "_filter_until")] == []
    # The window begins with what all earlier data said.
    lone = ssep.infer(PRIOR, LIK, rule, part(30, 38))
    assert float(np.abs(lone.posterior.mean - solution.posterior.mean).max()) > 0.01


def test_an_update_that_fails_says_so():
    solution = first(0, 20, ssep.PowerEP())
    far = ssep.Data(T[20:25], np.full(5, 1e6), aux=EXPOSURE[20:25])
    with pytest.raises(RuntimeError, match=r"could not be used|not finite"):
        ssep.update(solution, far, refresh=3)
    quiet = ssep.update(solution, far, refresh=3, throw=False)
    assert not bool(quiet.result == ssep.RESULTS.converged)
    assert int(quiet.num_skipped) > 0


def test_what_does_not_follow_is_refused():
    solution = first(0, 20, ssep.PowerEP())
    with pytest.raises(ValueError, match=r"`update\(data\)` must not begin before"):
        ssep.update(solution, part(10, 15))
    with pytest.raises(ValueError, match=r"`update\(data\)` must have as many observations per step"):
        ssep.update(solution, ssep.Data(T[20:22], Y[20:22]))
    with pytest.raises(ValueError, match="non-negative integer"):
        ssep.update(solution, ssep.Data(T[20:22], [0.5, 1.0], aux=EXPOSURE[20:22]))
    later = ssep.update(solution, part(20, 25))
    with pytest.raises(ValueError, match=r"`predict\(t_new\)` must not lie before"):
        ssep.predict(later, [0.0])
    with pytest.raises(ValueError, match=r"`update\(refresh\)` must be a number of steps"):
        ssep.update(solution, part(20, 25), refresh=-1)
