"""Kernels that other processes compile: whoever waits goes on, whatever becomes of the process."""

import subprocess
import sys

import pytest

from rbmviz.samplers import make_sampler
from rbmviz.session import compiling
from rbmviz.session.compiling import Compiling, divide
from rbmviz.session.warm import FIRST_JOBS, JOBS, jobs_of


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
    later = [processes.seconds_left([name]) for name in FIRST_JOBS if name != "gibbs"]
    assert max(later) > min(later)
    processes.stop()
    assert not processes.finish()
    processes.wait(FIRST_JOBS)


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "kill -9 $$", None])
def test_a_process_that_fails_keeps_nobody(start, script):
    processes = start(script)
    processes.wait(FIRST_JOBS)
    assert processes.finish()


@pytest.mark.skipif(not compiling.FORKS, reason="processes do not fork here")
def test_a_process_that_forks_compiles_each_job_once():
    program = (
        "import os; from rbmviz.session import compiling; "
        "compiling.compile_jobs = lambda names: (f'{name},{os.getpid()}' for name in names); compiling.main()"
    )
    command = [sys.executable, "-c", program, "3", *JOBS]
    options = {"check": True, "capture_output": True, "text": True, "timeout": 60}
    told = subprocess.run(command, **options).stdout.splitlines()
    names, processes = zip(*(line.split(",") for line in told), strict=True)
    assert sorted(names) == sorted(JOBS)
    assert names[0] == next(iter(JOBS))
    assert len(set(processes)) == 3


def test_jobs_are_divided_by_their_seconds():
    assert divide([], 2) == []
    assert divide(["gibbs"], 4) == [["gibbs"]]
    shares = divide(list(JOBS), 3)
    assert sorted(name for share in shares for name in share) == sorted(JOBS)
    assert [share[0] for share in shares] == list(JOBS)[:3]


def test_a_panel_needs_the_regime_of_its_knobs():
    assert jobs_of(make_sampler("gibbs")) == ["scores", "gibbs"]
    assert jobs_of(make_sampler("rates_fpcd"), scored=False) == ["rates in rows"]
    assert jobs_of(make_sampler("rates_fpcd", alpha=0.9), scored=False) == ["rates in a history"]
    mean = make_sampler("rates_fpcd", alpha=0.9, statistics="mean")
    assert jobs_of(mean, scored=False) == ["rates in rows"]
    assert jobs_of(make_sampler("sample_penalization"), scored=False) == ["rates in a history"]
    assert jobs_of(make_sampler("rates_herding", alpha=0.9), scored=False) == ["herding in a history"]
    assert jobs_of(make_sampler("rates_fpcd", n_chains=2, share=True), scored=False) == ["shared"]
