"""Hyperparameters of the dense methods: L-BFGS on the energy of each."""

import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.optimize import minimize

from paper.baselines import dense
from paper.experiments import Experiment

TASKS = ("motorcycle", "coal", "banana")
DAMPINGS = (0.5, 0.17, 0.06)
"""Of the sites, one after the other where an inference fails: full steps oscillate."""


class Method(NamedTuple):
    """A rule for the sites, and whether its fixed point is a minimum of its energy."""

    refresh: dense.Refresh
    descends: bool


METHODS = {"batch EP (GH)": Method(dense.batch_ep, False), "batch VGP (GH)": Method(dense.variational, True)}
MODELS = {
    "motorcycle": dense.noise_and_mean(),
    "coal": dense.one_latent(lambda y, f: jax.scipy.stats.poisson.logpmf(y, jnp.exp(f))),
    "banana": dense.one_latent(lambda y, f: jax.nn.log_sigmoid((2 * y - 1) * f)),
}


class Lesson:
    """A fold held out: what the energy is at given hyperparameters. Each inference begins where the last one ended."""

    def __init__(self, setup: Experiment, model: dense.Model, method: Method, fold: int):
        self.y, self.seen = jnp.asarray(setup.task.data.y), jnp.asarray(setup.fold != fold)
        self.model, self.method = model, method
        self.start = np.log(setup.trained(setup.task.prior, setup.task.likelihood))
        self.covariances = jax.jit(lambda logs: _covariances(setup, logs))
        count = len(self.covariances(self.start))
        self.nothing = dense.Sites(*(jnp.zeros((len(self.y), *(count,) * k)) for k in (1, 2)))
        self.sites, self.dampings, self.looks = self.nothing, DAMPINGS, 0

    def infer(self, logs: np.ndarray) -> dense.State:
        """A fixed point; where that fails, once more from the beginning, with shorter steps from then on."""
        factor = dense.root(self.covariances(logs))
        glance = lambda sites: dense.look(self.method.refresh, self.model, factor, self.y, self.seen, sites)  # noqa: E731
        state, looks = dense.solve(glance, self.sites, self.method.descends, self.dampings[0])
        self.looks += looks
        if is_fixed(state):
            self.sites = state.sites
        elif len(self.dampings) > 1:
            self.sites, self.dampings = self.nothing, self.dampings[1:]
            return self.infer(logs)
        return state

    def energy(self, logs: np.ndarray) -> tuple[float, np.ndarray]:
        """With its derivative, for which sites are fixed."""
        state = self.infer(logs)
        _, pull = jax.vjp(self.covariances, logs)
        return float(state.energy), np.asarray(pull(state.slope)[0])


def learn(task: str, method: str, setup: Experiment, fold: int) -> dict[str, Any]:
    """Learn with a fold held out, and score it with no floor under any density."""
    begun, model = time.perf_counter(), MODELS[task]
    lesson = Lesson(setup, model, METHODS[method], fold)
    found = minimize(lesson.energy, lesson.start, jac=True, method="L-BFGS-B")
    state = lesson.infer(found.x)
    density = jax.vmap(model.log_evidence)(lesson.y, state.mean, state.cov)
    return {
        "nlpd": float(-density[~lesson.seen].mean()),
        "energy": float(state.energy),
        "hyperparameters": np.exp(found.x).tolist(),
        "converged": is_fixed(state),
        "seconds": time.perf_counter() - begun,
        "settings": {"optimiser": "scipy L-BFGS-B", "damping": lesson.dampings[0], "degree": len(dense.NODES)},
        "message": found.message,
        "steps": found.nit,
        "looks": lesson.looks,
    }


def is_fixed(state: dense.State) -> bool:
    """Whether the sites are at a fixed point."""
    return bool(state.residual <= dense.TOLERANCE)


def _covariances(setup: Experiment, logs: Array) -> Array:
    """Prior covariances (latent, n, n); of a field in the plane, with no inducing points."""
    data, (prior, _) = setup.task.data, setup.learned(list(jnp.exp(logs)))
    if data.r is None:
        return jnp.stack([_matrix(kernel, data.t) for kernel in prior.kernels])
    term = prior.terms[0]
    return (_matrix(term.temporal, data.t) * _matrix(term.spatial, data.r[:, 0]))[None]


def _matrix(kernel: Any, x: Array) -> Array:
    return jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(x))(x)
