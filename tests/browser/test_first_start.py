"""The first page of a new machine: a moving picture, until the first panel is live."""

import shutil
from pathlib import Path

import pytest

from rbmviz.kernels import _jit
from tests.attack.server import serving
from tests.browser.live import SIZE, Live

pytestmark = pytest.mark.browser

WAIT_TO_COMPILE = """
import os, sys, time
while any("rbmviz.session.compiling" in word for word in sys.orig_argv) and not os.path.exists({0!r}):
    time.sleep(0.05)
"""

PICTURE = "panels[0].getRootNode().querySelector('.recorded')"


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


@pytest.mark.slow
def test_a_moving_picture_is_shown_until_the_first_panel_is_live(new_machine, chromium):
    context = chromium.new_context(viewport=SIZE)
    address, go_on = new_machine
    page = Live(context.new_page(), address)
    page.page.goto(address)
    page.until(f"panels.length === 4 && {PICTURE}.checkVisibility()")
    page.until(f"{PICTURE}.querySelector('img').naturalWidth > 0")
    assert "Recorded: what you will see" in page.ask(f"{PICTURE}.textContent")
    marks = page.ask("panels.map(p => p.querySelector('.mark').textContent)")
    assert all("Compiles once, about 20 s: 0 of" in text for text in marks)
    tops = "panels.map(p => p.getBoundingClientRect().top)"
    before = page.ask(tops)
    page.page.emulate_media(reduced_motion="reduce")
    assert not page.ask(f"{PICTURE}.checkVisibility()")
    page.page.emulate_media(reduced_motion="no-preference")
    go_on.touch()
    page.until("panels.every(p => p.dataset.status === 'running' && p.querySelector('.mark').hidden)")
    assert not page.ask(f"{PICTURE}.checkVisibility()")
    assert page.ask(tops) == before
    context.close()
    assert page.errors == []
