"""The lines of README.md's *Start*, each in a fresh clone that has nothing else, with empty caches.

The line of the app must bring a healthy server, and pictures in a Chromium; that of the tests must pass, with
the tests of pages. pip keeps its own cache. What runs this needs the extra [dev]::

    python -m tests.readme app
    python -m tests.readme tests
    python -m tests.readme uv-app
    python -m tests.readme uv-tests

As on a bare machine, without variables and pip's cache::

    env -i HOME=$(mktemp -d) PATH=$PATH python -m tests.readme app
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.browser.live import Live, open_chromium
from tests.waiting import free_port, wait_for_answer

ROOT = Path(__file__).parents[1]
PATIENCE = 900.0
"""Seconds from the line to the first picture: packages are installed, and kernels compiled."""

DRAWN = """panels.length && panels.every(panel => {
    const { width, height } = panel.querySelector('canvas.picture');
    const image = panel.querySelector('canvas.picture').getContext('2d').getImageData(0, 0, width, height);
    return new Set(new Uint32Array(image.data.buffer)).size > 1;
})"""
"""Every panel has a picture of more than one colour."""


def lines() -> dict[str, str]:
    """Return the lines, by what they do: two with pip, the same two with uv."""
    start = (ROOT / "README.md").read_text().split("\n## Start\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)\n```$", start, re.MULTILINE | re.DOTALL)
    found = "\n".join(blocks).splitlines()
    return dict(zip(("app", "tests", "uv-app", "uv-tests"), found, strict=True))


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of somebody who has only cloned: no environment is active, caches are empty."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RBMVIZ_", "PYTHON"))}
    kept.pop("VIRTUAL_ENV", None)
    elsewhere = [path for path in kept["PATH"].split(os.pathsep) if Path(path) != Path(sys.prefix, "bin")]
    tools = folder / "tools"
    tools.mkdir()
    (tools / "uv").symlink_to(shutil.which("uv") or "uv")
    kept["PATH"] = os.pathsep.join([*elsewhere, str(tools)])
    command = [sys.executable, "-m", "pip", "cache", "dir"]
    kept["PIP_CACHE_DIR"] = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    data = Path(os.environ.get("RBMVIZ_DATA_DIR", ROOT.parent / "shared" / "data"))
    kept |= {"RBMVIZ_DATA_DIR": str(data.resolve())} if data.is_dir() else {}
    return kept | {"XDG_CACHE_HOME": str(folder / "cache")}


def app(line: str, clone: Path, variables: dict[str, str]) -> None:
    """Run the line until the server is healthy and every panel has a picture."""
    port, begin = free_port(), time.monotonic()
    process = subprocess.Popen(
        ["bash", "-c", line],
        cwd=clone,
        env=variables | {"STREAMLIT_SERVER_PORT": str(port), "STREAMLIT_SERVER_HEADLESS": "true"},
        start_new_session=True,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for_answer(f"{address}/_stcore/health", process)
        healthy = time.monotonic() - begin
        with open_chromium() as browser:
            live = Live(browser.new_page(), address)
            live.goto()
            live.until(DRAWN, timeout=PATIENCE)
            assert not live.errors, live.errors
        print(f"healthy after {healthy:.0f} s, pictures after {time.monotonic() - begin:.0f} s")  # noqa: T201
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def main(what: str) -> int:
    """Run one of the lines; return its status."""
    line, folder = lines()[what], Path(tempfile.mkdtemp(prefix="readme-"))
    print(line, flush=True)  # noqa: T201
    try:
        clone, variables = folder / "rbmviz", environment(folder)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        if what.endswith("app"):
            app(line, clone, variables)
            return 0
        # Here the tests of pages must run, not be skipped.
        return subprocess.run(
            ["bash", "-c", line], cwd=clone, env=variables | {"RBMVIZ_BROWSER": "required"}
        ).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
