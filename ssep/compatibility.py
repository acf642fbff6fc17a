"""Whether a prior, a likelihood, a rule, sites and data belong together, checked before anything is compiled."""

from typing import Any

import jax
import numpy as np

from ssep.checks import is_concrete, require
from ssep.data import Data
from ssep.likelihoods.base import Likelihood
from ssep.memory import check_memory
from ssep.priors.base import Prior
from ssep.rules.base import Rule
from ssep.sites import SiteState

_CALLS = {
    "sweep": "The call is sweep(prior, lik, sites, rule, data, smoother=..., step=..., objective=...).",
    "sweep_and_gradient": "The call is that of `sweep`.",
    "infer": "The call is infer(prior, lik, rule, data, sites=..., smoother=..., step=..., objective=...).",
    "nlpd": "The call is nlpd(solution, data).",
    "pit": "The call is pit(key, solution, data).",
    "cross_validate": "The call is cross_validate(model, data, folds).",
    "update": "The call is update(solution, data, refresh=...).",
    "fit": "The call is fit(prior, lik, rule, data, optimiser=..., num_steps=..., objective=...).",
}


def check_compatible(
    prior: Prior, lik: Likelihood, sites: SiteState | None, rule: Rule, data: Data, call: str = "sweep"
) -> None:
    """Raise a `ValueError` that names the mismatch. Shapes are always known; values only outside `jit`."""
    for name, value, kind in [
        ("prior", prior, Prior),
        ("lik", lik, Likelihood),
        ("sites", sites, SiteState | None),
        ("rule", rule, Rule),
        ("data", data, Data),
    ]:
        require_kind(name, value, kind, call)
    require(
        np.shape(rule.alpha) == (),
        f"{type(rule).__name__}(alpha)",
        "must be one number",
        f"shape {np.shape(rule.alpha)}",
        "To run several, `jax.vmap` over them.",
    )
    rule.check_likelihood(lik)
    _check_latents(prior, lik)
    prior.check_places(f"{call}(data)", data.locations)
    check_memory(call, prior, data.locations)
    _check_sites(prior, sites, data, call)
    if is_concrete(data):
        _check_support(lik, data)


def require_kind(name: str, value: object, kind: Any, call: str = "sweep") -> None:
    """Raise unless an argument of a call is an instance of its class."""
    got = f"the class `{value.__name__}`" if isinstance(value, type) else f"a `{type(value).__name__}`"
    require(
        isinstance(value, kind),
        f"{call}({name})",
        f"must be an instance of `{getattr(kind, '__name__', 'SiteState')}`",
        got,
        _CALLS[call],
    )


def _check_latents(prior: Prior, lik: Likelihood) -> None:
    require(
        lik.num_latents in (None, prior.num_latents),
        type(lik).__name__,
        f"needs {lik.num_latents} latent{'s' * (lik.num_latents != 1)}",
        f"a prior with {prior.num_latents}",
        f"Give `{type(prior).__name__}` one kernel per latent, as a tuple: `(k1, k2)`.",
    )


def _check_sites(prior: Prior, sites: SiteState | None, data: Data, call: str) -> None:
    if sites is None:
        return
    linear = (*data.y.shape, prior.num_latents)
    expected = (linear, (*linear, prior.num_latents))
    shapes = (np.shape(sites.linear), np.shape(sites.precision))
    require(
        shapes == expected,
        f"{call}(sites)",
        f"must have linear and precision of shapes {expected[0]} and {expected[1]} for these data",
        f"{shapes[0]} and {shapes[1]}",
        "Pass None to start anew.",
    )


def _check_support(lik: Likelihood, data: Data) -> None:
    # Missing entries were filled with an observed value, so that all of y can be checked and positions stay right.
    if np.asarray(data.mask).any():
        lik.check_observations(np.asarray(data.y), jax.tree.map(np.asarray, data.aux))
