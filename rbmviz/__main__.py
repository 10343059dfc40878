"""Entry point of ``python -m rbmviz`` and the console script: one command, from start to exit.

Little is imported here, because an interrupt before ``main`` would end in a traceback. ``rbmviz.cli.signals``
handles interrupts while a command runs.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End the process at once: nothing has been computed yet, or only printing is left."""
    try:
        os.write(2, b"Interrupted.\n")
    except OSError:
        pass
    os._exit(130)


def main() -> int:
    """Run the command of this process and return its exit status."""
    stops = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # nohup makes the process ignore SIGHUP; keep ignoring it.
    stops = [number for number in stops if signal.getsignal(number) is not signal.SIG_IGN]
    for number in stops:
        signal.signal(number, _leave)
    if hasattr(sys.stdout, "reconfigure"):
        # A file name may hold bytes that are not characters in any encoding.
        sys.stdout.reconfigure(errors="backslashreplace")
    from rbmviz.cli import main as run

    status = run()
    if status == 130:
        os._exit(status)  # does not wait for threads with results that nobody needs any more
    for number in stops:
        signal.signal(number, signal.SIG_IGN)  # the status is final: no signal may turn it into a traceback
    return status


if __name__ == "__main__":
    sys.exit(main())
