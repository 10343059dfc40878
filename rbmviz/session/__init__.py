"""Runs that live while somebody watches: one worker thread a run, immutable snapshots out, commands in.

Between the algorithms and any face (page, command line, notebook); knows no Streamlit.
"""

from rbmviz.session.race import Panel, Race, Setting, Start
from rbmviz.session.recorder import Record, replay
from rbmviz.session.snapshot import Frames, Point, Snapshot
from rbmviz.session.warm import warm_up
from rbmviz.session.worker import Worker

__all__ = [
    "Frames",
    "Panel",
    "Point",
    "Race",
    "Record",
    "Setting",
    "Snapshot",
    "Start",
    "Worker",
    "replay",
    "warm_up",
]
