"""Files on their way to Streamlit: measured against the server's memory before they are read."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from waiting import run

from rbmviz.session import memory
from rbmviz_app import uploads

MB = 10**6


@pytest.fixture
def held(monkeypatch):
    """The files that Streamlit holds, by name: their bytes are part of the process, which has 10 MB left."""
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "520")
    held = {}
    monkeypatch.setattr(memory, "process_bytes", lambda: 510 * MB + sum(held.values()))
    return held


@pytest.fixture
def client(held):
    async def store(request):
        held[request.path_params["file"]] = len(await request.body())
        return PlainTextResponse("", 204)

    routes = [Route(uploads.ROUTE + "{session}/{file}", store, methods=["PUT", "DELETE"])]
    app = Starlette(routes=routes, middleware=[Middleware(uploads.CountedUploads)])
    with TestClient(app) as client:
        yield client


def put(client, name, size):
    return client.put(f"{uploads.ROUTE}session/{name}", content=bytes(size))


def test_file_larger_than_half_of_what_is_left_is_refused(client, held):
    assert put(client, "a", 5 * MB + 1).status_code == 413
    assert put(client, "a", 5 * MB).status_code == 204
    assert put(client, "b", 3 * MB).status_code == 413  # half of 5
    assert put(client, "b", 2 * MB).status_code == 204
    assert held == {"a": 5 * MB, "b": 2 * MB}
    assert (
        "The server has no room for this file of 3 MB: one may have 2 MB now" in put(client, "b", 3 * MB).text
    )
    held.clear()  # their sessions have ended
    assert put(client, "b", 5 * MB).status_code == 204


def test_a_file_of_no_length_is_not_read(client, held):
    answer = client.put(f"{uploads.ROUTE}session/a", content=iter([b"1", b"2"]))
    assert (answer.status_code, held) == (411, {})


def test_files_that_are_still_coming_are_counted(held):
    answers = []

    async def store(scope, receive, send):
        if scope["path"].endswith("first"):  # while it comes, another one begins
            await ask("second", 3 * MB)

    async def ask(name, size):
        async def receive():
            return {"type": "http.request", "more_body": False}

        async def send(message):
            answers.append(message.get("status"))

        headers = [(b"content-length", str(size).encode())]
        await middleware(
            {"type": "http", "method": "PUT", "path": uploads.ROUTE + name, "headers": headers}, receive, send
        )

    middleware = uploads.CountedUploads(store)
    run(ask("first", 5 * MB))
    assert answers[0] == 413
    answers.clear()
    run(ask("second", 3 * MB))
    assert answers == []
