"""What the command `ssep` does with its arguments, and with what goes wrong."""

import os
import sys
import warnings
from collections.abc import Sequence

import jax

from ssep.cli.options import parser
from ssep.cli.saying import mute
from ssep.cli.wording import in_options


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the code with which the process should end.

    That is 0 if all went well, 1 if data, files or a model are to blame, 2 for arguments that cannot be understood,
    130 after Ctrl-C.

    Args:
        argv: The arguments; those of the process by default.
    """
    # SciPy's OpenBLAS, behind JAX's linear algebra on CPUs, is loaded with the first factorisation: not yet.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    jax.config.update("jax_enable_x64", True)
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as ended:  # after help, or an argument that cannot be understood
        return int(ended.code or 0)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _show_warning
        try:
            arguments.run(arguments)
        except BrokenPipeError:  # whoever read the output has seen enough
            mute()
        except KeyboardInterrupt:
            print("ssep: interrupted", file=sys.stderr)
            return 130
        except (ValueError, RuntimeError, ImportError, OSError) as error:
            if arguments.traceback:
                raise
            print(f"ssep: error: {in_options(str(error))}", file=sys.stderr)
            return 1
    return 0


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"ssep: warning: {message}", file=sys.stderr)
