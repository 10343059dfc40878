"""What reaches into Streamlit: sessions that have ended leave nothing, and other versions of it run, too."""

import asyncio
import logging
import sys
from types import SimpleNamespace

import psutil
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from rbmviz_app import insides

SCRIPT = ScriptData("none.py", False)


class Clock:
    """A clock that a test turns on."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def no_mend(monkeypatch):
    monkeypatch.setattr(insides, "_tidying", [])
    monkeypatch.setattr(insides, "_stored_bytes", [])


@pytest.fixture
def server():
    """The parts of Streamlit's runtime that are reached into, as Streamlit makes them."""
    files, storage = MemoryUploadedFileManager("/upload"), MemorySessionStorage(ttl_seconds=600)
    storage._cache._timer = Clock()
    manager = WebsocketSessionManager(storage, files, ScriptCache(), None)
    return SimpleNamespace(_session_mgr=manager, _uploaded_file_mgr=files)


def run(test):
    asyncio.run(asyncio.wait_for(test(), 60))


def open_page(server, session=None):
    return server._session_mgr.connect_session(SimpleNamespace(), SCRIPT, {}, existing_session_id=session)


def test_pages_that_were_left_keep_no_file_descriptor(server, caplog):
    async def test():
        insides.mend(server)
        open_page(server)  # the first one starts what all of them share
        before = psutil.Process().num_fds()
        sessions = [open_page(server) for _ in range(20)]
        assert psutil.Process().num_fds() >= before + 40  # Streamlit's loops
        for session in sessions:
            server._session_mgr.disconnect_session(session)
        assert psutil.Process().num_fds() <= before
        assert open_page(server, sessions[3]) == sessions[3]  # it comes back, to a loop that is open
        assert not server._session_mgr.get_active_session_info(
            sessions[3]
        ).session._script_event_loop.is_closed()

    run(test)
    assert not [record for record in caplog.records if record.name.startswith("rbmviz")]


def test_the_loop_of_a_script_that_runs_is_closed_later(server, monkeypatch):
    monkeypatch.setattr(insides, "STOP_SECONDS", 0.01)

    async def test():
        insides.mend(server)
        session = server._session_mgr.get_active_session_info(open_page(server)).session
        session._scriptrunner = SimpleNamespace(request_stop=lambda: None)
        server._session_mgr.disconnect_session(session.id)
        insides.tidy()
        assert not session._script_event_loop.is_closed()
        session._scriptrunner = None  # it has ended
        insides.tidy()
        assert session._script_event_loop.is_closed()
        # Who is back by then keeps the new loop.
        assert open_page(server, session.id) == session.id
        await asyncio.sleep(0.05)
        assert not session._script_event_loop.is_closed()
        server._session_mgr.disconnect_session(session.id)
        assert session._script_event_loop.is_closed()

    run(test)


def test_sessions_expire_though_no_visitor_comes(server):
    async def test():
        insides.mend(server)
        storage = server._session_mgr._session_storage
        server._session_mgr.disconnect_session(open_page(server))
        storage._cache._timer.now = 599
        insides.tidy()
        assert len(storage._cache._data) == 1
        storage._cache._timer.now = 601
        insides.tidy()
        assert len(storage._cache._data) == 0

    run(test)


def test_the_files_of_sessions_are_counted(server):
    insides.mend(server)
    for session, name, size in (("a", "x", 10), ("a", "y", 5), ("b", "z", 7)):
        server._uploaded_file_mgr.add_file(session, UploadedFileRec(name, name, "text/csv", bytes(size)))
    assert insides.stored_bytes() == {"a": 15, "b": 7}
    server._uploaded_file_mgr.remove_session_files("a")
    assert insides.stored_bytes() == {"b": 7}


def other_storage(server, monkeypatch):
    server._session_mgr._session_storage._cache = {}


def other_sessions(server, monkeypatch):
    monkeypatch.setattr(AppSession, "__init__", lambda session: None)


def other_manager(server, monkeypatch):
    server._session_mgr = SimpleNamespace()


def other_files(server, monkeypatch):
    server._uploaded_file_mgr.file_storage = [1]


CHANGES = {
    other_storage: 1,
    other_sessions: 1,
    other_manager: 2,
    other_files: 1,
}
"""What may change in Streamlit, and how many mends then are left out."""


def mended():
    """Return how many mends act."""
    return sum(map(len, (insides._tidying, insides._stored_bytes)))


@pytest.mark.parametrize(("change", "lines"), CHANGES.items())
def test_server_runs_unpatched_on_unknown_streamlit(change, lines, server, monkeypatch, caplog):
    change(server, monkeypatch)
    with caplog.at_level(logging.WARNING):
        insides.mend(server)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("rbmviz")]
    assert len(ours) == lines
    assert all(text.startswith("Streamlit has changed inside (") for text in ours)
    assert mended() == 3 - lines
    insides.tidy()
    assert isinstance(insides.stored_bytes(), dict)


def test_without_a_server_every_page_is_open():
    assert insides.page_is_open()


def test_a_page_has_its_style_sheet_and_script_from_the_start(tmp_path, monkeypatch, caplog):
    sheet, script = tmp_path / "style.css", tmp_path / "tab.js"
    sheet.write_text(".ours { color: red }")
    script.write_text("let ours;")
    client = TestClient(Starlette(routes=insides.styled_pages(sheet, script, ["/train"])))
    page = client.get("/train")
    # after Streamlit's own rules, before those of single pages
    assert page.text.index("</head>") < page.text.index(".ours") < page.text.index('id="root"')
    assert "<script>let ours;</script>" in page.text
    assert page.headers["cache-control"] == "no-cache"
    (tmp_path / "index.html").write_text("<body class='new'></body>")
    monkeypatch.setattr("streamlit.file_util.get_static_dir", lambda: str(tmp_path))
    assert insides.styled_pages(sheet, script, ["/train"]) == []
    monkeypatch.setitem(sys.modules, "streamlit.file_util", None)  # there is no such module
    assert insides.styled_pages(sheet, script, ["/train"]) == []
    assert caplog.text.count("pages jump") == 2
