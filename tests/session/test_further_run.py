"""Further seeds in a process of their own: one at a time, counted as a sweep, stopped by its visitor."""

import sys
import weakref

import pytest
from waiting import wait

from rbmviz.errors import BadInput
from rbmviz.session import VisitorUsage
from rbmviz.session.further_run import FurtherRun
from rbmviz.session.scheduler import Scheduler
from rbmviz.session.sweeps import SweepQueue

PROGRAM = """#!{python}
import json, pathlib, signal, sys, time
def stop(*_):
    print(json.dumps({{"out": "{out}", "size": "quick", "changes": ["stopped"]}}))
    sys.exit(130)
signal.signal(signal.SIGTERM, stop)
name = sys.argv[5]
(pathlib.Path("{out}") / f"{{name}}.started").touch()
if name == "bad":
    sys.exit(print("A message.\\nNo such recipe.", file=sys.stderr) or 2)
while name == "long":
    time.sleep(0.02)
print(json.dumps({{"out": "{out}", "size": "quick", "changes": sys.argv[1:]}}))
"""
"""What is run in place of Python and the command."""


@pytest.fixture
def start(tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(python=sys.executable, out=tmp_path))
    program.chmod(0o700)
    monkeypatch.setattr("rbmviz.session.further_run.sys.executable", str(program))
    queue, visitor, runs = SweepQueue(tmp_path / "sweeps", Scheduler(1)), VisitorUsage(weakref.WeakSet()), []

    def start(recipe):
        run = FurtherRun(recipe, 10, "owner", visitor)
        queue.start_further(run, "owner")
        runs.append(run)
        return run

    yield start
    queue.close()
    wait(lambda: not any(run.active for run in runs), "the end of all processes")
    assert visitor.bytes() == 0


def test_it_runs_the_command_and_returns_its_outcome_and_figure(start, tmp_path):
    (tmp_path / "short-quick").mkdir()
    (tmp_path / "short-quick" / "figure.svg").write_text("<svg/>")
    run = start("short")
    wait(lambda: not run.active, "the end of the process")
    assert (run.status, run.figure) == ("finished", b"<svg/>")
    assert run.outcome["changes"] == [
        *("-P", "-m", "rbmviz", "reproduce", "short", "--json", "--workers", "1", "--more", "10")
    ]


def test_what_the_command_refuses_is_said(start):
    run = start("bad")
    wait(lambda: not run.active, "the end of the process")
    assert (run.status, run.error, run.outcome) == ("failed", "No such recipe.", None)


def test_one_runs_at_a_time_and_can_be_stopped(start, tmp_path):
    first, second = start("long"), start("short")
    wait((tmp_path / "long.started").exists, "the start of the process")
    assert (first.status, second.status) == ("running", "queued")
    first.stop()
    wait(lambda: not second.active, "the end of both")
    assert (first.status, first.outcome["changes"], second.status) == ("stopped", ["stopped"], "finished")


def test_it_counts_as_a_sweep_and_in_memory(start, tmp_path, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SWEEPS", "4")  # one a visitor
    first = start("long")
    with pytest.raises(BadInput, match="You have 1 sweeps that have not ended"):
        start("short")
    wait((tmp_path / "long.started").exists, "the start of the process")
    first.stop(at_once=True)
    wait(lambda: not first.active, "the end of the process")
    assert first.outcome is None
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "1200")
    with pytest.raises(BadInput, match="This would take 500 MB of memory and a visitor may have 350 MB"):
        start("short")


def test_the_memory_of_a_running_one_is_counted_until_it_ends(start, tmp_path):
    first, second = start("long"), start("short")
    wait((tmp_path / "long.started").exists, "the start of the process")
    second.stop()
    assert second.status == "stopped"
    assert first._visitor.bytes() == 500e6
    first.stop()
    wait(lambda: not first.active, "the end of the process")
    assert first._visitor.bytes() == 0


def test_a_stop_in_the_moment_of_the_start_counts(start, monkeypatch):
    keep, runs = VisitorUsage.keep, []

    def keep_(visitor, name, needed):
        keep(visitor, name, needed)
        if runs and needed:  # the process is about to begin
            runs.pop().stop()

    first = start("long")
    wait(lambda: first.status == "running", "the start of the first")
    second = start("long")
    monkeypatch.setattr(VisitorUsage, "keep", keep_)
    runs.append(second)
    first.stop(at_once=True)
    wait(lambda: not second.active, "the end of the second")
    assert (second.status, second.minutes_passed) == ("stopped", 0)
