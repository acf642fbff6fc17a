"""The README and the documentation run."""

import inspect
import pathlib
import re

import jax
import pytest
from matplotlib import pyplot

import ssep

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Code, and what it prints where the page shows that.
BLOCKS = re.compile(CODE.pattern + r'(?:\n+```text title="prints"\n(.*?)^```)?', CODE.flags)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if CODE.search(page.read_text())], ids=lambda page: str(page.relative_to(ROOT))
)
def test_code_of_a_page_runs_and_prints_what_it_shows(page, capsys):
    scope = {}
    for code, shown in BLOCKS.findall(page.read_text()):
        exec(code, scope)
        printed = capsys.readouterr().out
        assert not shown or printed.split() == shown.split()
    pyplot.close("all")
    # Programs of one page are of no use to the next, and would add up to gigabytes.
    jax.clear_caches()


@pytest.mark.parametrize(
    ("module", "base"),
    [(ssep.kernels, ssep.Kernel), (ssep.likelihoods, ssep.Likelihood)],
    ids=["kernels", "likelihoods"],
)
def test_gallery_shows_everything(module, base):
    page = (ROOT / "docs" / "concepts" / "gallery.md").read_text()
    classes = [value for value in vars(module).values() if inspect.isclass(value) and issubclass(value, base)]
    # Of flat numbers there is nothing to draw.
    final = [cls.__name__ for cls in classes if not inspect.isabstract(cls) and not cls.__name__.startswith("Flat")]
    assert len(final) > 20
    assert [name for name in final if f"| `{name}` |" not in page] == []


def test_readme_runs_and_shows_the_energy_that_it_prints(capsys):
    text = (ROOT / "README.md").read_text()
    (code,) = CODE.findall(text)
    exec(code, {})
    printed = float(capsys.readouterr().out.split()[0])
    shown = re.search(r"# (\d+\.\d+)\.\.\.", text)
    assert shown
    assert abs(printed - float(shown[1])) < 0.01
