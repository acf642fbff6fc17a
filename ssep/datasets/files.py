"""Where data are: in the package, or in a folder of the user's."""

import importlib.resources
import os
import pathlib

import numpy as np

Folder = str | os.PathLike[str] | None
"""A folder of data files; None for the one that the environment variable SSEP_DATA names."""


def bundled(name: str) -> np.ndarray:
    """The columns of a table that ships with the package."""
    with importlib.resources.files("ssep.datasets").joinpath(name).open() as file:
        return np.loadtxt(file, delimiter=",", skiprows=1, unpack=True)


def find(call: str, name: str, folder: Folder, source: str) -> pathlib.Path:
    """A file in a folder of the user's.

    Args:
        call: The function that is named in errors.
        name: That of the file.
        folder: As it was given.
        source: Where such data come from and what the file must look like, for the error if it is not there.
    """
    given = os.environ.get("SSEP_DATA") if folder is None else folder
    path = None if given is None else pathlib.Path(given) / name
    if path is None or not path.is_file():
        got = "no folder" if path is None else str(path)
        raise FileNotFoundError(
            f"`{call}` needs the file {name}, which does not ship with the package; got {got}. Name its folder as the "
            f"argument `folder` or in the environment variable SSEP_DATA. {source}"
        )
    return path
