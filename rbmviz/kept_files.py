"""Files that a server keeps for visitors: each under an unguessable id, for some days, in limited space.

An id is the only way to a file: nothing lists them. What is in a file is not trusted; whoever opens one reads
it through the same door as any file of that kind.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rbmviz.array_files import Damaged, is_file, printable, read_file
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.output import reason, write_whole
from rbmviz.paths import cache_dir

KEPT_DIR, KEPT_MB, KEPT_DAYS = "RBMVIZ_KEPT_DIR", "RBMVIZ_KEPT_MB", "RBMVIZ_KEPT_DAYS"
"""Environment variables: where the files lie, their megabytes in all, days after which one is removed."""

DEFAULT_KEPT_MB, DEFAULT_KEPT_DAYS = 1000, 30

MAX_SHARE = 10
"""One file takes at most 1 / MAX_SHARE of the space."""

MAX_KEPT_NAME = 200
"""Characters of the name of a file, as its owner knows it."""

MAX_FIRST_LINE = 4096
"""Bytes of the first line of a file, which says what it is."""

ID_PATTERN = re.compile(r"[0-9a-f]{24}")
"""96 random bits."""


KEPT_NAMES = re.compile(rf"{ID_PATTERN.pattern}|\.{ID_PATTERN.pattern}\.[0-9a-f]{{8}}")
"""Names of kept files, and of what an interrupted write has left."""


def new_id() -> str:
    """Return 96 random bits as hexadecimal digits."""
    return secrets.token_hex(12)


def is_id(text: str) -> bool:
    """Return whether a text is an id; only then may it become part of a path."""
    return ID_PATTERN.fullmatch(text) is not None


class KeptFile(NamedTuple):
    """A kept file.

    name : as its owner knows it; place : what it is for; owner : hash of the owner's secret
    """

    name: str
    place: str
    owner: str
    content: bytes

    def belongs_to(self, owner: str) -> bool:
        """Return whether the owner's secret is this one."""
        return secrets.compare_digest(self.owner, _hashed(owner))


def _hashed(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()


class Gone(BadInput):
    """There is no file with this id, or no longer."""


@dataclass(frozen=True)
class KeptFiles:
    """The folder of the kept files.

    Parameters
    ----------
    folder : Path
        Made with mode 0700 when the first file is kept.
    n_bytes : int
        Bytes of all files together.
    seconds : float
        A file that nobody has opened or written for this long is removed.
    """

    folder: Path
    n_bytes: int
    seconds: float

    def put(self, name: str, place: str, owner: str, content: bytes, key: str = "") -> str:
        """Keep a file, whole or not at all; return its id.

        key : id that the file is to have, whose older file it replaces; "" (the default): a new one

        Raises
        ------
        BadInput
            If it is too large, or there is no room for it.
        OutputFailure
            If the system refuses: the disk is full, the folder is another user's.
        """
        key = key or new_id()
        header = {"name": printable(name)[:MAX_KEPT_NAME], "place": place, "owner": _hashed(owner)}
        whole = json.dumps(header).encode() + b"\n" + content
        if len(whole) > self.n_bytes // MAX_SHARE:
            raise BadInput(
                f"'{printable(name)[:60]}' has {len(whole) / 1e6:,.1f} MB and the server keeps files of at "
                f"most {self.n_bytes / MAX_SHARE / 1e6:,.1f} MB: download it instead."
            )
        with _WRITING:
            self._make_folder()
            others = sum(size for path, size in self._remove_old() if path.name != key)
            if others + len(whole) > self.n_bytes:
                raise BadInput(
                    f"The server has no room for more files of its visitors ({self.n_bytes / 1e6:,.0f} MB in "
                    "all): download it instead, or delete one that you have kept."
                )
            write_whole(self.path(key), whole)
        return key

    def get(self, key: str) -> KeptFile:
        """Return a file, whose age begins anew; ``Gone`` if it is not there, or no longer."""
        gone = Gone("What this link has kept on the server is gone, or was kept on another one.")
        if not is_id(key):
            raise gone
        path = self.path(key)
        try:
            if not is_file(path) or time.time() - path.stat().st_mtime > self.seconds:
                raise gone
            whole = read_file(path, "The kept file")
            os.utime(path)
        except (OSError, Damaged):
            raise gone from None
        first, _, content = whole.partition(b"\n")
        try:
            header = json.loads(first) if len(first) <= MAX_FIRST_LINE else {}
        except (ValueError, RecursionError):
            header = {}
        match header:
            case {"name": str(name), "place": str(place), "owner": str(owner)}:
                return KeptFile(printable(name)[:MAX_KEPT_NAME], place, owner, content)
        raise gone

    def delete(self, key: str, owner: str) -> None:
        """Delete a file now; BadInput if it is another owner's. One that is gone is no error."""
        try:
            kept = self.get(key)
        except Gone:
            return
        if not kept.belongs_to(owner):
            raise BadInput("Another visitor has kept this: only the browser that kept it can delete it.")
        self.path(key).unlink(missing_ok=True)

    def path(self, key: str) -> Path:
        """Return where the file with this id lies."""
        if not is_id(key):
            raise BadInput("This is no id of a kept file.")
        return self.folder / key

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = os.lstat(self.folder)
            ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if not stat.S_ISDIR(found.st_mode) or not ours:
                raise OutputFailure(f"'{self.folder}' is not a folder of the server's own: set {KEPT_DIR}.")
            if stat.S_IMODE(found.st_mode) & 0o077:
                self.folder.chmod(0o700)
        except OutputFailure:
            raise
        except OSError as error:
            raise OutputFailure(f"'{self.folder}' cannot be written: {reason(error)}.") from error

    def _remove_old(self) -> list[tuple[Path, int]]:
        """Remove what is too old and what interrupted writes have left; return the rest with its bytes."""
        rest = []
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                # Nothing else in the folder is touched, should it have been somebody's before.
                if not KEPT_NAMES.fullmatch(entry.name) or not stat.S_ISREG(found.st_mode):
                    continue
                if time.time() - found.st_mtime > self.seconds:
                    Path(entry.path).unlink(missing_ok=True)
                else:
                    rest.append((Path(entry.path), found.st_size))
        return rest


_WRITING = threading.Lock()
"""Held while a file is written: two at a time could find the same room."""


def kept_files() -> KeptFiles:
    """Return the kept files of this server, as the environment sets them.

    Raises
    ------
    BadInput
        If a variable is not a positive whole number of at most nine digits.
    """
    folder = os.environ.get(KEPT_DIR)
    return KeptFiles(
        Path(folder) if folder else cache_dir() / "kept",
        _whole(KEPT_MB, DEFAULT_KEPT_MB) * 10**6,
        _whole(KEPT_DAYS, DEFAULT_KEPT_DAYS) * 86_400,
    )


def _whole(variable: str, default: int) -> int:
    text = os.environ.get(variable) or str(default)
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) < 1:
        raise BadInput(f"{variable} = {text[:40]!r}: give a whole number from 1 up.")
    return int(text)
