"""`ssep info`: what runs here."""

import argparse
import importlib.metadata
import os
import platform

import jax

_LIBRARIES = {
    "jax": None,
    "jaxlib": None,
    "equinox": None,
    "optax": None,
    "numpy": None,
    "scipy": None,
    "pandas": "pandas",
    "polars": "polars",
    "xarray": "xarray",
    "arviz-base": "arviz",
    "matplotlib": "plot",
    "tqdm": "progress",
    "scikit-learn": "sklearn",
    "numpyro": "numpyro",
    "blackjax": "blackjax",
}


def show_information(arguments: argparse.Namespace) -> None:
    """Print versions, devices, precision and threads."""
    print(f"{'ssep':<14}{importlib.metadata.version('ssep')}")
    print(f"{'python':<14}{platform.python_version()} on {platform.platform()}")
    for name, extra in _LIBRARIES.items():
        print(f"{name:<14}{_version(name, extra)}")
    devices = ", ".join(f"{device.device_kind} ({device.platform})" for device in jax.devices())
    print(f"{'devices':<14}{devices}")
    print(f"{'precision':<14}{'double' if jax.config.jax_enable_x64 else 'single'}")  # pyright: ignore[reportAttributeAccessIssue]
    print(f"{'threads':<14}{os.cpu_count()} cores, OPENBLAS_NUM_THREADS={os.environ.get('OPENBLAS_NUM_THREADS')}")


def _version(name: str, extra: str | None) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed" + ("" if extra is None else f' (pip install "ssep[{extra}]")')
