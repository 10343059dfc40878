"""``python -m benchmarks``: a command like those of ``rbmviz``, in a checkout."""

import sys
from collections.abc import Sequence

from rbmviz import cli

cli.COMMANDS["bench"] = cli.Entry("benchmarks.command", "bench", "Time kernels, samplers and a visitor.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and return the exit status; arguments: default ``sys.argv[1:]``."""
    return cli.main(["bench", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
