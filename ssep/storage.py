"""Save and load: one file with the arrays as they are and the modules by name; nothing in it is executed."""

import dataclasses
import io
import json
import os
import pathlib
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ssep.checks import is_concrete, require
from ssep.results import RESULTS
from ssep.solution import Fit, Solution

FORMAT = "ssep"
VERSION = 1
_HEADER = "header.json"
_RESULT_NAMES = ["converged", "max_sweeps_reached", "improper_cavity", "non_finite"]


def save(path: str | os.PathLike[str], value: Solution | Fit) -> None:
    """Write a `Solution` or a `Fit` to one file, whole or not at all.

    Args:
        path: Where to; an existing file is replaced only once the new one is complete.
        value: What `infer`, `fit` or `update` returned.
    """
    require(
        isinstance(value, Solution | Fit),
        "save(value)",
        "takes a `Solution` or a `Fit`",
        f"a `{type(value).__name__}`",
        "Save its parts with `numpy.savez`.",
    )
    require(is_concrete(value), "save(value)", "needs known values", "a traced value", "Call it outside `jit`.")
    arrays: list[np.ndarray] = []
    header = {"format": FORMAT, "version": VERSION, "kind": type(value).__name__, "tree": _encode(value, arrays)}
    target = pathlib.Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.resolve().parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_HEADER, json.dumps(header))
            for index, array in enumerate(arrays):
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                archive.writestr(f"{index}.npy", buffer.getvalue())
        # A temporary file is private; this one shall be as readable as any other.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str], classes: Sequence[type] = ()) -> Solution | Fit:
    """Read what `save` wrote, bit for bit.

    Args:
        path: The file.
        classes: Classes of your own that it contains: likelihoods, kernels, mean functions.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(_HEADER))
            _check_header(header)
            names = [name for name in archive.namelist() if name != _HEADER]
            arrays = {name: np.load(io.BytesIO(archive.read(name)), allow_pickle=False) for name in names}
    except (zipfile.BadZipFile, KeyError, EOFError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"`load(path)` needs a file that `ssep.save` wrote; got {os.fspath(path)!r}, which is of another kind or "
            f"damaged ({type(error).__name__}: {error}). Save it again."
        ) from error
    value = _decode(header["tree"], arrays, {_name(cls): cls for cls in classes})
    require(
        type(value).__name__ == header["kind"] and isinstance(value, Solution | Fit),
        "load(path)",
        "needs a file with a `Solution` or a `Fit`",
        header["kind"],
        "Save it again.",
    )
    return value


def _check_header(header: Any) -> None:
    known = isinstance(header, dict) and header.get("format") == FORMAT and {"kind", "tree"} <= header.keys()
    require(known, "load(path)", "needs a file that `ssep.save` wrote", "a file of another kind", "Check the path.")
    require(
        header.get("version") == VERSION,
        "load(path)",
        f"reads files of version {VERSION}",
        f"version {header.get('version')}",
        "Load it with the version of ssep that wrote it, and infer again.",
    )


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _encode(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    if eqx.is_array(value) or isinstance(value, np.ndarray):
        arrays.append(np.asarray(value))
        return {"array": f"{len(arrays) - 1}.npy"}
    if isinstance(value, type(RESULTS.converged)):
        arrays.append(np.asarray(value._value))
        return {"result": f"{len(arrays) - 1}.npy", "names": _RESULT_NAMES}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_encode(entry, arrays) for entry in value]}
    if type(value) is dict:
        return {"dict": [[_encode(key, arrays), _encode(entry, arrays)] for key, entry in value.items()]}
    require(
        isinstance(value, eqx.Module),
        "save(value)",
        "can store numbers, arrays and modules",
        repr(value),
        "Write a function (a prior's mean, say) as an `eqx.Module` with `__call__`, and a named tuple as a dict.",
    )
    fields = {field.name: _encode(getattr(value, field.name), arrays) for field in dataclasses.fields(value)}
    return {"class": _name(type(value)), "fields": fields}


def _decode(node: Any, arrays: dict[str, np.ndarray], classes: dict[str, type]) -> Any:
    if "value" in node:
        return node["value"]
    if "array" in node:
        return jnp.asarray(_exact(arrays[node["array"]]))
    if "result" in node:
        return _decode_result(arrays[node["result"]], node["names"])
    if "dict" in node:
        return {_decode(key, arrays, classes): _decode(entry, arrays, classes) for key, entry in node["dict"]}
    for kind in (tuple, list):
        if kind.__name__ in node:
            return kind(_decode(entry, arrays, classes) for entry in node[kind.__name__])
    cls = _find(node["class"], classes)
    names = {field.name for field in dataclasses.fields(cls)}
    require(
        names == set(node["fields"]),
        "load(path)",
        f"needs the fields {sorted(names)} of `{cls.__name__}`",
        sorted(node["fields"]),
        "Load it with the version of the class that was saved.",
    )
    # As a pytree is put together again: without the checks and conversions of a constructor.
    module = object.__new__(cls)
    for name, entry in node["fields"].items():
        object.__setattr__(module, name, _decode(entry, arrays, classes))
    return module


def _decode_result(indices: np.ndarray, names: list[str]) -> Any:
    current = np.array([int(getattr(RESULTS, name)._value) for name in names])
    result = RESULTS.where(jnp.ones(indices.shape, bool), RESULTS.converged, RESULTS.converged)
    return eqx.tree_at(lambda item: item._value, result, jnp.asarray(current[indices], indices.dtype))


def _exact(array: np.ndarray) -> np.ndarray:
    exact = jnp.asarray(array).dtype == array.dtype
    require(
        exact,
        "load(path)",
        f"needs double precision for arrays of {array.dtype}",
        "JAX in single precision",
        'Call `jax.config.update("jax_enable_x64", True)` first.',
    )
    return array


def _find(name: str, classes: dict[str, type]) -> type:
    module, _, qualified = name.partition(":")
    found = classes.get(name)
    # Only what this package has imported itself: a name in a file imports nothing.
    if found is None and module.split(".")[0] == "ssep" and module in sys.modules:
        found = getattr(sys.modules[module], qualified, None)
    require(
        isinstance(found, type) and issubclass(found, eqx.Module),
        "load(path)",
        "must know every class in the file",
        name,
        "Pass your own classes: `ssep.load(path, classes=(MyLikelihood,))`.",
    )
    return found  # pyright: ignore[reportReturnType]
