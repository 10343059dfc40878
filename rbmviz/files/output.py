"""Atomic writing of files, and the error messages for files that cannot be written."""

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rbmviz.errors import BadInput, OutputFailure, shortened


def reason(error: OSError) -> str:
    """Return the operating system's reason for a refusal, in a few words: "no space left on device"."""
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn every ``OSError`` in the block into an ``OutputFailure`` that names this file."""
    try:
        yield
    except OutputFailure:
        raise
    except OSError as error:
        raise OutputFailure(f"'{path}' cannot be written: {reason(error)}.") from error


def neighbour(path: Path) -> Path:
    """Return a new hidden path in the same folder, ``.name.xxxxxxxx``, which identifies leftovers."""
    # A file name has at most 255 bytes, and 'name' may use all of them.
    name = os.fsencode(path.name)[:200].decode(errors="ignore")
    return path.with_name(f".{name}.{secrets.token_hex(4)}")


def write_whole(path: str | Path, content: bytes | Callable[[IO[bytes]], None]) -> None:
    """Write a file completely or not at all: write a temporary file beside it, flush it to disk, rename it.

    content : the bytes, or a function that writes them into an open file

    A symbolic link is followed and stays a link. A new file gets the permissions that the umask allows; a
    replaced file keeps its own.

    Raises BadInput if the folder does not exist, or if the path is a folder or a device. Raises OutputFailure
    if the system refuses (the disk is full or read-only, for example). No file is left behind.
    """
    target = output_path(path)
    with writing(path):
        beside = neighbour(target)
        try:
            with open(beside, "xb") as file:
                content(file) if callable(content) else file.write(content)
                file.flush()
                os.fsync(file.fileno())  # without it, a power failure may leave an empty file
            put_in_place(beside, target)
        except BaseException:  # an interrupt may arrive even after the rename
            beside.unlink(missing_ok=True)
            raise


def put_in_place(whole: Path, target: Path) -> None:
    """Give a finished file its final name, and the permissions of the file that it replaces."""
    with suppress(FileNotFoundError):
        whole.chmod(stat.S_IMODE(target.stat().st_mode))
    whole.replace(target)


def output_path(path: str | Path) -> Path:
    """Return the path that will be written, with symbolic links resolved.

    Raises BadInput if the path cannot be a file: its folder does not exist, it is a folder or a device, or
    its name is too long. Raises OutputFailure if the system refuses access, or the existing file is
    write-protected.
    """
    if not os.fspath(path):
        raise BadInput("An output file has an empty name: name a file.")
    short, target = shortened(str(path)), Path(os.path.realpath(path))
    try:
        exists = bool(os.lstat(target))
    except (FileNotFoundError, NotADirectoryError):
        exists = False
    except OSError as error:
        raise BadInput(f"'{short}' cannot be the name of a file: {reason(error)}.") from None
    if not os.path.isdir(target.parent):
        raise BadInput(f"The folder '{Path(path).parent}' does not exist; make it, or name another file.")
    if exists and not os.path.isfile(target):  # a folder, a device, a pipe, or a link to itself
        raise BadInput(f"'{short}' is not a file: name another.")
    if exists and not os.access(target, os.W_OK):  # a rename would ignore the protection
        raise OutputFailure(f"'{short}' cannot be written: it is write-protected.")
    return target


def check_writable(path: str | Path) -> None:
    """Check early that a file can be written: create an empty file beside the target, and remove it.

    Raises BadInput or OutputFailure, as ``write_whole`` would.
    """
    beside = neighbour(output_path(path))
    with writing(path):
        try:
            beside.touch(exist_ok=False)
        finally:
            beside.unlink(missing_ok=True)
