"""`python -m ssep` is the command `ssep`."""

import sys

from ssep.cli import main

if __name__ == "__main__":
    sys.exit(main())
