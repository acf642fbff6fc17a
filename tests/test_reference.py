"""The reference documents every public name, and the names that pages give for equations exist."""

import ast
import importlib
import inspect
import pathlib
import re
import runpy
import xml.etree.ElementTree as ElementTree

import griffe
import pytest

import ssep

ROOT = pathlib.Path(ssep.__file__).parent
DOCS = ROOT.parent / "docs"
MODULES = [
    node.names[0].name
    for node in ast.parse((ROOT / "__init__.py").read_text()).body
    if isinstance(node, ast.ImportFrom) and node.module == "ssep"
]


def resolve(path):
    """What a dotted path means; a module where a function has the name of its module."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for name in parts[count:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"{path} does not exist")


def public(module):
    """The public names of a module: what it defines and, of a package, what it re-exports."""
    tree = ast.parse(pathlib.Path(module.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in imports for alias in node.names if alias.asname == alias.name]
    names += [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names += [name.id for node in tree.body if isinstance(node, ast.Assign) for name in node.targets]
    return [name for name in names if not name.startswith("_")]


def documented():
    """The objects, by identity, that some page documents."""
    directives = [path for page in DOCS.rglob("*.md") for path in re.findall(r"^::: (\S+)", page.read_text(), re.M)]
    return {id(resolve(path)) for path in directives}


@pytest.mark.parametrize("name", ["ssep", *(f"ssep.{name}" for name in MODULES)])
def test_every_public_name_is_in_the_reference(name):
    module, known = importlib.import_module(name), documented()
    names = [name for name in public(module) if name not in MODULES]
    assert names
    assert [name for name in names if id(getattr(module, name)) not in known] == []


def test_overview_lists_every_page_of_the_reference():
    overview = (DOCS / "api.md").read_text()
    pages = [f"api/{page.name}" for page in (DOCS / "api").glob("*.md")]
    assert len(pages) > 9
    assert [page for page in pages if f"({page})" not in overview or f"{{names of {page}}}" not in overview] == []


def test_names_beside_equations_exist():
    page = (DOCS / "concepts" / "equations.md").read_text()
    pairs = re.findall(r"`ssep/([\w/]+)\.py`, `([\w.]+)`", page)
    assert len(pairs) > 40
    for path, name in pairs:
        found = importlib.import_module("ssep." + path.replace("/", "."))
        for part in name.split("."):
            found = getattr(found, part)


def test_reference_shows_constructors_and_each_method_once():
    hook = griffe.load_extensions(str(DOCS / "_build_hooks" / "modules.py"))
    package = griffe.load("ssep", search_paths=[ROOT.parent], extensions=hook)
    rule, kernel = package["rules.power_ep.PowerEP"], package["kernels.matern.Matern52"]
    shown = [(parameter.name, parameter.default) for parameter in rule.parameters if parameter.name != "self"]
    assert shown == [("alpha", "1.0"), ("cubature", "GaussHermite(20)")]
    assert [name for name, _ in shown] == list(inspect.signature(ssep.PowerEP).parameters)
    assert [parameter.name for parameter in kernel.parameters][1:] == ["variance", "lengthscale"]
    assert "update" in package["rules.base.Rule"].members
    assert "update" not in rule.members


@pytest.mark.parametrize(
    ("formula", "spaces"),
    [(r"\log E", 1), (r"2 \log x", 2), (r"\log^2 x", 0), (r"V_{\mathrm{cav}} x", 0), (r"\sin(x)", 0)],
)
def test_formulas_have_thin_spaces_around_names(formula, spaces):
    render = runpy.run_path(str(DOCS / "_build_hooks" / "mathml.py"))["render"]
    tree = ElementTree.fromstring(render(formula, "inline"))
    count = {child.tag.split("}")[1]: len(child) for child in tree.iter()}
    assert sum(child.tag.endswith("mspace") for child in tree.iter()) == spaces
    assert all(count.get(script, 2) == 2 for script in ("msup", "msub"))


def test_distributed_as_is_a_relation():
    render = runpy.run_path(str(DOCS / "_build_hooks" / "mathml.py"))["render"]
    assert "<mo>&#x0223C;</mo>" in render(r"x \sim N", "inline")
