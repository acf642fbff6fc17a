"""Words for whoever runs a command, and for nobody if nobody listens."""

import os
import sys
from collections.abc import Callable

Say = Callable[[str], None]


def speaker(quiet: bool) -> Say:
    """A function that prints at once; work goes on when the other end of a pipe is closed."""

    def say(text: str) -> None:
        if quiet:
            return
        try:
            print(text, flush=True)
        except BrokenPipeError:
            mute()

    return say


def mute() -> None:
    """Let what is still printed go nowhere, so that Python does not complain about a closed pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
