"""What is wrong with a text, and where."""

import re


class ExpressionError(ValueError):
    """A text that cannot be read, with the place where reading ended.

    Attributes:
        text: The whole text.
        position: The index in it of the first character that does not fit.
    """

    def __init__(self, message: str, text: str, position: int):
        begin = text.rfind("\n", 0, position) + 1
        line = text[begin:].split("\n")[0]
        # Tabs stay, so that the caret stands below its character.
        indent = re.sub(r"[^\t]", " ", text[begin:position])
        super().__init__(f"{message}\n\n    {line}\n    {indent}^")
        self.text = text
        self.position = position
