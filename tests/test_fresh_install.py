"""The README and the first page of the documentation, word for word, in environments that have nothing yet."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

import pytest

ROOT = pathlib.Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
README, FIRST_PAGE = (ROOT / name for name in ("README.md", "docs/getting-started.md"))
pytestmark = pytest.mark.slow


def blocks(page, language):
    return [code for name, code in BLOCK.findall(page.read_text()) if name == language]


@pytest.fixture
def clone(tmp_path):
    """The files of the project without what is made of them."""
    made = shutil.ignore_patterns(*(ROOT / ".gitignore").read_text().replace("/", "").split(), ".git")
    return shutil.copytree(ROOT, tmp_path / "clone", ignore=made)


def run(command, folder, first_on_path):
    """As in a new shell: none of this environment's variables, but how to reach packages and the processor."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "TMP", "XLA_FLAGS"))}
    path = os.pathsep.join([str(first_on_path), "/usr/local/bin", "/usr/bin", "/bin"])
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=kept | {"PATH": path, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_commands_of_the_readme(clone):
    lines = [line.split("#")[0].strip() for code in blocks(README, "") for line in code.splitlines()]
    assert lines == ["make demo", "make test"]
    # The second one is what runs this test.
    printed = run(lines[0], clone, pathlib.Path(sys._base_executable).resolve().parent)
    assert "1870s" in printed
    assert (clone / "build" / "coal.png").stat().st_size > 10_000


def test_the_examples_after_a_plain_installation(clone, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    venv.create(tmp_path / "env", with_pip=True)
    scripts = tmp_path / "env" / "bin"
    commands = {
        command for page in (README, FIRST_PAGE) for command in re.findall(r"`(pip install [^`]*)`", page.read_text())
    }
    assert commands == {"pip install ."}
    run("pip install --quiet .", clone, scripts)
    installed = run("pip list", clone, scripts)
    assert "ssep" in installed
    assert "matplotlib" not in installed  # a plain installation has no extras
    for page in (README, FIRST_PAGE):
        code = "\n".join(blocks(page, "python"))
        assert "import ssep" in code
        # Outside of the clone, whose folder Python would look into.
        run([str(scripts / "python"), "-c", code], tmp_path / "elsewhere", scripts)
