"""The folder of a sweep: whole files, foreign and damaged ones, what other programs read of it."""

import dataclasses
import io

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_limits import largest_file

from rbmviz import BadInput
from rbmviz.array_files import Damaged
from rbmviz.errors import OutputFailure
from rbmviz.knobs import knob
from rbmviz.registry import sampler, samplers
from rbmviz.samplers.gibbs import Gibbs
from rbmviz.sweeps import Axis, Budget, SweepPlan, cells
from rbmviz.sweeps.cell import CellRun
from rbmviz.sweeps.store import MAX_CELL_ROWS, PLAN_FILE, Store, decode, encode


@pytest.fixture(scope="module")
def plan():
    return SweepPlan(
        algorithms=("rates_fpcd",),
        axes=(Axis("eps", (0.03, 0.1)),),
        models=("bas_pcd",),
        seeds=(0, 1),
        budget=Budget("samples", 300),
    )


@pytest.fixture(scope="module")
def computed(plan):
    """The cells of the plan, each with its table."""
    return [(cell, CellRun(cell).finish()) for cell in cells(plan)]


@pytest.fixture
def store(plan, computed, tmp_path):
    """A folder with all cells."""
    found = Store(tmp_path / "sweep")
    found.prepare(plan, "rbmviz sweep ...")
    for cell, columns in computed:
        found.write(cell.identity, encode(columns))
    return found


def same(one, other):
    assert list(one) == list(other)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_what_is_written_is_read(store, plan, computed):
    made = [cell for cell, _ in computed]
    table = store.read(made)
    assert (table.cells, table.refused) == (4, [])
    same(table.columns, {n: np.concatenate([c[n] for _, c in computed]) for n in computed[0][1]})
    assert store.done(made) == {cell.identity for cell in made}
    assert store.plan() == plan
    assert list(store.read(made[:1], ("n", "eps", "isl_test")).columns) == ["n", "isl_test"]
    note = (store.folder / "_README.md").read_text()
    assert "rbmviz sweep ..." in note
    assert len(store.read().columns["n"]) == len(table.columns["n"])


def test_other_programs_read_the_folder_in_one_line(store):
    """As the note in the folder says, with the note, the plan and leftovers of a killed process there."""
    (store.folder / f".{'0' * 32}.parquet.1f0c2a9b").write_bytes(b"PAR1 torn")
    table, folder = store.read().columns, store.folder
    for found in (
        pandas.read_parquet(folder),
        duckdb.sql(f"select * from '{folder}/*.parquet'").df(),
        polars.read_parquet(f"{folder}/*.parquet"),
    ):
        assert len(found) == len(table["n"])
        assert list(found.columns) == list(table)
        for name in ("n", "seconds", "isl_test"):
            np.testing.assert_array_equal(np.sort(found[name].to_numpy()), np.sort(table[name]))
        assert set(found["setting"].to_list() if hasattr(found, "to_dicts") else found["setting"]) == set(
            table["setting"]
        )
        assert found["seed"].to_numpy().dtype == np.int64


def test_the_table_does_not_depend_on_the_order_of_writing(store, computed, plan, tmp_path):
    other = Store(tmp_path / "other")
    other.prepare(plan)
    for cell, columns in reversed(computed):
        other.write(cell.identity, encode(columns))
    same(store.read().columns, other.read().columns)


@pytest.mark.parametrize(
    "content", [b"", b"PA", b"PAR1", b"PAR1" + bytes(100), b"text" * 9, b"PAR1" + bytes(100) + b"PAR1"]
)
def test_a_torn_file_is_named_and_its_cell_computed_again(store, computed, content):
    made = [cell for cell, _ in computed]
    path = store.path(made[1].identity)
    path.write_bytes(content)
    table = store.read(made)
    assert table.cells == 3
    [sentence] = table.refused
    assert sentence.startswith(f"'{path.name}' is left out (it ")
    assert "\n" not in sentence
    if len(content) < 12 or not (content.startswith(b"PAR1") and content.endswith(b"PAR1")):
        assert store.done(made) == {cell.identity for cell in made} - {made[1].identity}
        store.write(made[1].identity, encode(computed[1][1]))
        assert store.read(made).refused == []
        assert (store.folder / f".{path.name}.broken").read_bytes() == content


def test_foreign_files_are_named_and_left_alone(store, computed):
    (store.folder / "notes.txt").write_text("precious")
    (store.folder / "mine.parquet").write_bytes(b"precious")
    table = store.read([cell for cell, _ in computed])
    assert table.cells == 4
    assert [sentence.split("'")[3] for sentence in table.refused] == ["mine.parquet", "notes.txt"]
    assert (store.folder / "notes.txt").read_text() == "precious"
    for i in range(10):
        (store.folder / f"{i}.txt").touch()
    assert "7 more files of this sort" in store.read().refused[-1]


def parquet(columns, **more):
    content = io.BytesIO()
    more = {"compression": "none", "store_schema": False} | more
    pq.write_table(pa.table({n: pa.array(c) for n, c in columns.items()}), content, **more)
    return content.getvalue()


def test_what_is_no_result_of_a_cell_is_refused(computed):
    cell, columns = computed[0]
    rows = len(columns["n"])
    same(decode(parquet(columns), cell.identity), columns)
    text = np.array(["x" * 6000] * rows)
    for content, words in (
        (parquet(columns, compression="zstd"), "pages are compressed"),
        (parquet(columns, row_group_size=5), r"rows in \d+ groups"),
        (parquet({"n": columns["n"]}), "its columns differ from the sweeps"),
        (parquet({**columns, "more": columns["n"]}), "its columns differ from the sweeps"),
        (
            parquet({**columns, "n": columns["n"].astype(np.float64)}),
            "its columns differ from the sweeps",
        ),
        (parquet({**columns, "n": columns["n"][::-1]}), "do not rise"),
        (parquet({**columns, "seed": pa.array([None] * rows, pa.int64())}), "missing values"),
        (parquet({**columns, "model": np.arange(rows).astype(str)}), "more than one run"),
        (parquet({**columns, "note": text}), "text of 6,000"),
        (parquet({**columns, "note": np.array(["x" * 70_000] * rows)}), "its texts take"),
        (parquet({name: np.repeat(column, 200) for name, column in columns.items()}), "declares"),
        (parquet({name: column[:0] for name, column in columns.items()}), "declares 0 rows"),
        (parquet({**columns, "identity": np.full(rows, "f" * 32)}), "of another cell"),
        (b"PAR1" + b"\0" * 2**20 + b"PAR1", "more than the result of a cell"),
        (parquet(columns)[:-100] + b"PAR1", "footer"),
    ):
        with pytest.raises(Damaged, match=words):
            decode(content, cell.identity)
    line = decode(parquet({**columns, "note": np.full(rows, "a\nb\x1b[2J")}))["note"][0]
    assert line == "a b [2J"


def test_compressed_pages_are_refused_before_they_are_read(computed):
    """Also by an unknown method, at which pyarrow ends the process, and behind a claim that they are not."""
    cell, columns = computed[0]
    content = encode(columns)
    place = content.index(b"\x19\x18\x04note\x15") + 8
    for method in (2, 4, 8, 12, 14, 16, 40, 99, 127):
        damaged = bytearray(content)
        damaged[place] = method
        with pytest.raises(Damaged, match="pages are compressed"):
            decode(bytes(damaged), cell.identity)
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    disguised = io.BytesIO()
    claims = {f"{name}": b"\x19\x18" + bytes([len(name)]) + name.encode() + b"\x15\0" for name in columns}
    pq.write_table(table.replace_schema_metadata(claims), disguised, compression="zstd", store_schema=False)
    with pytest.raises(Damaged, match="pages are compressed"):
        decode(disguised.getvalue(), cell.identity)


def test_a_column_that_is_declared_as_another_sort_is_refused(computed):
    """pyarrow's metadata of such a column end the process: its schema says required, its sizes optional."""
    content = encode(computed[0][1])
    damaged = content.replace(b"%\x02\x18\x05model", b"%\0\x18\x05model")
    assert damaged != content
    with pytest.raises(Damaged):
        decode(damaged)


def test_no_damaged_byte_does_harm(computed):
    """Every error is ``Damaged``; what is still read has bounded size."""
    content, g = encode(computed[0][1]), np.random.default_rng(5)
    sentences, rows = set(), set()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    for i in range(300):
        damaged = bytearray(content)
        for at in g.integers(len(content) - footer if i % 2 else 0, len(damaged), g.integers(1, 4)):
            damaged[at] = g.integers(256)
        try:
            found = decode(bytes(damaged))
        except Damaged as error:
            sentences.add(str(error))
        else:
            rows.add(len(found["n"]))
    assert max(rows) <= MAX_CELL_ROWS
    assert not any("\n" in sentence for sentence in sentences)


def test_a_folder_of_something_else_is_refused(store, plan, tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(BadInput, match="is a file"):
        Store(tmp_path / "file").prepare(plan)
    with pytest.raises(BadInput, match=r"'.*none' does not exist"):
        Store(tmp_path / "none" / "x").prepare(plan)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(BadInput, match="holds other files and no results"):
        Store(tmp_path / "mine").prepare(plan)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    with pytest.raises(BadInput, match="There is no folder"):
        Store(tmp_path / "nowhere").read()
    trainers = SweepPlan(kind="trainer", algorithms=("cd",), data="bas")
    with pytest.raises(BadInput, match="results with other columns"):
        store.prepare(trainers)
    store.prepare(dataclasses.replace(plan, seeds=(0, 1, 2)))
    assert store.plan().seeds == (0, 1, 2)
    (store.folder / PLAN_FILE).write_text("{")
    with pytest.raises(BadInput, match=r"_plan\.json': This is not a plan of a sweep"):
        store.plan()


def test_results_of_before_a_sampler_of_ones_own_are_read(store, plan, computed, monkeypatch):
    """Its knobs are columns, which they lack; nothing with other columns is written beside them."""
    before = store.read().columns
    monkeypatch.setattr(samplers, "_entries", dict(samplers._entries))

    @sampler("wide_gibbs", label="Wide Gibbs", paper="")
    class WideGibbs(Gibbs):
        width: float = knob(1.0, 0.5, 2.0, label="Width", help="A knob that no other sampler has.")
        side: str = knob("left", choices=("left", "right"), label="Side", help="A text.", live=False)

    found = store.read()
    assert (found.cells, found.refused) == (4, [])
    assert np.isnan(found.columns.pop("knob_width")).all()
    assert set(found.columns.pop("knob_side")) == {""}
    same(before, found.columns)
    with pytest.raises(BadInput, match=r"other columns \(knob_width, knob_side\), .* has imported: name"):
        store.prepare(plan)
    content = encode(CellRun(computed[0][0]).finish())
    assert np.isnan(decode(content)["knob_width"]).all()
    monkeypatch.undo()
    with pytest.raises(Damaged, match="columns differ from"):  # whose knob that is, nobody knows here
        decode(content)


def test_a_full_disk_is_named_and_leaves_no_torn_file(store, computed):
    cell, columns = computed[0]
    path = store.path(cell.identity)
    path.unlink()
    with largest_file(1000), pytest.raises(OutputFailure, match="cannot be written"):
        store.write(cell.identity, encode(columns))
    assert not path.exists()
    assert len(store.read().refused) == 0


def test_a_table_too_large_for_the_budget_is_refused(store, monkeypatch):
    monkeypatch.setattr("rbmviz.budget.DEFAULT_MB", 1)
    monkeypatch.setattr(
        "rbmviz.sweeps.store.check_memory", lambda what, needed, advice: _refuse(what, needed)
    )
    with pytest.raises(BadInput, match="needs"):
        store.read()


def _refuse(what, needed):
    assert needed > 0
    raise BadInput(f"{what} needs {needed} bytes.")
