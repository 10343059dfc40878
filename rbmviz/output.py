"""Files that are written whole or not at all, and the sentence that says why one could not be written."""

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rbmviz.errors import BadInput, OutputFailure

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than is allowed here",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "the operation is not permitted",
    errno.EIO: "the disk reports an error",
    errno.ENOENT: "its folder does not exist",
    errno.ENOTDIR: "its folder is a file",
    errno.EEXIST: "its folder is a file",
}
"""Why the system refuses to write, in words; the system's own words for what is not here."""


def reason(error: OSError) -> str:
    """Return in a few words why the system refused."""
    return REASONS.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn every error of the system inside into the OutputFailure of this file."""
    try:
        yield
    except OutputFailure:
        raise
    except OSError as error:
        raise OutputFailure(f"'{path}' cannot be written: {reason(error)}.") from error


def neighbour(path: Path) -> Path:
    """Return a new hidden name beside a file, ``.name.xxxxxxxx``, by which leftovers can be known."""
    # A name has at most 255 bytes, and 'name' may have them all.
    name = os.fsencode(path.name)[:200].decode(errors="ignore")
    return path.with_name(f".{name}.{secrets.token_hex(4)}")


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file whole or not at all: a temporary neighbour, flushed to the disk, then one rename.

    A link is followed, so that it stays one. A new file has the permissions that the umask leaves; one that
    is written over keeps its own.

    Raises
    ------
    BadInput
        Where the folder does not exist, or the path is one of a folder or device.
    OutputFailure
        Where the system refuses: the disk is full or read-only, for example. Nothing is left behind.
    """
    target = output_path(path)
    with writing(path):
        beside = neighbour(target)
        try:
            with open(beside, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # else a power failure may leave the name with nothing behind it
            put_in_place(beside, target)
        except BaseException:  # an interrupt can come after the rename, too
            beside.unlink(missing_ok=True)
            raise


def put_in_place(whole: Path, target: Path) -> None:
    """Give a finished file its final name, and the permissions of the file that it replaces."""
    with suppress(FileNotFoundError):
        whole.chmod(stat.S_IMODE(target.stat().st_mode))
    whole.replace(target)


def output_path(path: str | Path) -> Path:
    """Return where a file will really be written, links followed.

    Raises
    ------
    BadInput
        Where nothing can be written there by its name: no such folder, a folder, a device, too long a name.
    OutputFailure
        Where the system does not let us look, or the file that is there is write-protected.
    """
    if not os.fspath(path):
        raise BadInput("An output file has an empty name: name a file.")
    short = str(path) if len(str(path)) < 100 else f"{str(path)[:40]}..."
    try:
        target = Path(os.path.realpath(path))
        kind = os.lstat(target).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG  # what it will be
        if not target.parent.is_dir():
            folder = Path(path).parent
            raise BadInput(f"The folder '{folder}' does not exist; make it, or name another file.") from None
    except NotADirectoryError:
        folder = Path(path).parent
        raise BadInput(f"'{folder}' is not a folder but a file: name another output file.") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadInput(f"The name of the output file '{short}' is too long: name another.") from None
        raise OutputFailure(f"'{short}' cannot be written: {reason(error)}.") from error
    if stat.S_ISDIR(kind):
        raise BadInput(f"'{short}' is a folder: name a file.")
    if not stat.S_ISREG(kind):
        raise BadInput(f"'{short}' is a device, a pipe or a link to itself: name a file.")
    if target.exists() and not os.access(target, os.W_OK):  # a rename would not ask
        raise OutputFailure(f"'{short}' cannot be written: it is write-protected.")
    return target


def check_writable(path: str | Path) -> None:
    """Refuse now what could not be written later: make an empty file beside the target, and remove it.

    Raises
    ------
    BadInput, OutputFailure
        As ``write_whole`` would.
    """
    beside = neighbour(output_path(path))
    with writing(path):
        try:
            beside.touch(exist_ok=False)
        finally:
            beside.unlink(missing_ok=True)


def rescue(name: str, write: Callable[[Path], None]) -> Path | None:
    """Let ``write`` make a file in a new folder of the system's temporary folder, for want of a better place.

    Returns
    -------
    The file, or None where it cannot be written there, either.
    """
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="rbmviz-kept-"))
        write(folder / name)
        return folder / name
    except BaseException as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            return None
        raise


def write_or_rescue(path: str | Path, content: bytes) -> str:
    """Write a file whole, here or else in a temporary folder; return what to tell, "" where all is well."""
    try:
        write_whole(path, content)
    except (BadInput, OutputFailure) as error:  # the folder may have gone since it was checked
        kept = rescue(Path(path).name, lambda other: write_whole(other, content))
        return f"{error} " + (f"It is kept in '{kept}'." if kept else "It could be kept nowhere.")
    return ""
