"""Take the first steps of a new user with the installed rbmviz: list, sample, score, start the app.

The workflow ``platforms`` runs it on each system; ``python .github/first_steps.py`` does the same anywhere.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

RBMVIZ = (sys.executable, "-m", "rbmviz")
START_SECONDS = 120


def run(*words: str) -> dict:
    """Return the JSON result of a command; the script ends if the command fails."""
    return json.loads(subprocess.run([*RBMVIZ, *words, "--json"], check=True, capture_output=True).stdout)


def main() -> None:
    """Take the first steps in an empty folder."""
    os.chdir(tempfile.mkdtemp())
    assert "rates_fpcd" in json.dumps(run("list", "samplers"))
    drawn = run(
        "sample", "--model", "bas_pcd", "--sampler", "rates_fpcd", "-n", "500", "--out", "samples.npz"
    )
    assert drawn["n"] == 500
    assert Path("samples.npz").stat().st_size > 0
    assert run("score", "samples.npz", "--dataset", "bas")["isl"] < 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = subprocess.Popen([*RBMVIZ, "app", "--no-browser", "--port", str(port)])
    try:
        for _ in range(START_SECONDS):
            time.sleep(1)
            assert app.poll() is None, "the app has ended"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
                    assert answer.status == 200
                    break
            except OSError:
                continue
        else:
            raise AssertionError(f"no answer within {START_SECONDS} s")
    finally:
        app.terminate()
        app.wait(30)
    print("list, sample, score and app work.")


main()
