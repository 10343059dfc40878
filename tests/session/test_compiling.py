"""Kernels that other processes compile: whoever waits goes on, whatever becomes of the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait

from rbmviz import kernels
from rbmviz.samplers import make_sampler
from rbmviz.session import compiling
from rbmviz.session.compiling import Compiling
from rbmviz.session.warm import JOBS, jobs_of


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start the processes of a machine without kernels; they run a shell script instead of Python."""
    monkeypatch.setattr(kernels.compiled, "is_noted", lambda name: False)
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


def test_waiters_of_a_job_resume_when_it_is_done(start, tmp_path):
    go_on, first = tmp_path / "go on", next(iter(JOBS))
    processes = start(
        rf"""until [ -e "{go_on}" ]; do sleep 0.01; done; printf '{first}\n'; exec sleep 1000"""
    )
    assert not processes.request(["gibbs", "scores"])
    go_on.touch()
    wait(lambda: processes.request([first]), "the first job")
    assert processes.jobs_done([first]) == (1, 2)
    processes.stop()
    assert not processes.finish()
    assert processes.request(JOBS)


def test_job_a_panel_waits_for_is_compiled_next(start, tmp_path):
    """The process does a job whenever there is a file; it writes what it has done."""
    go_on, told = tmp_path / "go on", tmp_path / "told"
    read = "dd bs=64 count=1 2>/dev/null | sed 's/ *$//'"
    processes = start(
        f"""while name=$({read}) && [ -n "$name" ]; do
            until [ -e "{go_on}" ]; do sleep 0.01; done
            rm "{go_on}"; printf "%s\\n" "$name"; echo "$name" >> "{told}"
        done"""
    )
    assert not processes.request(["trainer ucd", "gibbs"])
    assert not processes.request(["trainer ucd"])
    assert processes._queue[:2] == ["trainer ucd", "gibbs"]
    for done in range(3):
        go_on.touch()
        wait(lambda n=done + 1: told.exists() and len(told.read_text().splitlines()) == n, "a job")
    wait(lambda: processes.request(["trainer ucd", "gibbs"]), "both")
    assert told.read_text().splitlines() == [next(iter(JOBS)), "trainer ucd", "gibbs"]


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "kill -9 $$", None])
def test_failed_process_blocks_nobody(start, script):
    processes = start(script)
    wait(lambda: processes.request(JOBS), "the end of all waiting")
    assert processes.finish()


def test_process_compiles_the_jobs_that_it_reads():
    program = (
        "import os; from rbmviz.session import compiling; "
        "compiling.compile_jobs = lambda names: [os.write(1, f'{name},\\n'.encode()) for name in names]; "
        "compiling.main()"
    )
    options = {"check": True, "capture_output": True, "text": True, "timeout": 60}
    given = "".join(name.ljust(compiling.RECORD) for name in JOBS)
    told = subprocess.run([sys.executable, "-c", program], input=given, **options).stdout.splitlines()
    assert told == [line for name in JOBS for line in (f"{name},", name)]


def test_a_panel_needs_the_regime_of_its_knobs():
    assert jobs_of(make_sampler("gibbs")) == ["scores", "gibbs"]
    assert jobs_of(make_sampler("rates_fpcd"), scored=False) == ["driven in rows"]
    assert jobs_of(make_sampler("rates_fpcd", alpha=0.9), scored=False) == ["driven in a history"]
    mean = make_sampler("rates_fpcd", alpha=0.9, statistics="mean")
    assert jobs_of(mean, scored=False) == ["driven in rows"]
    assert jobs_of(make_sampler("sample_penalization"), scored=False) == ["driven in a history"]
    assert jobs_of(make_sampler("rates_herding", alpha=0.9), scored=False) == ["herding in a history"]
    assert jobs_of(make_sampler("rates_fpcd", n_chains=2, share=True), scored=False) == ["shared"]


COMPILED_BY_THE_RUN = """
import importlib, sys
from waiting import wait
from numba.core import event
from rbmviz.pages.spec import Sources
from rbmviz.session import Race
from rbmviz.session.warm import compile_jobs

class Listener(event.Listener):
    def on_start(self, started):
        if (kernel := started.data["dispatcher"]).__module__.startswith("rbmviz"):
            print(kernel.__module__, kernel.__name__)
    def on_end(self, ended): pass

name, *settings = sys.argv[1:]
page = importlib.import_module(f"rbmviz.pages.{name}").SPEC
values = {key: setting.default for key, setting in page.settings.items()}
setup = page.setup(values | dict(one.split("=") for one in settings), Sources())
for panel in page.default_panels:
    race, algorithm = Race(setup, 30.0), page.algorithms.read(panel)
    list(compile_jobs(["findings", *setup.plan().run(1, algorithm).jobs()]))  # a look asks for its own
    listener = Listener()
    event.register("numba:compile", listener)
    race.add(algorithm)
    race.step(100)
    wait(lambda: (s := race.poll()[0][1]).n == 100 and s.status == "paused", "a hundred steps")
    event.unregister("numba:compile", listener)
    race.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "sample",
        "train",
        "train train_data=mnist5k",
        "coupling",
        "weights",
        "weights weights_model=mnist_fpcd",
    ],
)
def test_a_run_compiles_nothing_that_its_jobs_do_not(tmp_path, page):
    """While a run compiles in the server, all pages stand still."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_BY_THE_RUN, *page.split()],
        env=os.environ | {"RBMVIZ_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
