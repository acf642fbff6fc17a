"""Posterior and gradient from one backward pass, against `sweep` and its gradient."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from tasks import TASKS

import ssep
from ssep.schedules import Guess, Setting

# An energy that needs one pass back, and one that reads the posterior.
TOGETHER = {
    "FilterEnergy": (ssep.ExtendedEP(1.0), ssep.FilterEnergy()),
    "FreeEnergy": (ssep.CVI(), ssep.FreeEnergy()),
}


def compiled(function: Callable[[ssep.Prior, ssep.SiteState], Any], prior: ssep.Prior, sites: ssep.SiteState) -> Any:
    """A call of the function, compiled in terms of arrays as part of a user's own program would be."""
    arrays, rest = eqx.partition(prior, eqx.is_array)
    run = jax.jit(lambda arrays, sites: function(eqx.combine(arrays, rest), sites))
    return partial(run, arrays, sites)


def buffers(call: Any) -> float:
    """What a compiled program needs besides its arguments, in MB."""
    sizes = call.func.lower(*call.args).compile().memory_analysis()
    return (sizes.temp_size_in_bytes + sizes.output_size_in_bytes) / 1e6


def one_together(name: str) -> dict[str, Any]:
    """Posterior and gradient separately, together, and in a step of `fit`, in turns with a sweep."""
    task, found = TASKS[name](), {}
    for label, (rule, objective) in TOGETHER.items():
        sites = jax.block_until_ready(ssep.sweep(task.prior, task.likelihood, None, rule, task.data)[1])
        setting = Setting(rule, task.data, ssep.Sequential(), ssep.AdaptiveStep(), objective)
        options = {"objective": objective}

        def swept(prior, sites, rule=rule, options=options):
            return ssep.sweep(prior, task.likelihood, sites, rule, task.data, **options)

        def separately(prior, sites, swept=swept):
            def energy(prior):
                posterior, moved, value = swept(prior, sites)
                return value, (posterior, moved)

            return eqx.filter_value_and_grad(energy, has_aux=True)(prior)

        def together(prior, sites, rule=rule, options=options):
            return ssep.sweep_and_gradient(prior, task.likelihood, sites, rule, task.data, **options)

        def learn(prior, sites, setting=setting):
            def energy(prior):
                return ssep.Interleave().energy(setting, prior, task.likelihood, Guess(sites, jax.numpy.ones(())))

            return eqx.filter_value_and_grad(energy, has_aux=True)(prior)

        functions = {"sweep": swept, "separate": separately, "together": together, "fit": learn}
        calls = {key: compiled(function, task.prior, sites) for key, function in functions.items()}
        found[label] = in_turns(calls, 7 if name in ("airline", "rainforest", "audio") else 41)
        found[label]["memory"] = {key: buffers(calls[key]) for key in ("separate", "together")}
    return found


def in_turns(calls: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Median seconds of calls that take turns, so that whatever else the machine does slows all of them."""
    seconds = {key: [] for key in calls}
    for count in range(repeats + 1):
        for key, call in calls.items():
            begun = time.perf_counter()
            jax.block_until_ready(call())
            if count:
                seconds[key].append(time.perf_counter() - begun)
    return {key: float(np.median(values)) for key, values in seconds.items()}
