"""Paused panels show what they showed before, from the samples that their runs still hold."""

import numpy as np
import pytest
from waiting import wait

import rbmviz_app.pages.sample.panel  # noqa: F401 (its encoder)
from rbmviz import make_sampler
from rbmviz.session import Allowance, SamplingRun, SamplingSetup
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import FrameRequest
from tests.frames import read_frame

REQUEST = FrameRequest(20, "sequence", "binary", 9, 5, [0, 1])


@pytest.fixture
def comparison(open_comparison, model, toy):
    setup = SamplingSetup(model, toy, allowance=Allowance(1))  # as few samples as can be: 1,000
    return open_comparison(setup, make_sampler("gibbs"), make_sampler("rates_fpcd"))


def stepped(comparison, n):
    comparison.step(n)
    wait(lambda: all(shown.status == "paused" and shown.n for _, shown in comparison.poll()), f"{n} samples")


@pytest.mark.parametrize("asked", [{}, {"pixels": "mean"}, {"view": "single"}])
def test_a_frame_holds_the_pictures_after_so_many_samples(comparison, asked):
    stepped(comparison, 1500)
    encoder = FrameEncoder(comparison)
    runs = [panel.worker.read(SamplingRun.held_samples) for panel in comparison.panels]
    for at, shown_at in {1100: 1100, 505: 505, 3: 500, 10**15: 1500}.items():
        frame = read_frame(encoder.encode_next(REQUEST._replace(at=at, **asked)))
        assert frame.request["at"] == at
        for part, (first, v) in zip(frame.panels, runs, strict=True):
            assert (part.head["n"], part.head["at"], part.head["held_from"]) == (1500, shown_at, 500)
            rows = 1 if asked.get("view") == "single" else 9
            want = v[max(shown_at - rows - first, 0) : shown_at - first]
            np.testing.assert_array_equal(part.blocks.get("v", v[:0]), want)
            assert "mean" not in part.blocks  # which no run holds
    now = read_frame(encoder.encode_next(REQUEST._replace(**asked)))
    assert all("at" not in part.head for part in now.panels)
    assert "at" not in now.request


def test_who_runs_is_now(comparison):
    stepped(comparison, 50)
    comparison.resume()
    wait(lambda: all(shown.status == "running" for _, shown in comparison.poll()), "running")
    frame = read_frame(FrameEncoder(comparison).encode_next(REQUEST._replace(at=20)))
    assert all("at" not in part.head for part in frame.panels)


def test_a_panel_that_rests_stays_as_it_is(comparison):
    stepped(comparison, 50)
    comparison.rest()
    frame = read_frame(FrameEncoder(comparison).encode_next(REQUEST._replace(at=20)))
    assert all("at" not in part.head for part in frame.panels)
