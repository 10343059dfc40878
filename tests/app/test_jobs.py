"""Sweeps of a server: children with a folder and an owner, which end with the server and lose nothing."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz import BadInput, Model
from rbmviz.datasets import load_dataset
from rbmviz.models import load_model
from rbmviz.rbm.files import save_model
from rbmviz.sweeps import Axis, Budget, CellRun, Store, SweepPlan, cells, compare, run, table
from rbmviz.sweeps import scores as scores_module
from rbmviz.sweeps.scores import SweepScores
from rbmviz_app.jobs import JOB_FILE, Jobs
from tests.sweeps.tables import same


def plan_of(values=2, seeds=2, samples=50, **given):
    eps = Axis("eps", tuple(np.geomspace(0.01, 0.3, values).round(4).tolist()))
    first = {"algorithms": ["rates_fpcd"], "axes": [eps], "models": ["bas_pcd"]}
    return SweepPlan(**{**first, "seeds": range(seeds), "budget": Budget("samples", samples), **given})


LONG = plan_of(seeds=1, samples=10**6)


@pytest.fixture
def jobs(tmp_path):
    made = Jobs(tmp_path / "sweeps")
    yield made
    made_jobs = [*made.list(), *made._private.values()]
    for job in made_jobs:
        made.delete(job)
    wait(lambda: not any(job._process for job in made_jobs), "the ends of the processes")


def ended(job, *status):
    wait(lambda: job.status in (status or ("finished",)), f"the sweep is {status}")
    return job


def test_sweep_runs_in_a_child_to_the_scores_of_its_cells(jobs):
    job = ended(jobs.start(plan_of(), "Steps", "me"))
    assert (job.done, job.error, jobs.list()) == (4, "", [job])
    found = Store(job.folder).read(cells(job.plan))
    same(found, table(CellRun(cell).finish() for cell in cells(job.plan)))
    assert job.folder.parent.stat().st_mode & 0o777 == 0o700
    scores = SweepScores(job.plan, found)
    assert (scores.n_done, len(scores.final_choice().settings)) == (4, 2)


def test_child_has_low_priority_and_ends_with_its_server(jobs):
    job = ended(jobs.start(LONG, "Long", "me"), "running")
    process = job._process
    if sys.platform == "linux":
        wait(lambda: os.getpriority(os.PRIO_PROCESS, process.pid) >= 10, "its priority")
    jobs.close()
    assert process.wait(PATIENCE) in (0, 3)
    ended(job, "paused")
    assert job.error == ""


def test_child_of_a_killed_server_ends_too(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from rbmviz_app.jobs import Jobs; "
        "from rbmviz.sweeps import Store; jobs = Jobs(Path(sys.argv[1])); "
        "job = jobs.start(Store(sys.argv[2]).plan(), 'x', 'me')\n"
        "while job._process is None: time.sleep(.01)\n"
        "print(job._process.pid, flush=True); time.sleep(1000)"
    )
    Store(tmp_path / "plan").prepare(LONG)
    command = [sys.executable, "-c", code, str(tmp_path / "sweeps"), str(tmp_path / "plan")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        child = int(server.stdout.readline())
        server.kill()

    def is_gone():
        try:
            with open(f"/proc/{child}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    wait(is_gone, "the end of the child")


def test_paused_sweep_goes_on_and_complete_runs_are_kept(jobs):
    job = jobs.start(plan_of(4, 5, 2000), "Steps", "me")
    wait(lambda: job.done >= 2, "two runs")
    jobs.pause(job)
    wait(lambda: job._process is None, "the end of the child")
    done = job.done
    assert (job.status, 2 <= done < 20) == ("paused", True)
    jobs.resume(job)
    wait(lambda: job.done > done and job.seconds_left(job.done) is not None, "another run")
    assert ended(job).done == 20


def test_one_sweep_runs_at_a_time_and_reuses_the_runs_of_others(jobs):
    first, second = jobs.start(plan_of(4, 3), "First", "me"), jobs.start(plan_of(4, 4), "Second", "you")
    assert second.status == "queued"
    ended(second)
    assert first.status == "finished"
    one, other = (Store(job.folder).read(cells(plan_of(4, 3))) for job in (first, second))
    np.testing.assert_array_equal(one["seconds"], other["seconds"])  # not computed again


def test_killed_child_is_said_and_the_sweep_resumes(jobs):
    job = ended(jobs.start(plan_of(), "Steps", "me"), "running")
    os.kill(job._process.pid, signal.SIGKILL)
    ended(job, "paused")
    assert job.error == "Its process has ended (-9): resume it."
    jobs.resume(job)
    assert ended(job).done == 4


def test_sweep_has_an_owner_and_is_deleted_with_its_folder(jobs):
    job = jobs.start(plan_of(), "Steps", "me")
    assert (job.belongs_to("me"), job.belongs_to("you")) == (True, False)
    with pytest.raises(BadInput, match="no such sweep"):
        jobs.get("../../etc")
    jobs.delete(job)
    assert (jobs.list(), job.folder.exists()) == ([], False)


def test_sweep_of_own_model_and_data_is_private_and_goes_with_its_holder(jobs):
    data, model = load_dataset("bas"), load_model("bas_pcd")
    own = {"mine.npz": Model(model.rbm, model.rates, {}), "rows.csv": data}
    plan = plan_of(algorithms=["gibbs"], axes=[], models=["mine.npz"], data="rows.csv")
    job = ended(jobs.start(plan, "Mine", "me", own))
    assert (job.done, jobs.list()) == (2, [])
    of_plan = cells(plan, own=own)
    want = table(CellRun(cell).finish() for cell in of_plan)
    found = Store(job.folder).read(of_plan)
    np.testing.assert_array_equal(found["isl_test"], want["isl_test"])
    assert Jobs(jobs.folder).list() == []  # the next server does not list it, and removes it
    assert not job.folder.exists()
    job = ended(jobs.start(plan, "Again", "me", own))
    folder = job.folder
    del job
    wait(lambda: not folder.exists(), "the end of its folder")


def test_next_server_finds_the_sweeps_and_leaves_other_folders_alone(jobs):
    job = ended(jobs.start(plan_of(), "Steps", "me"))
    for name in ("20260101-000000-abcdef", "letters"):
        (jobs.folder / name).mkdir()
        (jobs.folder / name / "letter.txt").write_text("Dear")
    (jobs.folder / "20260101-000000-abcdef" / JOB_FILE).write_text('{"title": 3}')
    [found] = Jobs(jobs.folder).list()
    assert (found.name, found.title, found.status, found.plan) == (job.name, "Steps", "finished", job.plan)
    assert found.belongs_to("me")
    assert (jobs.folder / "letters" / "letter.txt").exists()


def test_folder_of_the_command_line_is_listed_by_a_name_that_is_no_path(jobs, tmp_path):
    store = Store(tmp_path / "secret")
    store.prepare(plan_of())
    run(cells(plan_of()), store)
    job = jobs.add_results(store.folder)
    assert (job.status, job.done, job.title) == ("finished", 4, "secret")
    assert "secret" not in job.name
    assert jobs.get(job.name) is jobs.add_results(store.folder)
    jobs.delete(job)
    assert store.file.exists()


def test_plan_makes_the_server_read_no_file_and_says_what_cannot_start(jobs, tmp_path):
    save_model(load_model("bas_pcd"), tmp_path / "m.npz")
    job = ended(jobs.start(plan_of(models=[str(tmp_path / "m.npz")]), "File", "me"), "failed")
    assert job.error.startswith("Unknown model")


def test_failed_runs_are_counted_and_tried_again(jobs, monkeypatch):
    # usps is not read from the folder of the tests
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(jobs.folder))
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(jobs.folder))
    job = ended(jobs.start(plan_of(models=["usps_fpcd"]), "USPS", "me"), "failed")
    assert "usps" in job.error
    store = Store(job.folder)
    store.write_failure(cells(plan_of())[0], "It diverges.")
    monkeypatch.undo()
    assert store.failures() == ["It diverges."]


def test_limits_of_a_server(jobs, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SWEEPS", "4")
    jobs.start(LONG, "One", "me")
    with pytest.raises(BadInput, match="You have 1 sweeps that have not ended"):
        jobs.start(LONG, "Two", "me")
    with pytest.raises(BadInput, match="the server allows 2,000"):
        jobs.start(plan_of(50, 50), "Many", "me")
    with pytest.raises(BadInput, match="too long for a server"):
        jobs.start(plan_of(samples=10**7), "Long", "me")
    for owner in "abc":
        jobs.start(plan_of(), owner, owner)
    with pytest.raises(BadInput, match="keeps 4 sweeps"):
        jobs.start(plan_of(), "Five", "d")


def test_map_opened_by_two_visitors_is_compared_once(monkeypatch):
    """Each comparison holds the interpreter, and with it everybody's pictures."""
    plan, calls, both = plan_of(), [], threading.Barrier(2)
    scores = SweepScores(plan, table(CellRun(cell).finish() for cell in cells(plan)))

    def compared(*given):
        calls.append(given)
        time.sleep(0.2)
        return compare(*given)

    def open_map(_):
        both.wait()
        return scores.choices(50, "samples", "isl_validation")

    monkeypatch.setattr(scores_module, "compare", compared)
    with ThreadPoolExecutor(2) as visitors:
        first, second = visitors.map(open_map, range(2))
    assert first is second
    assert len(calls) == 1
