"""The shape of the code: layers, small files, classes that are abstract or final."""

import ast
import inspect
import pathlib
import pkgutil

import equinox as eqx
import pytest

import ssep

ROOT = pathlib.Path(ssep.__file__).parent
# A module imports from strictly lower layers, or from its own folder.
LAYERS = [
    ["types", "checks", "results", "progress"],
    ["constraints", "marginals", "linalg", "locations", "records", "scanning", "gaps", "optimisers", "functions"],
    ["kernels", "links", "cubature", "conditioning", "sites", "data"],
    ["likelihoods", "statespace", "events"],
    ["rules", "priors", "smoothers"],
    ["energies", "memory", "refresh"],
    ["compatibility", "steps", "solution", "fixed_point"],
    ["first_pass", "iteration"],
    ["sweep", "last_sweep"],
    ["inference", "gradients", "timeline", "quantiles", "storage"],
    ["prediction", "components", "schedules", "parameters", "streaming"],
    ["sampling", "learning", "cross_validation", "intensities", "unseen"],
    ["checking", "calibration", "thinning"],
    ["datasets", "expressions", "plotting", "tables"],
    ["estimators"],
    ["cli"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def room(path):
    """The top-level module or folder that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_import_lower_layers_only(path):
    own = room(path)
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ssep":
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("ssep.")]
        for name in names:
            assert name == own or LEVEL[name] < LEVEL[own], f"{path.name} imports ssep.{name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short_and_keep_runtime_annotations(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 300
    assert "from __future__ import annotations" not in text


def modules():
    for info in pkgutil.walk_packages([str(ROOT)], "ssep."):
        yield __import__(info.name, fromlist=["_"])


def test_every_class_is_abstract_or_final():
    classes = {
        value
        for module in modules()
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, eqx.Module) and value.__module__.startswith("ssep.")
    }
    parents = {base for cls in classes for base in cls.__bases__ if base.__module__.startswith("ssep.")}
    assert len(classes) > 30
    # Markers without members of their own are abstract through the class that they narrow.
    assert [cls.__name__ for cls in parents if not inspect.isabstract(cls)] == []


def test_importing_changes_no_configuration():
    import subprocess
    import sys

    code = "import ssep, jax; assert not jax.config.jax_enable_x64; import sys; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
