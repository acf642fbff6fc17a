"""List on the first page of the reference what its other pages document."""

import pathlib
import re
from typing import Any

_MARKER = re.compile(r"\{names of (\S+)\}")
_DIRECTIVE = re.compile(r"^::: (\S+)", re.MULTILINE)


def on_page_markdown(markdown: str, config: Any, **_: object) -> str:
    """Called by mkdocs with the text of each page: `{names of api/rules.md}` becomes links to what is there."""
    docs = pathlib.Path(config["docs_dir"])

    def names(found: re.Match) -> str:
        paths = _DIRECTIVE.findall((docs / found[1]).read_text())
        return ", ".join(f"[`{path.rsplit('.', 1)[-1]}`][{path}]" for path in paths)

    return _MARKER.sub(names, markdown)
