"""Run the examples, print how long each takes, and make the small figures of docs/examples.md: `make examples`.

With names as arguments, those alone.
"""

import pathlib
import subprocess
import sys
import time

from PIL import Image

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "examples.md"
WIDTH = 560  # twice what the page shows


def run(name: str) -> None:
    """Run one example; if the page shows its figure, make it small and of few colours."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, str(ROOT / "examples" / f"{name}.py")], cwd=ROOT, check=True)
    print(f"--- {name}: {time.perf_counter() - begun:.0f} s\n", flush=True)
    small = f"images/example-{name}.png"
    if small in PAGE.read_text():
        with Image.open(ROOT / "build" / f"{name}.png") as figure:
            height = round(figure.height * WIDTH / figure.width)
            shrunk = figure.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
        shrunk.quantize(96, dither=Image.Dither.NONE).save(PAGE.parent / small, optimize=True)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or sorted(path.stem for path in (ROOT / "examples").glob("*.py")):
        run(chosen)
