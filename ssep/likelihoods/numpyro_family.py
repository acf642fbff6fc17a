"""A family of distributions of NumPyro, and what NumPyro knows of its parameters.

NumPyro is not imported until something is asked of it.
"""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ssep.checks import as_float, is_concrete, require
from ssep.constraints import constraint_of
from ssep.likelihoods.arguments import (
    Constant,
    FixedConstant,
    IncreasingConstant,
    PositiveConstant,
    ProbabilityConstant,
    RealConstant,
)
from ssep.links import Link

CALL = "FromNumPyro"
# What stands for a parameter that depends on latents: small, large, or one of several numbers.
EXAMPLES = (0.5, 5.0, (0.25, 0.75))
_REFUSALS = (ValueError, TypeError, IndexError, AssertionError, NotImplementedError)


def library() -> Any:
    """The module `numpyro.distributions`."""
    try:
        import numpyro.distributions
    except ImportError as error:
        raise ImportError(f"`{CALL}` needs NumPyro; run `pip install ssep[numpyro]`.") from error
    return numpyro.distributions


def name_of(family: Any) -> str:
    """What a family is called."""
    return getattr(family, "__name__", repr(family))


def family_named(name: str) -> Callable[..., Any]:
    """The family with a name, among those that NumPyro offers: a name in a file leads nowhere else."""
    module = library()
    offered = name in module.__all__ and callable(getattr(module, name))
    require(offered, CALL, "needs a distribution that NumPyro has", name, "Install the version that it was saved with.")
    return getattr(module, name)


@contextlib.contextmanager
def known_now(*values: object) -> Iterator[None]:
    """Compute at once, also inside `jit`, if all that goes in is known."""
    with jax.ensure_compile_time_eval() if is_concrete(*values) else contextlib.nullcontext():
        yield


def make(family: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """The distribution with these parameters, whatever they are."""
    unchecked = {"validate_args": False} if "validate_args" in inspect.signature(family).parameters else {}
    return family(**values, **unchecked)


def example_of(family: Callable[..., Any], arguments: Mapping[str, Any], level: Any = None) -> Any:
    """A distribution of the family, with known constants and an example of whatever depends on latents."""
    error: Exception | None = None
    for each in EXAMPLES if level is None else (level,):
        values = {name: _value(argument, each) for name, argument in arguments.items()}
        try:
            return make(family, values)
        except _REFUSALS as refusal:
            error = error or refusal
    names = ", ".join(f"`{name}`" for name in arguments)
    raise ValueError(
        f"`{CALL}(arguments)` must be arguments that `{name_of(family)}` takes together; got {names}: {error}. "
        "Each is one number per observation, unless the distribution says otherwise."
    ) from error


def check_family(family: Any) -> None:
    """Raise unless this is a family of distributions of one number."""
    module = library()
    kind = "must be a distribution class of NumPyro, or a function that makes distributions"
    instance = isinstance(family, module.Distribution)
    fine = callable(family) and not instance and not (isinstance(family, type) and not _is_distribution(family))
    remedy = f"For example `{CALL}(numpyro.distributions.Gumbel, {{'loc': Latent(0), 'scale': 1.0}})`."
    require(fine, f"{CALL}(distribution)", kind, f"`{family!r}`", remedy)
    support: Any = getattr(family, "support", None)
    try:
        dims = support.event_dim if isinstance(support, module.constraints.Constraint) else 0
    except NotImplementedError:
        return
    check_single(family, dims)


def check_single(family: Any, dims: int) -> None:
    """Raise unless values have no dimensions."""
    got = f"`{name_of(family)}`, whose values have {dims} dimension{'s' * (dims != 1)}"
    remedy = "Put several numbers per time into the columns of y, with `Outputs` if they differ."
    require(dims == 0, f"{CALL}(distribution)", "must be of one number", got, remedy)


def check_names(family: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise unless these are names of the family's parameters, with all that have no default."""
    taken = {name: each for name, each in inspect.signature(family).parameters.items() if name != "validate_args"}
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return
    listed = ", ".join(f"`{name}`" for name in taken)
    unknown = [name for name in arguments if name not in taken]
    names = ", ".join(f"`{name}`" for name in unknown)
    require(not unknown, f"{CALL}(arguments)", f"must be among {listed} of `{name_of(family)}`", names, "Rename them.")
    missing = [name for name, each in taken.items() if each.default is each.empty and name not in arguments]
    names = ", ".join(f"`{name}`" for name in missing)
    requirement = f"must have all arguments of `{name_of(family)}` without a default"
    require(not missing, f"{CALL}(arguments)", requirement, f"none for {names}", f"The arguments are {listed}.")
    for name, argument in arguments.items():
        remedy = f"Say of which latent: `Latent(0, ssep.links.{type(argument).__name__.lower()})`."
        require(not isinstance(argument, Link), f"{CALL}({name})", "must not be a link alone", repr(argument), remedy)


def as_constant(family: Callable[..., Any], arguments: Mapping[str, Any], name: str) -> Constant:
    """A constant argument, learned within the set that NumPyro has for it.

    Whole numbers, what NumPyro does not describe, and what the support depends on are held fixed: an observation must
    not become impossible on the way.
    """
    value = arguments[name]
    moved = {**arguments, name: jnp.asarray(value) + 1}
    example = example_of(family, arguments)
    described: Any = _constraints_of(example).get(name)
    bound = differ(example.support, example_of(family, moved).support)
    kind = None if described is None or bound else _kind(described)
    if kind is None:
        if described is not None and is_concrete(value) and not library().constraints.is_dependent(described):
            valid = bool(np.all(described(np.asarray(value))))
            require(valid, f"{CALL}({name})", f"must satisfy NumPyro's {described}", value, "Check the value.")
        return FixedConstant(np.asarray(value).tolist() if is_concrete(value) else value)
    made = kind(as_float(value))
    (field,) = dataclasses.fields(kind)
    constraint = constraint_of(field)
    if constraint is not None and is_concrete(value):
        requirement, remedy = constraint.requirement
        require(constraint.holds(np.asarray(made.value)), f"{CALL}({name})", requirement, value, remedy)
    return made


def whole_numbers(example: Any, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of those functions of latents and extras that stand for whole numbers."""
    described = _constraints_of(example)
    dependent = library().constraints.is_dependent
    functions = [name for name, argument in arguments.items() if callable(argument) and name in described]
    return tuple(name for name in functions if not dependent(described[name]) and described[name].is_discrete)


def differ(one: Any, other: Any) -> bool:
    """Whether two supports differ; traced bounds do."""
    if jax.tree.structure(one) != jax.tree.structure(other):
        return True
    bounds = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return any(not is_concrete(a, b) or not np.array_equal(np.asarray(a), np.asarray(b)) for a, b in bounds)


def _value(argument: Any, level: Any) -> Any:
    value = argument.value if isinstance(argument, Constant) else level if callable(argument) else argument
    return jnp.asarray(value) if isinstance(value, tuple | list) else value


def _is_distribution(family: type) -> bool:
    return issubclass(family, library().Distribution)


def _constraints_of(distribution: Any) -> dict[str, Any]:
    """What NumPyro has of the parameters, those of a distribution inside included."""
    inner = getattr(distribution, "base_dist", None)
    return {**({} if inner is None else _constraints_of(inner)), **distribution.arg_constraints}


def _kind(constraint: Any) -> type[RealConstant | PositiveConstant | ProbabilityConstant | IncreasingConstant] | None:
    """How a constant with a constraint of NumPyro is learned; None if it is not."""
    known = library().constraints
    if isinstance(constraint, type(known.ordered_vector)):
        return IncreasingConstant
    if isinstance(constraint, type(known.real) | type(known.real_vector)):
        return RealConstant
    low, high = (getattr(constraint, bound, None) for bound in ("lower_bound", "upper_bound"))
    if isinstance(constraint, known.interval) and (low, high) == (0, 1):
        return ProbabilityConstant
    return PositiveConstant if isinstance(constraint, known.greater_than) and low == 0 else None
