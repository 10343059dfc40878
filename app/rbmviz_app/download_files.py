"""Files of download buttons, and the page's icon: keep them until the browser has had time to fetch them.

Without this module, Streamlit makes a button's file after the click, sends its address to the browser, and
deletes the file once two fragments of any page on the server have been drawn. Charts are drawn every second,
and a busy browser asks later. Each script run recreates the icon, which is missing in between. A button's
file maker is deleted when a script run replaces the button, so a click on the old button comes too late. The
answer to a click can get lost: a script run that begins at that moment discards it with all other unsent
messages, and the button waits for three minutes. And if a file cannot be made yet, nobody learns why.

With it, files and their makers stay for FETCH_SECONDS, and answers are always sent, with the reason for a
failure.
"""

import asyncio
import logging
import time
from collections import deque
from typing import NamedTuple

from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError

from rbmviz.errors import BadInput

log = logging.getLogger(__name__)

FETCH_SECONDS = 60.0
"""How long to keep a file, or a button's file maker, after Streamlit would have deleted it."""

MAX_BYTES = 200_000_000
"""Maximum total bytes of files that wait to be deleted; the oldest goes first."""


class Abandoned(NamedTuple):
    """A file that Streamlit has deleted: id, time and size."""

    file_id: str
    at: float
    size: int


class FetchedLater:
    """Delayed deletion of files and of buttons' file makers, for a manager.

    Parameters
    ----------
    manager : MediaFileManager
        Streamlit's manager; it holds its lock when it asks its storage to delete a file.
    """

    def __init__(self, manager: MediaFileManager) -> None:
        self.manager = manager
        self._storage = manager._storage
        self._delete = self._storage.delete_file
        self._abandoned: deque[Abandoned] = deque()
        self._storage.delete_file = self.delete  # type: ignore[method-assign]
        self._replaced: dict[str, float] = {}  # ids of buttons, and when they were replaced
        manager._remove_orphaned_deferred_callables = self._drop_replaced  # type: ignore[method-assign]

    def delete(self, file_id: str) -> None:
        """Delete a file later. The manager's lock is held."""
        file = self.manager.read_file(file_id)
        if file is not None:
            self._abandoned.append(Abandoned(file_id, time.monotonic(), len(file.content)))
            self._delete_old()
        else:
            self._delete(file_id)

    def delete_old(self) -> None:
        """Delete what has expired."""
        with self.manager._lock:
            self._delete_old()
            self._drop_replaced()

    def _delete_old(self) -> None:
        total = sum(one.size for one in self._abandoned)
        while self._abandoned:
            oldest = self._abandoned[0]
            if total <= MAX_BYTES and time.monotonic() - oldest.at < FETCH_SECONDS:
                return
            self._abandoned.popleft()
            total -= oldest.size
            again = any(other.file_id == oldest.file_id for other in self._abandoned)
            if not again and oldest.file_id not in self.manager._file_metadata:  # and not made again
                self._delete(oldest.file_id)

    def _drop_replaced(self) -> None:
        """Drop file makers of buttons that were replaced a while ago. The manager's lock is held."""
        manager, now = self.manager, time.monotonic()
        on_pages = {one for ids in manager._files_by_session_and_coord.values() for one in ids.values()}
        self._replaced = {
            one: self._replaced.get(one, now) for one in manager._deferred_callables if one not in on_pages
        }
        for one, since in self._replaced.items():
            if now - since >= FETCH_SECONDS:
                manager._drop_deferred_id(one)


_clear = ForwardMsgQueue.clear


def clear_but_answers(
    queue: ForwardMsgQueue,
    retain_lifecycle_msgs: bool = False,
    fragment_ids_this_run: list[str] | None = None,
) -> None:
    """Clear the unsent messages of a browser, but keep answers to clicks when a script run begins."""
    before = queue._queue
    _clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)
    if retain_lifecycle_msgs:  # a run begins; otherwise everything has been sent
        kept = {id(message) for message in queue._queue}
        queue._queue += [
            message
            for message in before
            if message.WhichOneof("type") == "backend_operation_response" and id(message) not in kept
        ]


async def answer_or_reason(
    handler: DeferredFileHandler, request: BackendOperationRequest, session_id: str
) -> BackendOperationResponse:
    """Answer a click with the address of its file, or with the message of the BadInput raised."""
    manager, file_id = handler._get_media_file_mgr(), request.deferred_file.file_id
    answer = BackendOperationResponse(request_id=request.request_id)
    try:
        answer.deferred_file.url = await asyncio.to_thread(manager.execute_deferred, file_id)
    except MediaFileStorageError as error:
        if isinstance(error.__cause__, BadInput):
            answer.error_msg = str(error.__cause__)
        else:
            log.exception("a file could not be made")
            answer.error_msg = "This file could not be made: the log of the server says why."
    return answer


_installed: list[FetchedLater] = []


def stay_until_fetched() -> None:
    """Keep files and answers to clicks, and report why a file cannot be made; idempotent."""
    if not runtime.exists():
        return
    DeferredFileHandler.handle = answer_or_reason  # type: ignore[assignment,method-assign]
    ForwardMsgQueue.clear = clear_but_answers  # type: ignore[assignment,method-assign]
    manager = runtime.get_instance().media_file_mgr
    if manager.can_read_files and all(one.manager is not manager for one in _installed):
        _installed[:] = [FetchedLater(manager)]


def delete_old() -> None:
    """Delete the expired files; called every few seconds."""
    for one in _installed:
        one.delete_old()
