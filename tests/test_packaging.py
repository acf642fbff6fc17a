"""The wheel and the source distribution: what is in them, and what they say of themselves."""

import email
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

import ssep

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A source distribution, and a wheel that is made from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    return wheel, source


def files_of_the_package():
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "ssep").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_the_whole_package_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
    about = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    assert names - about == files_of_the_package()
    assert {"ssep/py.typed", "ssep/datasets/coal.csv", "ssep/kernels/matern.py"} <= names
    assert any(name.endswith("/licenses/LICENSE") for name in about)


def test_the_source_distribution_can_be_worked_on(built):
    with tarfile.open(built[1]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert files_of_the_package() <= names
    for name in ["LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "Makefile", "mkdocs.yml", "CITATION.cff"]:
        assert name in names
    for folder in ["tests", "docs", "examples", "benchmarks"]:
        tracked = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")}
        assert tracked <= names
    assert {name.split("/")[0] for name in names} <= {
        *("ssep", "tests", "docs", "examples", "benchmarks", "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
        *("pyproject.toml", "PKG-INFO", "Makefile", "mkdocs.yml", "CITATION.cff", ".gitignore"),
    }
    assert not any("__pycache__" in name for name in names)


def test_the_metadata_are_complete(built):
    with zipfile.ZipFile(built[0]) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
        about = email.message_from_string(wheel.read(name).decode())
    assert about["Name"] == "ssep"
    assert about["Version"] == ssep.__version__
    assert about["Requires-Python"] == ">=3.11"
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Description-Content-Type"] == "text/markdown"
    assert about.get_payload().startswith("# ssep")
    classifiers = about.get_all("Classifier", [])
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in classifiers
    assert "Typing :: Typed" in classifiers
    assert set(about.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


def test_every_extra_that_an_error_names_exists():
    named = {
        extra for path in (ROOT / "ssep").rglob("*.py") for extra in re.findall(r"ssep\[(\w+)\]", path.read_text())
    }
    assert {"sklearn", "progress", "numpyro"} <= named
    assert named <= set(PROJECT["optional-dependencies"])


def test_the_version_is_that_of_the_citation_and_the_changelog():
    assert f"version: {ssep.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {ssep.__version__}" in (ROOT / "CHANGELOG.md").read_text()
