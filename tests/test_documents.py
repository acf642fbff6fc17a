"""The README, the documentation and the examples run."""

import pathlib
import re
import subprocess
import sys

import matplotlib.image
import pytest

ROOT = pathlib.Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if CODE.search(page.read_text())], ids=lambda page: str(page.relative_to(ROOT))
)
def test_code_of_a_page_runs(page):
    exec("\n".join(CODE.findall(page.read_text())), {})


def test_readme_shows_the_energy_that_its_example_prints(capsys):
    text = (ROOT / "README.md").read_text()
    exec(CODE.findall(text)[0], {})
    printed = float(capsys.readouterr().out.split()[0])
    shown = re.search(r"# (\d+\.\d+)\.\.\.", text)
    assert shown
    assert abs(printed - float(shown[1])) < 0.01


def test_coal_example_prints_its_tables_and_writes_its_plot(tmp_path):
    code = "import pathlib, sys; sys.path.insert(0, sys.argv[1]); import coal; coal.main(pathlib.Path(sys.argv[2]))"
    plot = tmp_path / "coal.png"
    run = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "examples"), str(plot)],
        env={"MPLBACKEND": "agg", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "1870s          36" in run.stdout
    image = matplotlib.image.imread(plot)
    assert image.shape[0] > 500
    assert image.std() > 0.05
