"""The command line: `ssep fit`, `ssep predict`, `ssep demo`, `ssep info`."""

from ssep.cli.command import main as main
