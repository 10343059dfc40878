"""Kernels that other processes compile: whoever waits goes on, whatever becomes of the process."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from waiting import wait

from rbmviz.samplers import make_sampler
from rbmviz.session import compiling
from rbmviz.session.compiling import LOADING_SECONDS, STARTING_SECONDS, Compiling
from rbmviz.session.warm import JOBS, jobs_of


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start the processes of a machine without kernels; they run a shell script instead of Python."""
    monkeypatch.setattr(compiling.kernels.compiled, "is_noted", lambda name: False)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    made = []

    def begin(script):
        program = tmp_path / "python"
        if script is not None:
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        monkeypatch.setattr("sys.executable", str(program))
        made.append(Compiling())
        made[-1].start()
        return made[-1]

    yield begin
    for one in made:
        one.stop()
        one.finish()


def test_who_waits_for_a_job_goes_on_when_it_is_done(start):
    processes = start("echo gibbs; exec sleep 1000")
    processes.wait(["gibbs"])
    assert processes.seconds_left(["rates in rows"]) > 0
    later = [processes.seconds_left([name]) for name in JOBS if name != "gibbs"]
    assert max(later) > min(later)
    processes.stop()
    assert not processes.finish()
    processes.wait(JOBS)


def test_what_a_panel_waits_for_is_compiled_next(start, tmp_path):
    """The process does a job whenever there is a file; it writes what it has done."""
    go_on, told = tmp_path / "go on", tmp_path / "told"
    read = "dd bs=64 count=1 2>/dev/null | sed 's/ *$//'"
    processes = start(
        f"""while name=$({read}) && [ -n "$name" ]; do
            until [ -e "{go_on}" ]; do sleep 0.01; done
            rm "{go_on}"; echo "$name"; echo "$name" >> "{told}"
        done"""
    )
    waiting = threading.Thread(target=processes.wait, args=(["trainer ucd", "scores"],))
    waiting.start()
    wait(lambda: processes._queue[:2] == ["trainer ucd", "scores"], "the order")
    for done in range(3):
        go_on.touch()
        wait(lambda n=done + 1: told.exists() and len(told.read_text().splitlines()) == n, "a job")
    waiting.join()
    assert told.read_text().splitlines() == ["gibbs", "trainer ucd", "scores"]


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(compiling.time, "monotonic", lambda: now.now)
    return now


@pytest.mark.parametrize("slowness", [0.4, 1.0, 3.0])
def test_the_first_job_says_how_slow_the_machine_is(monkeypatch, clock, slowness):
    """Jobs that all take so many times their estimate: the time left is right as soon as one is done."""
    monkeypatch.setattr(compiling.kernels.compiled, "is_noted", lambda name: False)
    one = Compiling()
    one._done = dict.fromkeys(JOBS)
    one._queue = ["rates in rows", "scores"]
    one._begun = {"gibbs": clock.now}
    estimates = STARTING_SECONDS + JOBS["gibbs"].seconds, JOBS["rates in rows"].seconds
    assert one.seconds_left(["rates in rows"]) == pytest.approx(sum(estimates) + LOADING_SECONDS)
    one._took, one._estimated = slowness * estimates[0], estimates[0]
    one._begun = {one._queue.pop(0): clock.now}
    assert one.seconds_left(["rates in rows"]) == pytest.approx(slowness * (estimates[1] + LOADING_SECONDS))
    assert one.seconds_left(["scores"]) > one.seconds_left(["rates in rows"])
    clock.now += slowness * estimates[1] * 1.5
    assert one.seconds_left(["rates in rows"]) == 0  # longer than expected, and never a negative number
    assert one.seconds_left(["scores"]) > 0


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "kill -9 $$", None])
def test_a_process_that_fails_keeps_nobody(start, script):
    processes = start(script)
    processes.wait(JOBS)
    assert processes.finish()


@pytest.mark.skipif(not compiling.FORKS, reason="processes do not fork here")
def test_a_process_that_forks_compiles_each_job_once():
    program = (
        "import os, time; from rbmviz.session import compiling; "
        "compiling.compile_jobs = lambda names: "
        "(time.sleep(0.05) or f'{name},{os.getpid()}' for name in names); "
        "compiling.main()"
    )
    options = {"check": True, "capture_output": True, "text": True, "timeout": 60}
    given = "".join(name.ljust(compiling.RECORD) for name in JOBS)
    told = subprocess.run([sys.executable, "-c", program, "3"], input=given, **options).stdout.splitlines()
    names, processes = zip(*(line.split(",") for line in told), strict=True)
    assert sorted(names) == sorted(JOBS)
    assert names[0] == next(iter(JOBS))
    assert len(set(processes)) == 3


def test_a_panel_needs_the_regime_of_its_knobs():
    assert jobs_of(make_sampler("gibbs")) == ["scores", "gibbs"]
    assert jobs_of(make_sampler("rates_fpcd"), scored=False) == ["rates in rows"]
    assert jobs_of(make_sampler("rates_fpcd", alpha=0.9), scored=False) == ["rates in a history"]
    mean = make_sampler("rates_fpcd", alpha=0.9, statistics="mean")
    assert jobs_of(mean, scored=False) == ["rates in rows"]
    assert jobs_of(make_sampler("sample_penalization"), scored=False) == ["rates in a history"]
    assert jobs_of(make_sampler("rates_herding", alpha=0.9), scored=False) == ["herding in a history"]
    assert jobs_of(make_sampler("rates_fpcd", n_chains=2, share=True), scored=False) == ["shared"]
