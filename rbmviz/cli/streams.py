"""Standard output and standard error that may be closed, full, or a pipe without a reader."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from typing import Any

from rbmviz.errors import OutputFailure
from rbmviz.files.output import reason


def _redirect_to_null(stream: Any) -> None:
    """Send a stream's buffered and later output to the null device; Python would flush it again at exit."""
    with suppress(OSError, ValueError, AttributeError):  # streams in tests have no file descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class _NeverFailing:
    """A text stream for messages; output that cannot be written is dropped, because the run must continue."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except (OSError, ValueError):
            _redirect_to_null(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            _redirect_to_null(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def never_failing_stderr() -> Iterator[None]:
    """Keep messages and progress bars from raising errors in the block."""
    if sys.stderr is None:  # closed: the next file opened would get its descriptor, and C code's messages
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    with redirect_stderr(_NeverFailing(sys.stderr)):  # type: ignore[type-var]
        yield


def check_stdout() -> None:
    """Raise OutputFailure if standard output is closed, before anything is computed."""
    if sys.stdout is None:
        raise OutputFailure("Standard output is closed: let the result go to a file or to /dev/null.")


def print_result(text: str) -> None:
    """Print a result on standard output; a reader may close the pipe early, as ``head`` does.

    Raises OutputFailure if standard output cannot be written.
    """
    try:
        print(text)  # noqa: T201
        sys.stdout.flush()
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)
    except OSError as error:
        _redirect_to_null(sys.stdout)
        raise OutputFailure(f"Standard output cannot be written: {reason(error)}.") from error
