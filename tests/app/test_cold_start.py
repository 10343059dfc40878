"""Pages of a new machine: a panel says how long it compiles, the default page shows a picture."""

import threading

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz.session import SamplingRun
from rbmviz_app.pages.sample import panel as sample_panel
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.frames import read_frame
from rbmviz_app.stream.requests import FrameRequest

REQUEST = FrameRequest(20, "sequence", "binary", 100, 784, [0, 1, 2, 3])


@pytest.fixture
def cold(page, monkeypatch):
    """A machine that compiles for rates-FPCD until the event is set, as it is before pages close."""
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    compiled, prepare = threading.Event(), SamplingRun.prepare

    def slow(run):
        assert run.algorithm.name == "gibbs" or compiled.wait(PATIENCE)
        prepare(run)

    def seconds_left(names):
        return None if compiled.is_set() or "gibbs" in names else 8.0

    monkeypatch.setattr(SamplingRun, "prepare", slow)
    monkeypatch.setattr("rbmviz.session.worker.COMPILING.seconds_left", seconds_left)
    yield compiled
    compiled.set()


def comparison_of(test):
    return test.session_state["comparisons"]["sample"][0]


def test_a_panel_begins_with_its_own_kernels_and_the_others_catch_up(cold, page):
    comparison = comparison_of(page("sample", p=["gibbs", "rates_fpcd"]))
    wait(lambda: comparison.poll()[0][1].n > 30, "live samples")
    gibbs, late = read_frame(FrameEncoder(comparison).encode_next(REQUEST)).panels
    assert (gibbs.head["status"], late.head["status"]) == ("running", "starting")
    assert (late.head["n"], late.head["ready_in"]) == (0, 8.0)
    assert "ready_in" not in gibbs.head
    np.testing.assert_array_equal(late.blocks["start"], [comparison.setup.first_state()])
    cold.set()
    wait(lambda: comparison.poll()[1][1].n >= comparison.poll()[0][1].n > 30, "the samples that were missed")


def test_at_full_speed_all_begin_together(cold, page):
    comparison = comparison_of(page("sample", p=["gibbs", "rates_fpcd"], speed="full"))
    wait(lambda: comparison.poll()[0][1].status == "paused", "a prepared run")
    comparison.poll()
    assert comparison.waiting_for_all
    cold.set()
    wait(lambda: not comparison.waiting_for_all, "the common start")


@pytest.mark.parametrize(
    ("query", "shows"),
    [({}, True), ({"seed": "1"}, False), ({"p": "gibbs"}, False), ({"present": "true"}, False)],
)
def test_only_the_default_page_has_the_moving_picture(page, monkeypatch, query, shows):
    mounted = []
    monkeypatch.setattr(sample_panel._canvas, "mount", lambda *args, **data: mounted.append(data["recorded"]))
    page("sample", **query)
    assert mounted
    assert all(bool(address.endswith("/rbmviz/samplers.gif")) == shows for address in mounted)
