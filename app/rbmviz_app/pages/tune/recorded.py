"""The sweep that the page shows first: computed in advance by ``.ci/record-sweep``, and shipped."""

import functools
import json
from pathlib import Path
from typing import Any

import pandas as pd

from rbmviz.session.sweeps import Sweep
from rbmviz.sweeps import SweepPlan

_FOLDER = Path(__file__).parent


@functools.cache
def about_recording() -> dict[str, Any]:
    """Return the facts about the recording: command, date, version of rbmviz, and plan."""
    return json.loads((_FOLDER / "recorded.json").read_text("utf-8"))


@functools.cache
def recorded_plan() -> SweepPlan:
    """Return the plan of the recorded sweep, which has the default settings."""
    return SweepPlan.from_json(json.dumps(about_recording()["plan"]).encode())


@functools.cache
def recorded_sweep() -> Sweep:
    """Return the recorded sweep, which all visitors share."""
    table = pd.read_parquet(_FOLDER / "recorded.parquet")
    return Sweep.recorded(recorded_plan(), {name: table[name].to_numpy() for name in table})
