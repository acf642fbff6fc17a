"""Which names there are: those of the classes in a module that can be written as text."""

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, get_args, get_origin

from ssep import cubature, kernels, likelihoods, links, rules

Family = Mapping[str, type]
"""From spellings without case and underscores to classes."""


def spelling(name: str) -> str:
    """What spellings of one name have in common."""
    return name.replace("_", "").lower()


def written_name(cls: type) -> str:
    """The name of a class in a text: `SquaredExponential` is `squared_exponential`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def arguments_of(cls: type) -> Mapping[str, inspect.Parameter]:
    """What a class is made from, by name and in order."""
    return inspect.signature(cls).parameters


def _members(module: ModuleType, base: type) -> Iterable[type]:
    """Classes of a kind that are not abstract and take no functions, which no text can give."""
    for value in vars(module).values():
        if inspect.isclass(value) and issubclass(value, base) and not inspect.isabstract(value):
            annotations = [argument.annotation for argument in arguments_of(value).values()]
            if not any(map(_mentions_function, annotations)):
                yield value


def _mentions_function(annotation: Any) -> bool:
    return get_origin(annotation) is Callable or any(map(_mentions_function, get_args(annotation)))


def _family(*members: tuple[ModuleType, type]) -> Family:
    return {spelling(cls.__name__): cls for module, base in members for cls in _members(module, base)}


@functools.cache
def kernel_family() -> Family:
    """Kernels."""
    return _family((kernels, kernels.Kernel))


@functools.cache
def likelihood_family() -> Family:
    """Likelihoods, and links for them."""
    return _family((likelihoods, likelihoods.Likelihood), (links, links.Link))


@functools.cache
def rule_family() -> Family:
    """Rules, and cubatures for them."""
    short = {"ep": rules.PowerEP, "vi": rules.CVI}
    return {**_family((rules, rules.Rule), (cubature, cubature.Cubature)), **short}


def suggestion(name: str, known: Iterable[str]) -> str:
    """A close name if there is one, and all of them if not."""
    names = list(known)
    close = difflib.get_close_matches(spelling(name), [spelling(each) for each in names], n=1, cutoff=0.6)
    if close:
        best = next(each for each in names if spelling(each) == close[0])
        return f"Did you mean `{best}`?"
    return f"Known are {', '.join(f'`{each}`' for each in sorted(names))}." if names else "There are none."
