"""Kernels that other processes compile: whoever waits goes on, whatever becomes of the process."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from waiting import wait

from rbmviz import kernels
from rbmviz.samplers import make_sampler
from rbmviz.session import compiling
from rbmviz.session.compiling import LOADING_SECONDS, Compiling
from rbmviz.session.warm import COMPILER, JOBS, jobs_of


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


def test_who_waits_for_a_job_goes_on_when_it_is_done(start):
    processes = start(r"printf 'compiler\t1\tdone\ngibbs\t1\tdone\n'; exec sleep 1000")
    wait(lambda: processes.request(["gibbs"]), "gibbs")
    assert processes.seconds_left(["rates in rows"]) > 0
    later = [processes.seconds_left([name]) for name in JOBS if name != "gibbs"]
    assert max(later) > min(later)
    processes.stop()
    assert not processes.finish()
    assert processes.request(JOBS)


def test_what_a_panel_waits_for_is_compiled_next(start, tmp_path):
    """The process does a job whenever there is a file; it writes what it has done."""
    go_on, told = tmp_path / "go on", tmp_path / "told"
    read = "dd bs=64 count=1 2>/dev/null | sed 's/ *$//'"
    processes = start(
        f"""while name=$({read}) && [ -n "$name" ]; do
            until [ -e "{go_on}" ]; do sleep 0.01; done
            rm "{go_on}"; printf "%s\\t1\\tdone\\n" "$name"; echo "$name" >> "{told}"
        done"""
    )
    assert not processes.request(["trainer ucd", "scores"])
    assert not processes.request(["trainer ucd"])
    assert processes._queue[:2] == ["trainer ucd", "scores"]
    for done in range(3):
        go_on.touch()
        wait(lambda n=done + 1: told.exists() and len(told.read_text().splitlines()) == n, "a job")
    wait(lambda: processes.request(["trainer ucd", "scores"]), "both")
    assert told.read_text().splitlines() == [COMPILER, "trainer ucd", "scores"]


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(compiling.time, "monotonic", lambda: now.now)
    return now


@pytest.fixture
def compiling_gibbs(monkeypatch, clock):
    """A machine that compiles one job at a time, and has just begun with the first."""
    monkeypatch.setattr(kernels.compiled, "is_noted", lambda name: False)
    one = Compiling()
    one._missing = {*JOBS}
    one._queue = ["rates in rows", "scores"]
    one._running = {"gibbs": (clock.now, 0.0)}
    return one


GIBBS = JOBS["gibbs"].seconds
ROWS, SCORES = JOBS["rates in rows"].seconds, JOBS["scores"].seconds


def report(one, clock, name, used, share, is_done=False):
    """Let a job use a core, of which it gets a share, for so many seconds, and report twice a second."""
    (_, before), n = one._running[name], max(round(used / share / 0.5), 1)
    for i in range(n):
        clock.now += used / share / n
        one._note(name, before + used * (i + 1) / n, is_done and i == n - 1)


def next_job(one, clock):
    one._running = {one._queue.pop(0): (clock.now, 0.0)}


@pytest.mark.parametrize("share", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("factor", [0.4, 1.0, 3.0])
def test_the_first_job_says_how_slow_the_machine_is(compiling_gibbs, clock, factor, share):
    """Each job takes so many times its stored seconds, and gets such a share of a core."""
    one = compiling_gibbs
    assert one.seconds_left(["rates in rows"]) == pytest.approx(GIBBS + ROWS + LOADING_SECONDS)
    report(one, clock, "gibbs", factor * GIBBS, share, is_done=True)
    next_job(one, clock)
    # What was assumed before the first report counts for 0.1 processor seconds.
    for names, stored in ((["rates in rows"], ROWS), (["scores", "rates in rows"], ROWS + SCORES)):
        expected = factor / share * (stored + LOADING_SECONDS)
        assert one.seconds_left(names) == pytest.approx(expected, rel=0.15)
    report(one, clock, "rates in rows", 0.5 * factor * ROWS, share)
    expected = factor / share * (0.5 * ROWS + LOADING_SECONDS)
    assert one.seconds_left(["rates in rows"]) == pytest.approx(expected, rel=0.15)


def test_the_first_job_is_corrected_while_it_is_compiled(compiling_gibbs, clock):
    report(compiling_gibbs, clock, "gibbs", 0.5 * GIBBS, share=0.1)
    expected = (0.5 * GIBBS + LOADING_SECONDS) / 0.1
    assert compiling_gibbs.seconds_left(["gibbs"]) == pytest.approx(expected, rel=0.1)


def test_recent_reports_count(compiling_gibbs, clock):
    report(compiling_gibbs, clock, "gibbs", 0.3 * GIBBS, share=1.0)
    report(compiling_gibbs, clock, "gibbs", 0.6 * GIBBS, share=0.02)
    expected = (0.1 * GIBBS + LOADING_SECONDS) / 0.02
    assert compiling_gibbs.seconds_left(["gibbs"]) == pytest.approx(expected, rel=0.1)


def test_a_countdown_goes_on_between_reports_and_never_below_zero(compiling_gibbs, clock):
    report(compiling_gibbs, clock, "gibbs", 0.5, share=1.0)
    before = compiling_gibbs.seconds_left(["gibbs"])
    clock.now += 0.5
    assert compiling_gibbs.seconds_left(["gibbs"]) == pytest.approx(before - 0.5)
    clock.now += GIBBS
    assert compiling_gibbs.seconds_left(["gibbs"]) == 0  # longer than expected
    assert compiling_gibbs.seconds_left(["scores"]) > 0


def test_a_job_that_takes_longer_makes_the_others_longer(compiling_gibbs, clock):
    report(compiling_gibbs, clock, "gibbs", 2 * GIBBS, share=1.0)
    assert compiling_gibbs.seconds_left(["rates in rows"]) == pytest.approx(2 * (ROWS + LOADING_SECONDS))


def test_loading_the_compiler_is_no_measure_of_the_machine(compiling_gibbs, clock):
    """Where Python has no bytecode of numba, it takes several times as long, and what follows does not."""
    compiling_gibbs._running, compiling_gibbs._queue = {COMPILER: (clock.now, 0.0)}, ["gibbs"]
    at_first = compiling_gibbs.seconds_left(["gibbs"])
    assert at_first == pytest.approx(JOBS[COMPILER].seconds + GIBBS + LOADING_SECONDS)
    report(compiling_gibbs, clock, COMPILER, 5 * JOBS[COMPILER].seconds, share=1.0, is_done=True)
    assert compiling_gibbs.seconds_left(["gibbs"]) == pytest.approx(GIBBS + LOADING_SECONDS)


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "kill -9 $$", None])
def test_a_process_that_fails_keeps_nobody(start, script):
    processes = start(script)
    wait(lambda: processes.request(JOBS), "the end of all waiting")
    assert processes.finish()


@pytest.mark.skipif(not compiling.FORKS, reason="processes do not fork here")
def test_a_process_that_forks_compiles_each_job_once():
    program = (
        "import os, time; from rbmviz.session import compiling; "
        "compiling.compile_jobs = lambda names: "
        "[time.sleep(0.05) or os.write(1, f'{name},{os.getpid()}\\n'.encode()) for name in names]; "
        "compiling.main()"
    )
    options = {"check": True, "capture_output": True, "text": True, "timeout": 60}
    given = "".join(name.ljust(compiling.RECORD) for name in JOBS)
    told = subprocess.run([sys.executable, "-c", program, "3"], input=given, **options).stdout.splitlines()
    names, processes = zip(*(line.split(",") for line in told if "," in line), strict=True)
    assert sorted(names) == sorted(JOBS)
    assert names[0] == next(iter(JOBS))
    assert len(set(processes)) == 3
    assert sorted(line.split("\t")[0] for line in told if line.endswith("\tdone")) == sorted(JOBS)


def test_a_panel_needs_the_regime_of_its_knobs():
    assert jobs_of(make_sampler("gibbs")) == ["scores", "gibbs"]
    assert jobs_of(make_sampler("rates_fpcd"), scored=False) == ["rates in rows"]
    assert jobs_of(make_sampler("rates_fpcd", alpha=0.9), scored=False) == ["rates in a history"]
    mean = make_sampler("rates_fpcd", alpha=0.9, statistics="mean")
    assert jobs_of(mean, scored=False) == ["rates in rows"]
    assert jobs_of(make_sampler("sample_penalization"), scored=False) == ["rates in a history"]
    assert jobs_of(make_sampler("rates_herding", alpha=0.9), scored=False) == ["herding in a history"]
    assert jobs_of(make_sampler("rates_fpcd", n_chains=2, share=True), scored=False) == ["shared"]


COMPILED_BY_THE_RUN = """
import importlib, sys
from waiting import wait
from numba.core import event
from rbmviz.knobs import read_algorithm
from rbmviz.pages.spec import Sources
from rbmviz.session import Comparison, PopulationSetup, StudySetup
from rbmviz.session.warm import compile_jobs

class Listener(event.Listener):
    def on_start(self, started):
        if (kernel := started.data["dispatcher"]).__module__.startswith("rbmviz"):
            print(kernel.__module__, kernel.__name__)
    def on_end(self, ended): pass

name, *settings = sys.argv[1:]
measured = {"population": PopulationSetup, "study": lambda weights: StudySetup(weights.dataset, updates=50)}
page = importlib.import_module(f"rbmviz.pages.{'weights' if name in measured else name}").SPEC
values = {key: setting.default for key, setting in page.settings.items()}
setup = page.setup(values | dict(one.split("=") for one in settings), Sources())
setup = measured.get(name, lambda setup: setup)(setup)
for panel in page.default_panels[: 1 if name in measured else None]:
    comparison = Comparison(setup, 1000.0 if name in measured else 30.0)
    worker = comparison.add(read_algorithm(page.algorithms, panel)).worker
    list(compile_jobs(worker._run.jobs()))
    listener = Listener()
    event.register("numba:compile", listener)
    comparison.step(100)
    wait(lambda: (s := worker.request_snapshot()).n == 100 and s.status == "paused", "a hundred steps")
    event.unregister("numba:compile", listener)
    comparison.close()
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
        "population",
        "study",
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
