"""Charts in frames: made when there is a new point, sent once, and none of them ends the page."""

import pytest
from waiting import wait, wait_for_pause

from rbmviz import make_sampler
from rbmviz.charts import ChartAxis, Curves, styled
from rbmviz.session import SamplingSetup
from rbmviz_app import parts as live
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import FrameRequest
from tests.frames import read_header

PLOT = Curves(ChartAxis("x"), ChartAxis("y"), "name", styled(["a"], ["#111111"]))
REQUEST = FrameRequest(20, "sequence", "binary", 4, 5, [0])


@pytest.fixture
def race(open_race, model, monkeypatch):
    """A paused sampler of a tiny model, after three samples; charts are made as soon as something is new."""
    monkeypatch.setattr(live, "LEAST_SECONDS", 0.0)
    race = open_race(SamplingSetup(model), make_sampler("gibbs"), rate=200)
    race.step(3)
    wait_for_pause(race, 3)
    return race


@pytest.fixture
def parts(race):
    return race.parts


def chart_of(race, y=1.0):
    """Return a chart with a point for the steps so far, and a sentence."""
    n = race.peek()[0][1].n
    return PLOT.of([{"name": "a", "x": n, "y": y}]), (f"{n} samples", "")


def charts(encoder):
    """Return the charts in the next frame."""
    return read_header(encoder.encode_next(REQUEST)).get("charts")


def is_made(parts):
    """Whether all charts are as new as the runs."""
    parts.renew()
    return not parts._working and not parts._is_due()


def test_a_frame_has_a_chart_only_when_it_has_a_new_point(race, parts):
    parts.offer("isl", lambda: chart_of(race), "Scores")
    parts.offer("still", lambda: (PLOT.of([{"name": "a", "x": 1, "y": 1}]), ()), "As ever")
    wait(lambda: is_made(parts), "the charts")
    encoder = FrameEncoder(race)
    sent = charts(encoder)
    assert sent["isl"]["chart"]["lines"][0]["points"] == [[3, 1]]
    assert (sent["isl"]["notes"], sent["isl"]["chart"]["label"]) == (["3 samples"], "Scores")
    assert charts(encoder) is None
    assert not encoder.has_news(encoder._request)
    race.step(2)
    wait_for_pause(race, 5)
    came = []  # frames with numbers may come before
    wait(lambda: came.append(charts(encoder)) or came[-1], "the charts")
    sent = came[-1]
    assert (sent["isl"]["notes"], sent["still"]) == (["5 samples"], True)
    assert set(charts(FrameEncoder(race))) == {"isl", "still"}  # another browser gets all
    assert charts(FrameEncoder(race, "numbers")) is None  # a quiz hides them


def test_chart_not_redrawn_is_removed(race, parts):
    parts.begin_run()
    parts.offer("isl", lambda: chart_of(race), "Scores")
    parts.offer("more", lambda: chart_of(race), "Folded")
    parts.end_run()
    wait(lambda: is_made(parts), "the charts")
    encoder = FrameEncoder(race)
    assert list(charts(encoder)) == ["isl", "more"]
    parts.begin_run()
    parts.offer("isl", lambda: chart_of(race), "Scores")
    parts.end_run()
    wait(lambda: is_made(parts), "the charts")
    assert charts(encoder) == {"isl": True}


def test_failing_chart_is_logged_once_and_stops_nothing(race, parts, caplog):
    parts.offer("broken", lambda: {}["x"], "")
    parts.offer("no number", lambda: chart_of(race, float("inf")), "")
    parts.offer("whole", lambda: chart_of(race), "")
    for n in (3, 4):
        wait(lambda: is_made(parts), "the charts")
        assert list(charts(FrameEncoder(race))) == ["no number", "whole"]
        race.step(1)
        wait_for_pause(race, n + 1)
    assert [one.args for one in caplog.records] == [("broken",)]
