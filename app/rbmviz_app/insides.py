"""Everything that uses internals of Streamlit, which its API does not guarantee.

``mend`` and ``styled_pages`` check all of them while the server starts. If one has changed, the server runs
without the feature that needs it, and logs one line.

============================================================== =============================================
internal names                                                 without them
============================================================== =============================================
``_session_mgr._session_storage._cache.expire``                ended sessions keep their memory until the
                                                               next visitor comes
``connect_session``, ``disconnect_session``,                   each page that a visitor leaves keeps three
``_session_storage.list``, ``AppSession._script_event_loop``,  file descriptors for ten minutes
``_scriptrunner``
``_uploaded_file_mgr.file_storage``, ``_lock``                 files that belong to no page are not counted
``BackMsg.rerun_script``: ``is_auto_rerun``, ``widget_states`` a click beside a timer may count twice
``ForwardMsg.auto_rerun``, ``ThreadState.fragment_id``,        charts are drawn every second, even for long
``get_script_run_ctx``                                         runs and on a busy server
``index.html`` of ``file_util.get_static_dir``                 pages jump when their style sheet arrives, and
                                                               a reloaded page begins anew
============================================================== =============================================
"""

import asyncio
import importlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime

log = logging.getLogger(__name__)

SELECTORS = {
    "stApp": "the app: gives our rules precedence over Streamlit's",
    "stMain": "the part that scrolls: a lesson's step starts at its top",
    "stMainBlockContainer": "the page: less empty space around it",
    "stHeader": "the navigation bar: leaves room for our buttons, and is gone in an embedded page",
    "stExpandSidebarButton": "opens the list of pages on a phone: says so",
    "stLayoutWrapper": "around a container: places it, as the row of controls that stays visible",
    "stVerticalBlock": "a container: smaller gaps",
    "stHorizontalBlock": "a row: smaller gaps, another order on a phone",
    "stColumn": "a column: below its neighbour on a phone and beside a lesson",
    "stElementContainer": "around an element: gives it a width or a height",
    "stHeading": "a heading: its size",
    "stMarkdownContainer": "a text: its links are large enough to touch",
    "stCaptionContainer": "a caption: enough contrast",
    "stAlert": "an error over the page: its box is drawn only while there is one",
    "stVegaLiteChart": "a chart: fitted to the window while presenting, hidden while a quiz asks",
    "stBidiComponent": "a component: has the panels in its shadow root",
    "stButton": "a button: large enough to touch, and its tooltip leaves after a click",
    "stButtonGroup": "buttons of one choice: beside their label",
    "stCheckbox": "a switch: large enough to touch",
    "stNumberInputContainer": "a number field: large enough to touch",
    "stPopover": "a popover's button: shows only its icon where room is short",
    "stSkeleton": "the place of a chart that is still loading: as high as the chart",
    "stSlider": "a slider: narrower, so that the controls fit in one row",
}
"""Streamlit's names for elements that our style sheets and scripts select, each with the reason.

If Streamlit renames one, its rule does nothing. Elements with a key are found by their key (``st-key-...``),
which Streamlit documents.
"""

STOP_SECONDS = 1.0
"""Seconds after which most scripts of closed browsers have stopped."""

_tidying: list[Callable[[], object]] = []
_stored_bytes: list[Callable[[], dict[str, int]]] = []
_messages: list[Any] = []  # the class of a browser's messages, once it has been checked
_fragments: list["Fragments"] = []


def mend(server: Any) -> None:
    """Patch Streamlit wherever its internals are as expected.

    server : the started runtime of this process
    """
    for mended in (_tidying, _stored_bytes, _messages, _fragments):
        mended.clear()  # type: ignore[attr-defined]
    for reach, without in (
        (_forget_sessions, "sessions that have ended keep their memory until the next visitor comes"),
        (_close_loops, "each page that was left keeps three file descriptors for ten minutes"),
        (_count_uploads, "files that are uploaded, and belong to no page, are not counted"),
        (_read_messages, "a click beside a timer may count twice"),
        (_find_fragments, "charts are drawn every second, also on a busy server"),
    ):
        try:
            reach(server)
        except (AttributeError, ImportError, TypeError, ValueError) as changed:
            log.warning("Streamlit has changed inside (%s): %s.", changed, without)


def styled_pages(style: Path, script: Path, paths: Iterable[str]) -> list[Route]:
    """Return routes that serve the pages at these paths with a style sheet and a script from the start.

    The app's own sheet arrives after the first elements, which would be drawn without it. The script runs
    before the page connects.
    """
    begin = "<body>"
    try:
        static: str = importlib.import_module("streamlit.file_util").get_static_dir()
        html = (Path(static) / "index.html").read_text(encoding="utf-8")
        if html.count(begin) != 1:
            raise ValueError(f"index.html has no single {begin}")
    except (AttributeError, ImportError, OSError, ValueError) as changed:
        log.warning(
            "Streamlit has changed inside (%s): pages jump when styled, and begin anew on a reload.", changed
        )
        return []

    def send(request: Request) -> HTMLResponse:
        # In the head, after Streamlit's own rules and before the rules of single pages: later ones win.
        # Read for each page, so that an edited sheet needs no restart.
        own = f"<style>{style.read_text('utf-8')}</style><script>{script.read_text('utf-8')}</script>"
        return HTMLResponse(html.replace(begin, begin + own), headers={"cache-control": "no-cache"})

    return [Route(path, send) for path in paths]


def tidy() -> None:
    """Drop expired sessions, and close loops that pages left open; call it on the server's event loop."""
    for do in _tidying:
        do()


def stored_bytes() -> dict[str, int]:
    """Return the bytes of the files that Streamlit holds, by session id."""
    return {session: n for count_bytes in _stored_bytes for session, n in count_bytes().items()}


def page_is_open() -> bool:
    """Return whether the browser of this thread's script is connected; True without a server."""
    context = runtime.scriptrunner.get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return True
    return runtime.get_instance().is_active_session(context.session_id)


def _forget_sessions(server: Any) -> None:
    """Make sessions expire by the clock: Streamlit drops them only when it stores another session."""
    expire = server._session_mgr._session_storage._cache.expire
    expire()
    _tidying.append(expire)


def _close_loops(server: Any) -> None:
    """Close the event loop of a disconnected session; a reconnected session gets a new loop.

    Streamlit gives each session a loop for libraries that need one; a loop takes three file descriptors. If
    a script is still running when its browser disconnects, Streamlit stops it, and its loop is closed later.
    """
    manager = server._session_mgr
    connect, disconnect, stored = (
        manager.connect_session,
        manager.disconnect_session,
        manager._session_storage.list,
    )
    session_class = importlib.import_module("streamlit.runtime.app_session").AppSession
    _assigned(session_class, "_script_event_loop", "_scriptrunner")

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

    def count_bytes() -> dict[str, int]:
        with lock:
            return {
                session: sum(len(file.data) for file in of_session.values())
                for session, of_session in files.items()
            }

    count_bytes()
    _stored_bytes.append(count_bytes)


MESSAGES = "/_stcore/stream"
"""Path of the WebSocket over which a page reports user input."""

CLICKS = {"trigger_value", "string_trigger_value", "chat_input_value", "json_trigger_value"}
"""Kinds of widget states that represent an event, not a lasting value."""


def _read_messages(server: Any) -> None:
    back_msg = importlib.import_module("streamlit.proto.BackMsg_pb2").BackMsg
    message = back_msg()
    state = message.rerun_script.widget_states.widgets.add(id="a button", trigger_value=True)
    message.rerun_script.is_auto_rerun = True
    if state.WhichOneof("value") not in CLICKS or not back_msg.FromString(message.SerializeToString()):
        raise AttributeError("a click is no 'trigger_value'")
    _messages.append(back_msg)


def without_clicks(content: bytes) -> bytes:
    """Return a message from the page, without clicks if a timer sent it.

    The page reports a click a moment later, in its own message. A timer (``run_every``) that fires in between
    sends all widget states, including the click. The click's callback would run twice: Undo would return to
    the preset just chosen, and one click would add two panels. The click's own message always follows.
    """
    for back_msg in _messages:
        try:
            message = back_msg.FromString(content)
        except DecodeError:  # for Streamlit to refuse
            return content
        if message.rerun_script.is_auto_rerun:
            states = message.rerun_script.widget_states.widgets
            stay = [state for state in states if state.WhichOneof("value") not in CLICKS]
            if len(stay) < len(states):
                del states[:]
                states.extend(stay)
                return bytes(message.SerializeToString())
    return content


class ClicksOnce:
    """Middleware that removes clicks from messages sent by timers, see ``without_clicks``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def receive_filtered() -> Message:
            message = await receive()
            if content := message.get("bytes"):
                message["bytes"] = without_clicks(content)
            return message

        ours = scope["type"] == "websocket" and scope["path"].endswith(MESSAGES)
        await self._app(scope, receive_filtered if ours else receive, send)


class Fragments:
    """The timers of fragments; Streamlit's API sets a timer only when a fragment is made."""

    def __init__(self) -> None:
        scriptrunner = importlib.import_module("streamlit.runtime.scriptrunner")
        utils = importlib.import_module("streamlit.runtime.scriptrunner_utils.script_run_context")
        self._message = importlib.import_module("streamlit.proto.ForwardMsg_pb2").ForwardMsg
        self._context, self._thread = scriptrunner.get_script_run_ctx, utils.ThreadState.get
        if "fragment_id" not in utils.FragmentThreadState.__dataclass_fields__:
            raise AttributeError("a thread has no 'fragment_id'")
        self._timer("a fragment", 1.0)

    def _timer(self, fragment_id: str, seconds: float) -> Any:
        message = self._message()
        message.auto_rerun.fragment_id, message.auto_rerun.interval = fragment_id, seconds
        return message

    def current(self) -> str:
        """Return the id of the fragment that this thread draws."""
        return str(self._thread().fragment_id)

    def set_interval(self, fragment_id: str, seconds: float) -> None:
        """See the function ``set_interval``."""
        context = self._context()
        if context is not None:
            context.enqueue(self._timer(fragment_id, seconds))


def _find_fragments(server: Any) -> None:
    _fragments.append(Fragments())


def set_interval(fragment_id: str, seconds: float) -> None:
    """Have the browser redraw a fragment at this interval from now on.

    Streamlit sends the same message for a fragment with a timer, but only when the fragment is made.
    """
    for fragments in _fragments:
        fragments.set_interval(fragment_id, seconds)


def fragment_id() -> str:
    """Return the id of the fragment that is being drawn; "" if its timer cannot be set."""
    return next((fragments.current() for fragments in _fragments), "")


def _assigned(kind: type, *names: str) -> None:
    """Raise AttributeError unless the constructor of a class sets these attributes."""
    for name in names:
        if name not in kind.__init__.__code__.co_names:  # type: ignore[misc]
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
