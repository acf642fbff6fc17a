"""Turn the formulas of each page into MathML, so that they show without any script from elsewhere."""

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
# Upright letters of one word, each an identifier of its own.
_LETTERS = re.compile(r'(?:<mi mathvariant="normal">[a-zA-Z]</mi>){2,}')
_NAME = r"<mi>[a-zA-Z]{2,}</mi>"
# The name of a function with no parenthesis after it, or with a factor in front of it.
_BEFORE = re.compile(rf"(</m[in]>|</msu[bp]>|</mstyle>)(?=(?:<mrow>)?{_NAME})")
_BASE = "".join(f"(?<!<msu{script}>{row})" for script in "bp" for row in ("", "<mrow>"))  # not what carries a script
_AFTER = re.compile(rf"({_BASE}{_NAME}(?:</mrow>)?)(?=(?:<(?:mrow|msub|msup|mstyle)[^>]*>)*<m[in]\b)")


def render(formula: str, display: str) -> str:
    """MathML of a formula, with the thin spaces around names of functions that LaTeX puts there."""
    found = convert(formula, display=display)
    found = found.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")  # "is distributed as" is a relation
    found = _LETTERS.sub(lambda word: f"<mi>{''.join(re.findall('>(.)<', word[0]))}</mi>", found)
    space = '<mspace width="0.17em"/>'
    return _AFTER.sub(rf"\1{space}", _BEFORE.sub(rf"\1{space}", found))


def on_page_content(content: str, **_: object) -> str:
    """Called by mkdocs with the HTML of each page."""
    return _FORMULA.sub(
        lambda found: render(html.unescape(found[3]), "block" if found[2] == "[" else "inline"), content
    )
