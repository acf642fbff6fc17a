"""Marks at the edges of axes, where values are missing or out of range."""

from typing import Any

import numpy as np

from ssep.plotting.bands import VERMILION


def mark_missing(ax: Any, x: np.ndarray) -> None:
    """Ticks at the foot, where observations are missing."""
    _mark(ax, x, 0.02, "|", "missing")


def mark_taken_back(ax: Any, x: np.ndarray) -> None:
    """Crosses at the top, where a sweep was taken back."""
    _mark(ax, x, 0.95, "x", "taken back")


def mark_beyond(ax: Any, x: np.ndarray, values: np.ndarray) -> None:
    """Triangles at the edges, where values are above or below the axes as they are now."""
    low, high = ax.get_ylim()
    label = "out of range"
    for outside, height, marker in [(values > high, 0.98, "^"), (values < low, 0.02, "v")]:
        if outside.any():
            _mark(ax, x[outside], height, marker, label)
            label = None  # once is enough for a legend


def _mark(ax: Any, x: np.ndarray, height: float, marker: str, label: str | None) -> None:
    if len(x):
        style = {"color": VERMILION, "transform": ax.get_xaxis_transform(), "label": label}
        ax.plot(x, np.full(len(x), height), marker, markersize=7 if marker == "|" else 4, **style)
