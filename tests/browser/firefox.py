"""Firefox, driven over WebDriver BiDi, which it speaks by itself on a WebSocket."""

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.waiting import free_port, wait

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """One window of Firefox."""

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
        left, end = self._realm(), time.monotonic() + 60
        self._send("browsingContext.navigate", context=self._window, url=address, wait="complete")
        # A page that sets its own address while it is left ends that wait too early.
        while self._realm() == left:
            assert time.monotonic() < end, f"{address} is not opened"
            time.sleep(0.05)
        self._entries.clear()

    def _evaluated(self, expression: str) -> dict[str, Any]:
        """Return the answer to a JavaScript expression: its result, and the realm of the page."""
        answer: dict[str, Any] = self._send(
            "script.evaluate", expression=expression, target={"context": self._window}, awaitPromise=True
        )
        assert answer["type"] == "success", answer
        return answer

    def _realm(self) -> str:
        """Return the id of the page that is there, another one each time a page is opened."""
        return str(self._evaluated("true")["realm"])

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self._evaluated(expression)["result"].get("value")

    def errors(self) -> list[str]:
        """Return the errors of this page in the console; those about Streamlit's own requests are not ours.

        A page that is left while it loads may complain, even when the next one is there.
        """
        here = self._realm()  # what was said until now comes before the answer
        said = [entry for entry in self._entries if entry["source"]["realm"] == here]
        errors = [entry["text"] for entry in said if entry["level"] == "error"]
        return [text for text in errors if "_stcore" not in text and "webhooks.fivetran" not in text]


@contextlib.contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """Start Firefox without a window on the screen, with a profile below this folder; end it afterwards."""
    assert FIREFOX is not None, "no Firefox on this machine: 'apt install firefox-esr'"
    port, profile = free_port(), folder / "firefox"
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
        wait(lambda: "BiDi listening" in (folder / "firefox.txt").read_text(), "Firefox listens")
        with connect(f"ws://127.0.0.1:{port}/session", max_size=None, origin=None) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(30)
