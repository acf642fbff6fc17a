"""The seventeen methods of [W20], table 1, as rules of this library, and the energy that each learns from."""

import itertools
from typing import NamedTuple

import jax.numpy as jnp

import ssep


class Method(NamedTuple):
    """A rule and its energy."""

    rule: ssep.Rule
    energy: ssep.Energy


def methods(degree: int = 20) -> dict[str, Method]:
    """All of them, in the order of the table; Gauss-Hermite rules have this many points in each dimension."""
    unscented, hermite = ssep.Unscented5(), ssep.GaussHermite(degree)
    found = {}
    for alpha in (1, 0.5, 0):
        # As an array: one compiled program serves all powers. The linearised model of labels has no lowest energy.
        found[f"EEP {alpha}"] = Method(ssep.ExtendedEP(jnp.asarray(float(alpha))), ssep.FilterEnergy(hermite))
    for name, cubature in (("UEP", unscented), ("GHEP", hermite)):
        for alpha in (1, 0.5, 0):
            rule = ssep.StatLinEP(jnp.asarray(float(alpha)), cubature)
            found[f"{name} {alpha}"] = Method(rule, ssep.FilterEnergy())
    for name, cubature in (("EP(U)", unscented), ("EP(GH)", hermite)):
        for alpha in (1, 0.5, 0.01):
            rule = ssep.PowerEP(jnp.asarray(float(alpha)), cubature)
            found[f"{name} {alpha}"] = Method(rule, ssep.PowerEPEnergy())
    for name, cubature in (("VI(U)", unscented), ("VI(GH)", hermite)):
        found[name] = Method(ssep.CVI(cubature), ssep.FreeEnergy())
    return found


METHODS = tuple(methods())
FAMILIES = tuple(tuple(group) for _, group in itertools.groupby(METHODS, lambda name: name.split()[0]))
"""Those that differ in their power only, and share compiled programs."""
