"""Hyperparameters of the dense methods: L-BFGS on the energy of each."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from paper.baselines import dense
from paper.experiments import Experiment

TASKS = ("motorcycle", "coal", "banana")
DAMPINGS = (0.5, 0.2, 0.05)
"""Of one attempt after the other: full steps oscillate."""
WIDTH = 7
"""How far the logarithm of a hyperparameter may go from where it starts: a factor of a thousand."""


class Method(NamedTuple):
    """A rule for the sites."""

    refresh: dense.Refresh
    descends: bool


METHODS = {"batch EP (GH)": Method(dense.batch_ep, False), "batch VGP (GH)": Method(dense.variational, True)}
MODELS = {
    "motorcycle": dense.noise_and_mean(),
    "coal": dense.one_latent(lambda y, f: jax.scipy.stats.poisson.logpmf(y, jnp.exp(f))),
    "banana": dense.one_latent(lambda y, f: jax.nn.log_sigmoid((2 * y - 1) * f)),
}


def learn(task: str, method: str, setup: Experiment, fold: int) -> dict[str, Any]:
    """Learn with a fold held out, and score it with no floor under any density."""
    begun, model, (refresh, descends) = time.perf_counter(), MODELS[task], METHODS[method]
    y, unseen = jnp.asarray(setup.task.data.y), jnp.asarray(setup.fold == fold)
    covariances = _covariances(setup)
    start = np.log(setup.trained(setup.task.prior, setup.task.likelihood))
    count = len(covariances(start)[0])
    nothing = dense.Sites(*(jnp.zeros((len(y), *(count,) * k)) for k in (1, 2)))
    sites, looks = nothing, 0

    def infer(logs: np.ndarray) -> dense.State:
        """From the last fixed point; where that fails from the beginning, with shorter steps."""
        nonlocal sites, looks
        factor = dense.root(covariances(logs)[0])
        glance = lambda at: dense.look(refresh, model, factor, y, ~unseen, at)  # noqa: E731
        for begin, damping in zip((sites, nothing, nothing), DAMPINGS, strict=True):
            state, more = dense.solve(glance, begin, descends, damping)
            looks += more
            if state.residual <= dense.TOLERANCE:
                sites = state.sites
                break
        return state

    def energy(logs: np.ndarray) -> tuple[float, np.ndarray]:
        state = infer(logs)
        return float(state.energy), np.asarray(covariances(logs)[1](state.slope)[0])

    bounds = [(value - WIDTH, value + WIDTH) for value in start]
    found = minimize(energy, start, jac=True, method="L-BFGS-B", bounds=bounds)
    state = infer(found.x)
    density = jax.vmap(model.log_evidence)(y, state.mean, state.cov)
    return {
        "nlpd": float(-density[unseen].mean()),
        "energy": float(state.energy),
        "hyperparameters": np.exp(found.x).tolist(),
        "converged": bool(state.residual <= dense.TOLERANCE),
        "seconds": time.perf_counter() - begun,
        "settings": {"optimiser": f"scipy L-BFGS-B: {found.message}", "degree": len(dense.NODES)},
        "steps": found.nit,
        "looks": looks,
    }


def _covariances(setup: Experiment) -> Callable[[Any], tuple[jax.Array, Callable]]:
    """Prior covariances (latent, n, n) of the logarithms of what is learned, with their derivative."""
    data = setup.task.data

    def gram(logs: jax.Array) -> jax.Array:
        prior, _ = setup.learned(list(jnp.exp(logs)))
        if data.r is None:
            return jnp.stack([_matrix(kernel, data.t) for kernel in prior.kernels])
        term = prior.terms[0]
        return (_matrix(term.temporal, data.t) * _matrix(term.spatial, data.r[:, 0]))[None]

    compiled = jax.jit(gram)
    return lambda logs: (compiled(logs), jax.vjp(compiled, logs)[1])


def _matrix(kernel: Callable[..., jax.Array], x: jax.Array) -> jax.Array:
    return jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(x))(x)
