"""Errors of the library, in the words of the command line."""

_WORDS = {
    "`parse_kernel(text)`": "`--kernel`",
    "`parse_likelihood(text)`": "`--likelihood`",
    "`parse_rule(text)`": "`--rule`",
    "`tables.read(unit)`": "`--unit`",
    "`Series.predict(step)`": "`--every`",
    "`step=`": "`--every`",
    "`at=`": "`ssep predict --times`",
    "`Data(aux=...)`": "`--exposure`",
    "`aux`": "`--exposure`",
    "Pass a single array with the shape of y.": "Name a column of the table.",
    "as NaN": "by an empty cell",
    "(NaN in y)": "(an empty cell)",
}


def in_options(message: str) -> str:
    """A message that names options where it named arguments of functions."""
    for python, option in _WORDS.items():
        message = message.replace(python, option)
    return message
