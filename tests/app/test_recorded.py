"""The recorded comparison: the default address begins with it where kernels are missing, and it gives way."""

import threading

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz.pages import PAGES
from rbmviz.samplers import make_sampler
from rbmviz.session import SamplingRun
from rbmviz.session.equal_points import compare
from rbmviz_app import shared
from rbmviz_app.pages.sample import page as sample_page
from rbmviz_app.pages.sample import recorded
from rbmviz_app.pages.sample.charts import Curve, isl_chart
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.frames import read_frame
from rbmviz_app.stream.requests import FrameRequest

REQUEST = FrameRequest(20, "sequence", "binary", 100, 784, [0, 1, 2, 3])


def test_the_recorded_race_is_that_of_the_default_address(monkeypatch):
    """If this fails: python -m rbmviz_app.pages.sample.recorded."""
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    shipped = recorded.recordings()
    assert list(shipped) == list(PAGES["sample"].default_panels)
    assert recorded.FILE.stat().st_size < 500_000
    for name, recording in shipped.items():
        assert recording.n == recorded.RECORDED_SECONDS * sample_page.Settings.speed.default
        again = recorded.record(name, seconds=2)
        for part in ("v", "sweeps", "classes", "points", "counts"):
            np.testing.assert_array_equal(
                getattr(again, part), getattr(recording, part)[: len(getattr(again, part))]
            )
        np.testing.assert_array_equal(again.start, recording.start)
        np.testing.assert_allclose(again.scores, recording.scores[: len(again.scores)], rtol=1e-9)


@pytest.fixture
def cold(page, monkeypatch):
    """A machine without kernels: an event, set before the pages are closed, lets every run be prepared."""
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    compiled, prepare = threading.Event(), SamplingRun.prepare

    def slow(run):
        assert compiled.wait(PATIENCE)
        prepare(run)

    monkeypatch.setattr(SamplingRun, "prepare", slow)
    monkeypatch.setattr(sample_page, "seconds_to_compile", lambda algorithms: 8.0)
    monkeypatch.setattr("rbmviz.session.worker.COMPILING.seconds_left", lambda names: 8.0)
    yield compiled
    compiled.set()


def comparison_of(test):
    return test.session_state["comparisons"]["sample"][0]


def frame(comparison):
    return read_frame(FrameEncoder(comparison).encode_next(REQUEST)).panels


def statuses(comparison):
    return {shown.status for _, shown in comparison.poll()}


def test_the_first_page_of_a_new_machine_moves_and_goes_on_live(cold, page):
    comparison = comparison_of(page("sample"))
    wait(lambda: all(shown.n > 10 for _, shown in comparison.poll()), "samples")
    for part in frame(comparison):
        assert (part.head["status"], part.head["run"], part.head["ready_in"]) == ("recorded", 1, 8.0)
        assert part.head["readouts"]["visited"] is not None
        assert len(part.blocks["v"]) == min(part.head["n"], 100)
    n = [shown.n for _, shown in comparison.poll()]
    cold.set()
    wait(lambda: statuses(comparison) == {"running"}, "live chains")
    now = [shown for _, shown in comparison.poll()]
    assert [shown.run for shown in now] == [1] * 4
    assert all(shown.n >= before for shown, before in zip(now, n, strict=True))


@pytest.mark.parametrize("query", [{"seed": "1"}, {"p": "rates_fpcd:eps=0.1"}])
def test_other_links_show_their_starts(cold, page, query):
    comparison = comparison_of(page("sample", **query))
    assert statuses(comparison) == {"starting"}
    for part in frame(comparison):
        assert (part.head["status"], part.head["n"], part.head["ready_in"]) == ("starting", 0, 8.0)
        np.testing.assert_array_equal(part.blocks["start"], [comparison.setup.first_state()])


def test_a_model_of_the_command_line_has_no_recording(cold, page, monkeypatch):
    monkeypatch.setattr(shared, "FIRST_CHOICE", ["mnist_cd1"])
    comparison = comparison_of(page("sample", shell=True))
    assert comparison.setup.model is shared.pretrained("mnist_cd1")
    assert statuses(comparison) == {"starting"}


def test_what_is_recorded_has_curves():
    shown = [one.view(1000, 1, make_sampler(name)) for name, one in recorded.recordings().items()]
    curves = [Curve(one.algorithm.name, "label", "#000000", (1, 0), one) for one in shown]
    compared = compare([(one, 0.0) for one in shown], "samples")
    for cost_unit in ("samples", "sweeps", "seconds"):
        rows, _ = isl_chart(curves, compared, None, cost_unit, "ISL", "binary")
        drawn = set(rows[rows["kind"] == "point"]["sampler"])
        # No seconds of this machine were spent on a recording.
        assert drawn == (set() if cost_unit == "seconds" else {curve.name for curve in curves})


def test_another_setting_ends_the_recording(cold, page):
    test = page("sample")
    comparison = comparison_of(test)
    assert statuses(comparison) == {"recorded"}
    test.segmented_control(key="pixels").set_value("mean").run()
    assert statuses(comparison) == {"starting"}


def test_a_machine_with_kernels_shows_no_recording(page, monkeypatch):
    monkeypatch.setattr(sample_page, "seconds_to_compile", lambda algorithms: 0.0)
    monkeypatch.setattr(sample_page, "recordings", None)
    comparison = comparison_of(page("sample"))
    wait(lambda: statuses(comparison) == {"running"}, "live chains")
