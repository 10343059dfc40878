"""``python -m benchmarks``: a command like those of ``rbmviz``, in a checkout."""

import sys
from collections.abc import Sequence

from rbmviz import cli

NAME = "python -m benchmarks"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and return the exit status.

    arguments : arguments of the command line (default ``sys.argv[1:]``)
    """
    cli.COMMANDS[NAME] = ("benchmarks.command:bench", "Time kernels, samplers and a visitor.")
    return cli.main([NAME, *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
