"""WebKitGTK, the engine of Safari, driven over WebDriver by WebKitWebDriver, on a screen that Xvfb makes.

On Debian and Ubuntu: ``apt install webkit2gtk-driver xvfb``.
"""

import contextlib
import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.waiting import free_port, wait_for_answer

HOOK = """if (!window.rbmvizTold) { window.rbmvizTold = [];
    const say = console.error;
    console.error = (...words) => { window.rbmvizTold.push(words.join(' ')); say(...words); };
    addEventListener('error', event => window.rbmvizTold.push(String(event.message)));
    addEventListener('unhandledrejection', event => window.rbmvizTold.push(String(event.reason))); }"""
"""WebDriver does not tell what the console says: what comes from now on is kept on the page."""


PATIENCE_MS = 300_000


class WebKit:
    """One window of WebKitGTK."""

    def __init__(self, driver: str) -> None:
        self._driver, self._session = driver, ""
        options = {"binary": self._browser(), "args": ["--automation"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._session = "/session/" + self._post("/session", capabilities=capabilities)["sessionId"]
        self._post("/timeouts", script=PATIENCE_MS)
        self._post("/window/rect", x=0, y=0, width=1280, height=1000)

    @staticmethod
    def _browser() -> str:
        found = [path for path in Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser") if path.is_file()]
        assert found, "no MiniBrowser on this machine: 'apt install webkit2gtk-driver'"
        return str(found[-1])

    def _post(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            self._driver + self._session + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        return json.loads(urllib.request.urlopen(request, timeout=PATIENCE_MS / 1000).read())["value"]

    def open(self, address: str) -> None:
        """Go to an address."""
        self._post("/url", url=address)
        self._post("/execute/sync", script=HOOK, args=[])

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self._post("/execute/sync", script=f"return {expression}", args=[])

    def errors(self) -> list[str]:
        """Return what the console has reported as an error since the page was loaded."""
        return [text for text in self.evaluate("window.rbmvizTold") if "_stcore" not in text]

    def close(self) -> None:
        """Close the window."""
        request = urllib.request.Request(self._driver + self._session, method="DELETE")
        urllib.request.urlopen(request, timeout=30).read()


@contextlib.contextmanager
def webkit(folder: Path) -> Iterator[WebKit]:
    """Start WebKitGTK on a screen of its own; end it afterwards."""
    for program in ("WebKitWebDriver", "Xvfb"):
        assert shutil.which(program), f"no {program} on this machine: 'apt install webkit2gtk-driver xvfb'"
    port = free_port()
    display = f":{port % 5000 + 100}"
    # WebKit draws without a graphics card, and its sandbox needs what a container does not allow.
    settings = {"DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1", "WEBKIT_DISABLE_DMABUF_RENDERER": "1"}
    settings |= {"WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1", "XDG_RUNTIME_DIR": str(folder)}
    processes = []
    with (folder / "webkit.txt").open("wb") as log:
        for command in (
            ["Xvfb", display, "-screen", "0", "1280x1000x24", "-nolisten", "tcp"],
            ["WebKitWebDriver", f"--port={port}"],
        ):
            environment = os.environ | settings
            processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment))
    try:
        wait_for_answer(f"http://127.0.0.1:{port}/status", processes[-1])
        browser = WebKit(f"http://127.0.0.1:{port}")
        yield browser
        browser.close()
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)
