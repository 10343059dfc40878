"""A sweep as one SQLite file: what is written is read, by others too, and nothing else is touched."""

import sqlite3

import pandas as pd
import pytest

from rbmviz import BadInput
from rbmviz.sweeps import Axis, Budget, CellRun, Store, SweepPlan, cells, store, table
from tests.sweeps.tables import same


@pytest.fixture(scope="module")
def plan():
    axes = [Axis("eps", (0.01, 0.1, 1.0))]
    return SweepPlan(
        algorithms=["rates_fpcd"], axes=axes, models=["bas_pcd"], seeds=[0, 1], budget=Budget("samples", 50)
    )


@pytest.fixture(scope="module")
def results(plan):
    return [CellRun(cell).finish() for cell in cells(plan)]


@pytest.fixture
def written(plan, results, tmp_path):
    made = Store(tmp_path / "out")
    assert made.prepare(plan, "a command") == ""
    for result in results[::-1]:
        made.write(result)
    return made


def test_store_reads_in_the_order_of_the_plan(written, plan, results):
    found = written.read(cells(plan))
    same(found, table(results))
    assert [found[name].dtype.kind for name in ("n", "setting")] == ["i", "O"]
    assert written.plan() == plan
    assert written.about()["command"] == "a command"
    assert written.done(cells(plan)) == {cell.identity for cell in cells(plan)}
    assert set(written.read(cells(plan)[:1])["identity"]) == {cells(plan)[0].identity}
    assert [path.name for path in written.folder.iterdir() if "-" not in path.name] == ["sweep.sqlite"]


def test_pandas_reads_the_file_in_a_line(written, plan):
    rows = written.read()
    with sqlite3.connect(written.file) as db:
        frame = pd.read_sql("select * from point join cell on cell.number = point.cell", db)
    assert len(frame) == len(rows["n"])
    assert frame["isl_test"].sum() == pytest.approx(rows["isl_test"].sum())
    with sqlite3.connect(written.file) as db:
        eps = {row[0] for row in db.execute("select json_extract(knobs, '$.eps') from cell")}
    assert eps == {0.01, 0.1, 1.0}


def test_failures_are_noted_and_are_no_results(written, plan):
    cell = cells(plan)[0]
    written.write_failure(cell, "It diverges.")
    assert written.failures() == ["It diverges."]
    assert written.count() == len(set(written.read(cells(plan))["identity"])) == 5
    assert cell.identity not in written.done([cell])


def test_results_of_another_folder_are_taken_over(written, plan, results, tmp_path):
    other = Store(tmp_path / "other")
    other.prepare(plan)
    other.write(results[0])
    other.write_failure(cells(plan)[1], "It diverges.")
    other.take_over(written, cells(plan)[:4])
    assert (other.count(), other.failures()) == (4, [])
    same(other.read(cells(plan)), table(results[:4]))


def test_finished_sweep_is_a_single_file_that_is_read_from_a_disk_without_writing(written, plan, results):
    written.close()
    assert [path.name for path in written.folder.iterdir()] == ["sweep.sqlite"]
    written.file.chmod(0o444)
    written.folder.chmod(0o555)
    try:
        same(written.read(cells(plan)), table(results))
    finally:
        written.folder.chmod(0o755)


def test_disk_without_shared_memory_is_said_once_and_works(plan, results, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "VFS", "unix-none")
    made = Store(tmp_path / "out")
    assert "cannot share memory between processes" in made.prepare(plan)
    for result in results:
        made.write(result)
    same(made.read(cells(plan)), table(results))


def test_folders_of_something_else_are_refused(plan, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "_plan.json").write_text("{}")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("Dear")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "sweep.sqlite").write_bytes(b"SQLite format 3" * 99)
    (tmp_path / "file").write_text("")
    for name, said in {
        "old": "holds a sweep of an older rbmviz",
        "other": "holds other files and no results",
        "file": "is a file",
        "none/out": "does not exist",
    }.items():
        with pytest.raises(BadInput, match=said):
            Store(tmp_path / name).prepare(plan)
    for name, said in {"old": "an older rbmviz", "damaged": "cannot be read", "none": "no folder"}.items():
        for read in (Store(tmp_path / name).read, Store(tmp_path / name).plan):
            with pytest.raises(BadInput, match=said):
                read()
    assert (tmp_path / "other" / "letter.txt").read_text() == "Dear"


def test_trainers_and_samplers_have_folders_of_their_own(written):
    plan = SweepPlan(kind="trainer", algorithms=["cd"], data="bas", budget=Budget("updates", 2))
    with pytest.raises(BadInput, match="results of another kind"):
        written.prepare(plan)
