"""Show in the reference what calls a class takes, and every method once, where it is declared."""

import importlib
import inspect
from typing import Any

import equinox as eqx
import griffe


class Modules(griffe.Extension):
    """Equinox writes the constructors of its modules at run time, where a reader of the source does not see them."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called by griffe when all of the package has been read."""
        classes = list(_classes(pkg))
        for cls in classes:
            _add_constructor(cls)
        declared = {cls.path: set(cls.members) - {"__init__"} for cls in classes}
        for cls in classes:
            inherited = {name for base in cls.mro() for name in declared.get(base.path, set())}
            for name in declared[cls.path] & inherited:
                cls.del_member(name)


def _classes(scope: griffe.Module | griffe.Class):
    for member in scope.members.values():
        if isinstance(member, griffe.Class):
            yield member
        if isinstance(member, griffe.Module):
            yield from _classes(member)


def _add_constructor(cls: griffe.Class) -> None:
    """The generated constructor: a parameter per field, annotated as the field is."""
    found = getattr(importlib.import_module(cls.module.path), cls.name)
    written = any("__init__" in base.members for base in [cls, *cls.mro()])
    if written or inspect.isabstract(found) or not issubclass(found, eqx.Module):
        return
    fields = {name: field for base in [cls, *cls.mro()][::-1] for name, field in base.attributes.items()}
    parameters = [
        griffe.Parameter(
            name,
            annotation=fields[name].annotation,
            kind=griffe.ParameterKind.positional_or_keyword,
            default=None if parameter.default is parameter.empty else _default(fields[name], parameter),
        )
        for name, parameter in inspect.signature(found).parameters.items()
    ]
    myself = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(myself, *parameters)))


def _default(field: griffe.Attribute, parameter: inspect.Parameter) -> str:
    """As it is written, or as it turns out where it is written as a field."""
    source = str(field.value)
    return repr(parameter.default) if source.startswith("eqx.field(") else source
