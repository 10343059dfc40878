"""``python -m rbmviz`` and the console script: the command line as a process, from first to last.

Little is imported here, for what comes before ``main`` cannot be interrupted with grace. What a command does
with an interrupt while it runs, ``rbmviz.cli.signals`` says.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End at once: nothing has been computed yet, or all is done but for the printing."""
    try:
        os.write(2, b"Interrupted.\n")
    except OSError:
        pass
    os._exit(130)


def main() -> int:
    """Run the command of this process and return its exit status."""
    stops = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    stops = [number for number in stops if signal.getsignal(number) is not signal.SIG_IGN]  # nohup
    for number in stops:
        signal.signal(number, _leave)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may hold what no encoding has
    from rbmviz.cli import main as run

    status = run()
    if status == 130:
        os._exit(status)  # without waiting for threads that compute what nobody wants any more
    for number in stops:
        signal.signal(number, signal.SIG_IGN)  # the status stands; Python's end leaves no traceback
    return status


if __name__ == "__main__":
    sys.exit(main())
