"""Files of download buttons, and the page's icon: they stay until the browser has had time to fetch them.

Streamlit makes the file of a button after the click and tells the browser its address. Nothing of the page
refers to it: when two parts of any page on the server have been drawn since, it is deleted. Charts are drawn
every second, and a browser that was busy asked later, for a file that was no longer there. The icon is made
anew by each run of the script, and was missing between two.
"""

import time
from collections import deque
from typing import NamedTuple

from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager

FETCH_SECONDS = 60.0
"""How long a file stays after Streamlit would have deleted it."""

MAX_BYTES = 200_000_000
"""Size of all such files together; the oldest goes first."""


class Abandoned(NamedTuple):
    """A file that Streamlit has deleted: its id, when, and its size."""

    file_id: str
    at: float
    size: int


class FetchedLater:
    """Deletes files a while after it was asked to, in the storage of a manager.

    Parameters
    ----------
    manager : MediaFileManager
        Streamlit's; it holds its lock when it lets its storage delete a file.
    """

    def __init__(self, manager: MediaFileManager) -> None:
        self.manager = manager
        self._storage = manager._storage
        self._delete = self._storage.delete_file
        self._abandoned: deque[Abandoned] = deque()
        self._storage.delete_file = self.delete  # type: ignore[method-assign]

    def delete(self, file_id: str) -> None:
        """Delete a file later. The manager's lock is held."""
        file = self.manager.read_file(file_id)
        if file is not None:
            self._abandoned.append(Abandoned(file_id, time.monotonic(), len(file.content)))
            self._delete_old()
        else:
            self._delete(file_id)

    def delete_old(self) -> None:
        """Delete what has stayed for long enough."""
        with self.manager._lock:
            self._delete_old()

    def _delete_old(self) -> None:
        total = sum(one.size for one in self._abandoned)
        while self._abandoned:
            oldest = self._abandoned[0]
            if total <= MAX_BYTES and time.monotonic() - oldest.at < FETCH_SECONDS:
                return
            self._abandoned.popleft()
            total -= oldest.size
            again = any(other.file_id == oldest.file_id for other in self._abandoned)
            if not again and oldest.file_id not in self.manager._file_metadata:  # nor has it been made again
                self._delete(oldest.file_id)


_installed: list[FetchedLater] = []


def stay_until_fetched() -> None:
    """Let files stay, from now on; a second call does nothing."""
    if not runtime.exists():
        return
    manager = runtime.get_instance().media_file_mgr
    if manager.can_read_files and all(one.manager is not manager for one in _installed):
        _installed[:] = [FetchedLater(manager)]


def delete_old() -> None:
    """Delete the files that have stayed for long enough; called every few seconds."""
    for one in _installed:
        one.delete_old()
