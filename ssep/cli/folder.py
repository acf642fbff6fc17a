"""The folder that results are written to."""

import os
import pathlib

from ssep.checks import require


def as_folder(path: str) -> pathlib.Path:
    """A folder that is there, or can be made; raise otherwise, before anything has been computed for it."""
    folder = pathlib.Path(path)
    found = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    reason = "may not be written to" if found.is_dir() else "is a file"
    fine = found.is_dir() and os.access(found, os.W_OK)
    require(fine, "--out", "must be a folder to write to", f"{path!r}, but {found} {reason}", "Name another folder.")
    return folder
