"""Patches of Streamlit's internals, which its API does not guarantee.

``mend`` applies them while the server starts, after checking each internal. If one has changed, the server
runs without that patch and logs one line.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from streamlit import runtime
from streamlit.runtime.app_session import AppSession
from streamlit.watcher import polling_path_watcher

log = logging.getLogger(__name__)

SETTINGS_SECONDS = 1.0
"""Seconds between checks of Streamlit's settings files, which nobody edits while the server runs.

Streamlit checks five times a second, using 0.2 % of a core, and has no option for this.
"""

STOP_SECONDS = 1.0
"""Seconds after which most scripts of closed browsers have stopped."""

_tidying: list[Callable[[], object]] = []
_stored_bytes: list[Callable[[], dict[str, int]]] = []


def mend(server: Any) -> None:
    """Patch Streamlit, wherever its internals are as expected.

    Parameters
    ----------
    server : streamlit.runtime.Runtime
        The started runtime of this process.
    """
    _tidying.clear()
    _stored_bytes.clear()
    for reach, without in (
        (_look_rarely_at_settings, "settings files are read five times a second"),
        (_forget_sessions, "sessions that have ended keep their memory until the next visitor comes"),
        (_close_loops, "each page that was left keeps three file descriptors for ten minutes"),
        (_count_uploads, "files that are uploaded, and belong to no page, are not counted"),
    ):
        try:
            reach(server)
        except (AttributeError, TypeError) as changed:
            log.warning("Streamlit has changed inside (%s): %s.", changed, without)


def tidy() -> None:
    """Drop expired sessions, and close what pages left open; for the event loop."""
    for do in _tidying:
        do()


def stored_bytes() -> dict[str, int]:
    """Return the bytes of the files that Streamlit holds, by session id."""
    return {session: n for found in _stored_bytes for session, n in found().items()}


def page_is_open() -> bool:
    """Return whether the browser of this thread's script is connected; True without a server."""
    context = runtime.scriptrunner.get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return True
    return runtime.get_instance().is_active_session(context.session_id)


def _look_rarely_at_settings(server: Any) -> None:
    _there(polling_path_watcher, "_POLLING_PERIOD_SECS")
    polling_path_watcher._POLLING_PERIOD_SECS = SETTINGS_SECONDS  # type: ignore[misc]


def _forget_sessions(server: Any) -> None:
    """Make sessions expire by the clock: Streamlit drops them only when it stores another one."""
    expire = server._session_mgr._session_storage._cache.expire
    expire()
    _tidying.append(expire)


def _close_loops(server: Any) -> None:
    """Close the event loop of a disconnected session; a reconnected session gets a new loop.

    Streamlit gives each session a loop for libraries that look for one, at three file descriptors each. If a
    script is still running when its browser disconnects, Streamlit stops it, and its loop is closed later.
    """
    manager = server._session_mgr
    connect, disconnect, stored = (
        manager.connect_session,
        manager.disconnect_session,
        manager._session_storage.list,
    )
    _assigned(AppSession, "_script_event_loop", "_scriptrunner")

    def close(session: Any) -> None:
        loop, back = session._script_event_loop, manager.is_active_session(session.id)
        if session._scriptrunner is None and not back and not loop.is_running():
            loop.close()

    def disconnect_session(session_id: str) -> None:
        left = manager.get_active_session_info(session_id)
        disconnect(session_id)
        if left is not None:
            close(left.session)
            asyncio.get_running_loop().call_later(STOP_SECONDS, close, left.session)

    def connect_session(*args: Any, **kwargs: Any) -> str:
        session_id: str = connect(*args, **kwargs)
        session = manager.get_active_session_info(session_id).session
        if session._script_event_loop.is_closed():
            session._script_event_loop = asyncio.new_event_loop()
        return session_id

    manager.disconnect_session, manager.connect_session = disconnect_session, connect_session

    def close_all() -> None:
        for info in stored():
            close(info.session)

    _tidying.append(close_all)


def _count_uploads(server: Any) -> None:
    files, lock = server._uploaded_file_mgr.file_storage, server._uploaded_file_mgr._lock

    def found() -> dict[str, int]:
        with lock:
            return {
                session: sum(len(file.data) for file in of_session.values())
                for session, of_session in files.items()
            }

    found()
    _stored_bytes.append(found)


def _there(holder: Any, *names: str) -> None:
    """Raise AttributeError unless an object has these attributes."""
    for name in names:
        getattr(holder, name)


def _assigned(kind: type, *names: str) -> None:
    """Raise AttributeError unless the constructor of a class sets these attributes."""
    for name in names:
        if name not in kind.__init__.__code__.co_names:  # type: ignore[misc]
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
