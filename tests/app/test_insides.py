"""What reaches into Streamlit: sessions that have ended leave nothing, and other versions of it run, too."""

import asyncio
import logging
from types import SimpleNamespace

import pytest
import waiting
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from rbmviz_app import insides

SCRIPT = ScriptData("none.py", False)


@pytest.fixture(autouse=True)
def no_mend(monkeypatch):
    monkeypatch.setattr(insides, "_tidying", [])


@pytest.fixture
def server(clock):
    """The parts of Streamlit's runtime that are reached into, as Streamlit makes them."""
    files, storage = MemoryUploadedFileManager("/upload"), MemorySessionStorage(ttl_seconds=600)
    storage._cache._timer = clock
    manager = WebsocketSessionManager(storage, files, ScriptCache(), None)
    return SimpleNamespace(_session_mgr=manager, _uploaded_file_mgr=files)


def open_page(server, session=None):
    return server._session_mgr.connect_session(SimpleNamespace(), SCRIPT, {}, existing_session_id=session)


def test_sessions_expire_though_no_visitor_comes(server, clock):
    async def test():
        insides.mend(server)
        storage = server._session_mgr._session_storage
        server._session_mgr.disconnect_session(open_page(server))
        clock.now += 599
        insides.tidy()
        assert len(storage._cache._data) == 1
        clock.now += 2
        insides.tidy()
        assert len(storage._cache._data) == 0

    waiting.run(asyncio.wait_for(test(), 60))


def test_server_runs_unpatched_on_unknown_streamlit(server, caplog):
    server._session_mgr = SimpleNamespace()
    with caplog.at_level(logging.WARNING):
        insides.mend(server)
    [ours] = [record.getMessage() for record in caplog.records if record.name.startswith("rbmviz")]
    assert ours.startswith("Streamlit has changed inside (")
    insides.tidy()
