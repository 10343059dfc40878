"""Standard output and error that are closed, full, or that nobody reads any more."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from typing import Any

from rbmviz.errors import OutputFailure
from rbmviz.output import reason


def _silence(stream: Any) -> None:
    """Let what a stream still holds, and all that comes, go nowhere: Python would try again at its end."""
    with suppress(OSError, ValueError, AttributeError):  # a test's stream has no number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class _Forgiving:
    """A text stream for messages: what cannot be written is dropped, for it is no reason to stop a run."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except (OSError, ValueError):
            _silence(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            _silence(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def forgiving_stderr() -> Iterator[None]:
    """Let no message and no progress bar fail inside."""
    if sys.stderr is None:  # closed; its number must not go to a file that C code then writes messages into
        sys.stderr = open(os.devnull, "w")
    with redirect_stderr(_Forgiving(sys.stderr)):  # type: ignore[type-var]
        yield


def check_stdout() -> None:
    """Refuse to compute what nobody can be told."""
    if sys.stdout is None:
        raise OutputFailure("Standard output is closed: let the result go to a file or to /dev/null.")


def put(text: str) -> None:
    """Print a result, whole.

    A reader that has seen enough (head, say) is no failure.

    Raises
    ------
    OutputFailure
        Where it cannot be written.
    """
    try:
        print(text)  # noqa: T201
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError as error:
        _silence(sys.stdout)
        raise OutputFailure(f"Standard output cannot be written: {reason(error)}.") from error
