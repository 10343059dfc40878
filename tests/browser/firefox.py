"""Firefox, driven over WebDriver BiDi, which it speaks by itself on a WebSocket."""

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """One window of Firefox; see ``smoke.Browser``."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._number = connection, 0
        self._entries: list[dict[str, Any]] = []
        self._send("session.new", capabilities={})
        self._window = self._send("browsingContext.getTree")["contexts"][0]["context"]
        self._send("session.subscribe", events=["log.entryAdded"])

    def _send(self, method: str, **params: Any) -> Any:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._connection.recv(timeout=60))
            if answer.get("method") == "log.entryAdded":
                self._entries.append(answer["params"])
            elif answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, address: str) -> None:
        """Go to an address, and forget what the console has said before."""
        self._address = address
        self._send("browsingContext.navigate", context=self._window, url=address, wait="complete")
        self._entries.clear()

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self._send(
            "script.evaluate", expression=expression, target={"context": self._window}, awaitPromise=True
        )
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    def errors(self) -> list[str]:
        """Return the errors of the console; those about Streamlit's own requests are not ours."""
        self.evaluate("true")  # what was said until now comes before the answer
        errors = [entry["text"] for entry in self._entries if entry["level"] == "error"]
        return [text for text in errors if "_stcore" not in text and "webhooks.fivetran" not in text]


@contextlib.contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """Start Firefox without a window on the screen, with a profile below this folder; end it afterwards."""
    assert FIREFOX is not None, "no Firefox on this machine: 'apt install firefox-esr'"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    profile = folder / "firefox"
    profile.mkdir()
    # A profile of its own that asks the network for nothing.
    lines = ("app.update.enabled", "datareporting.policy.dataSubmissionEnabled", "app.normandy.enabled")
    (profile / "user.js").write_text("".join(f'user_pref("{name}", false);\n' for name in lines))
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile)]
    with (folder / "firefox.txt").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--remote-debugging-port", str(port), "--width", "1280", "--height", "1000"],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + 60
        while True:
            try:
                connection = connect(f"ws://127.0.0.1:{port}/session", max_size=None, origin=None)
                break
            except OSError:
                assert time.monotonic() < end, "Firefox does not answer"
                time.sleep(0.2)
        with connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(30)
