"""Routes of the app, served on this machine only, as they are by default."""

from contextlib import contextmanager

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rbmviz_app.access import guarded

HOME = "http://127.0.0.1:8501"


@contextmanager
def served(module, *middleware):
    """Serve the routes of a module behind the guard of the app and these layers; the value is a client."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RBMVIZ_PUBLIC", "RBMVIZ_HOSTS"):
            patch.delenv(name, raising=False)
        patch.setattr("rbmviz_app.access.config.get_option", lambda name: "127.0.0.1")
        patch.setattr(module, "base_path", lambda: "")
        app = Starlette(routes=module.routes, middleware=[*guarded(), *middleware])
        with TestClient(app, base_url=HOME) as client:
            yield client


def closed(socket):
    """Return code and reason of the end of a connection, frames before it left aside."""
    while (message := socket.receive())["type"] != "websocket.close":
        pass
    return message["code"], message.get("reason")
