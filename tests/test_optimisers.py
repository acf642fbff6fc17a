"""An optimiser made twice is compiled once."""

import numpy as np
import optax
import pytest

import ssep
from ssep import learning
from ssep.optimisers import recognised

MAKE = {
    "adam": lambda rate: optax.adam(rate),
    "adam with a schedule": lambda rate: optax.adam(optax.exponential_decay(rate, 10, 0.5)),
    "chain": lambda rate: optax.chain(optax.clip(1.0), optax.sgd(rate, momentum=0.9)),
    "lbfgs": lambda rate: optax.lbfgs(rate),
}


@pytest.mark.parametrize("name", MAKE)
def test_what_does_the_same_is_recognised_and_nothing_else(name):
    first, again, other = (recognised(optax.with_extra_args_support(MAKE[name](rate))) for rate in (0.1, 0.1, 0.2))
    assert first is again
    assert first is not other


def test_functions_of_the_user_are_not_guessed_about():
    makers = [lambda: optax.stateless(lambda updates, _: updates) for _ in range(2)]
    one, other = (recognised(make()) for make in makers)
    assert one is not other


def test_a_loop_of_fits_compiles_once():
    t = np.arange(12.0)
    data = ssep.Data(t, np.sin(t))
    prior, lik = ssep.SDEPrior(ssep.kernels.Matern12(1.0, 2.0)), ssep.likelihoods.Gaussian(0.1)
    step = learning._step
    before = step._cached._cache_size()
    for rate in (0.05, 0.05, 0.05):
        ssep.fit(prior, lik, ssep.ExtendedEP(), data, optimiser=optax.adam(rate), num_steps=1)
    assert step._cached._cache_size() == before + 1
