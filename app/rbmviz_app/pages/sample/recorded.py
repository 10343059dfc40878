"""The first seconds of the comparison that the page opens with, recorded: a new machine shows them at once.

``python -m rbmviz_app.pages.sample.recorded`` records them again. That is needed if a default of the page,
its model, or the samples of a sampler change; a test says so.
"""

import functools
from pathlib import Path

from rbmviz.lessons.state import read_state
from rbmviz.pages import PAGES
from rbmviz.samplers import make_sampler
from rbmviz.session import SamplingRun
from rbmviz.session.recording import Recording, read_recordings, write_recordings

FILE = Path(__file__).with_name("recorded.npz")

RECORDED_SECONDS = 20
"""Seconds that are recorded, at the default speed of the page: longer than most machines compile."""


@functools.cache
def recordings() -> dict[str, Recording]:
    """Return the shipped recordings by the names of their samplers."""
    return read_recordings(FILE)


def record(sampler: str, seconds: float = RECORDED_SECONDS) -> Recording:
    """Record how a panel begins where the address says nothing."""
    state = read_state("sample")
    run = SamplingRun(1, state.setup().plan(), make_sampler(sampler))
    return Recording.of(run, round(seconds * state.settings["speed"]))


if __name__ == "__main__":
    write_recordings(FILE, [record(name) for name in PAGES["sample"].default_panels])
