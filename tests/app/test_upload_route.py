"""Files on their way to Streamlit: counted before they are read."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from rbmviz import BadInput
from rbmviz.session import memory
from rbmviz_app import insides, uploads

MB = 10**6


@pytest.fixture
def held(monkeypatch):
    """The bytes that Streamlit holds, by session; 10 MB are free, half of them for the first."""
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "520")
    uploads.uploaded_files.clear()
    held = {}
    monkeypatch.setattr(memory, "process_bytes", lambda: 510 * MB + sum(held.values()))
    monkeypatch.setattr(insides, "stored_bytes", lambda: held)
    yield held
    uploads.uploaded_files.clear()


@pytest.fixture
def client(held):
    async def store(request):
        session, n = request.path_params["session"], len(await request.body())
        held[session] = held.get(session, 0) + n
        return PlainTextResponse("", 204)

    routes = [Route(uploads.ROUTE + "{session}/{file}", store, methods=["PUT", "DELETE"])]
    app = Starlette(routes=routes, middleware=[Middleware(uploads.CountedUploads)])
    with TestClient(app) as client:
        yield client


def put(client, session, size):
    return client.put(f"{uploads.ROUTE}{session}/file", content=bytes(size))


def test_files_are_refused_at_the_limit_of_a_visitor_and_of_all(client, held):
    statuses = [put(client, "a", MB).status_code for _ in range(40)]
    assert statuses == [204] * 5 + [413] * 35  # half of 10 MB
    assert put(client, "b", 3 * MB).status_code == 413
    assert put(client, "b", 2 * MB).status_code == 204  # half of what a leaves
    assert held == {"a": 5 * MB, "b": 2 * MB}
    assert "The server has no room for this file of 3 MB" in put(client, "b", 3 * MB).text
    held.clear()  # their sessions have ended
    assert put(client, "b", 3 * MB).status_code == 204
    assert uploads.uploaded_files()._coming == {}


def test_a_file_of_no_length_is_not_read(client, held):
    answer = client.put(f"{uploads.ROUTE}a/file", content=iter([b"1", b"2"]))
    assert (answer.status_code, held) == (411, {})


def test_files_that_are_still_coming_are_counted(held):
    files = uploads.uploaded_files()
    files.expect("a", 3 * MB)
    with pytest.raises(BadInput):
        files.expect("a", 3 * MB)
    files.came("a", 3 * MB)
    files.expect("a", 3 * MB)
