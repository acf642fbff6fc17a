"""How long `import ssep` takes, next to the import of what it is built on.

    python benchmarks/import_time.py

prints the processor time of both, the smallest of several processes each, their ratio, and the modules of the package
that take longest by themselves. Processor time, because other programs on the machine do not count in it.
"""

import re
import resource
import subprocess
import sys

REPETITIONS = 7
_LINE = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*(ssep[\w.]*)")


def seconds(code: str) -> float:
    """The processor time of a fresh interpreter that runs some code."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run([sys.executable, "-c", code], check=True)
    return used() - before


def slowest_modules(count: int) -> list[tuple[float, str]]:
    """Milliseconds that modules of the package take without what they import, and their names."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import ssep"], capture_output=True, text=True, check=True
    )
    found = [(int(time) / 1000, name) for time, name in _LINE.findall(run.stderr)]
    return sorted(found, reverse=True)[:count]


def main() -> None:
    """Print the ratio and what takes longest."""
    codes = ["import jax, equinox, optax", "import ssep"]
    # In turns, so that both see the same machine.
    rounds = [[seconds(code) for code in codes] for _ in range(REPETITIONS)]
    base, own = (min(column) for column in zip(*rounds, strict=True))
    print(f"{codes[0]}: {base:.2f} s; {codes[1]}: {own:.2f} s; ratio {own / base:.2f}")
    for milliseconds, name in slowest_modules(10):
        print(f"{milliseconds:6.1f} ms {name}")


if __name__ == "__main__":
    main()
