"""The first page of a new machine: a recorded race that goes over to the live one without a step back."""

import shutil
from pathlib import Path

import pytest
from conftest import Live

from rbmviz.kernels import _jit
from tests.attack.server import serving

pytestmark = pytest.mark.browser

WAIT_TO_COMPILE = """
import os, sys, time
while any("rbmviz.session.compiling" in word for word in sys.orig_argv) and not os.path.exists({0!r}):
    time.sleep(0.05)
"""


@pytest.fixture
def new_machine(tmp_path):
    """Address of a server whose kernels are compiled when a file exists, and the path of that file."""
    folder, go_on = Path(_jit.CACHE_FOLDER), tmp_path / "go on"
    # The kernels are there, but no note says so: the processes that compile find them.
    there = tmp_path / "cache" / "kernels" / folder.name
    shutil.copytree(folder, there, ignore=shutil.ignore_patterns(f"*{_jit.NOTE}"))
    (tmp_path / "sitecustomize.py").write_text(WAIT_TO_COMPILE.format(str(go_on)))
    environment = {"RBMVIZ_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    with serving(tmp_path / "log.txt", folder=tmp_path, **environment) as server:
        yield server.address, go_on


def test_a_recorded_race_goes_over_to_the_live_one(new_machine, chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    address, go_on = new_machine
    page = Live(context.new_page(), address)
    page.open()
    assert page.ask("panels.map(p => p.dataset.status)") == ["recorded"] * 4
    assert all(
        "live in" in text for text in page.ask("panels.map(p => p.querySelector('.mark').textContent)")
    )
    page.ask(
        """(() => {
            window.seen = [];
            const look = () => {
                window.seen.push(panels.map(p => Number(p.dataset.n)));
                requestAnimationFrame(look);
            };
            look();
        })()"""
    )
    go_on.touch()
    page.until("panels.every(p => p.dataset.status === 'running' && p.querySelector('.mark').hidden)")
    seen = page.ask("window.seen")
    for counts in zip(*seen, strict=True):
        assert list(counts) == sorted(counts)
    context.close()
    assert page.errors == []
