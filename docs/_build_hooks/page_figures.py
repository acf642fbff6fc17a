"""Draw the figures of pages that make them with their own code: `make gallery`.

An image of such a page is the `figure` of the code above it.
"""

import pathlib
import re

import matplotlib

DOCS = pathlib.Path(__file__).parents[1]
PAGES = ["workflow/plots.md"]
CODE_OR_IMAGE = re.compile(r"^```python\n(?P<code>.*?)^```|^!\[.*?\]\((?P<image>.*?)\)$", re.DOTALL | re.MULTILINE)


def draw(page: pathlib.Path) -> None:
    """Run the code of a page, and save what it drew at each image."""
    names = {}
    for part in CODE_OR_IMAGE.finditer(page.read_text()):
        if part["code"]:
            exec(part["code"], names)
        else:
            names["figure"].savefig(page.parent / part["image"], dpi=100)


if __name__ == "__main__":
    matplotlib.use("agg")
    for name in PAGES:
        draw(DOCS / name)
