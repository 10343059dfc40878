"""Store the results of a sweep as a folder of Parquet files, one for each cell.

A cell's file is called ``<identity>.parquet`` and holds its table (``cell.columns_of``). The file is written
under a temporary name and renamed, so it is complete or missing, even on a disk that several machines share;
there is no server and no lock. A cell whose file exists is done. The folder also holds the plan,
``_plan.json``, and a note for people, ``_README.md``: readers of Parquet folders ignore names that begin with
``_`` or ``.``, and fail on other files.

Files are not trusted. Size, columns, types and numbers of rows are checked before anything is read. Pages
must not be compressed. Texts, which a file stores once but memory holds once per row, are bounded, so that no
file expands to more than about 100 MB. Texts must be printable, and nothing in a file is ever executed.
"""

import io
import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbmviz.array_files import (
    Damaged,
    is_folder,
    printable,
    read_file,
    why,
)
from rbmviz.budget import check_memory
from rbmviz.errors import BadInput, brought_by
from rbmviz.output import check_writable, write_whole, writing
from rbmviz.sweeps.cell import Cell, columns_of
from rbmviz.sweeps.choose import joined
from rbmviz.sweeps.parquet_footer import uncompressed_sizes
from rbmviz.sweeps.plan import Kind, SweepPlan

MAX_CELL_BYTES = 2**20
"""Maximum bytes of one cell's file; 125 rows take about 15 kB."""

MAX_CELL_ROWS = 2000
"""Maximum number of rows of one cell, which exceeds the number of points of a curve."""

MAX_CELL_TEXT = 5000
"""Maximum number of characters of a text in a table."""

MAX_TEXT_BYTES = 2**16
"""Maximum bytes of all texts in a cell's file; those of 125 rows take about 2 kB."""

IDENTITY = re.compile(r"[0-9a-f]{32}")

PLAN_FILE, NOTE_FILE = "_plan.json", "_README.md"

_MAGIC = b"PAR1"

_MAX_NAMED = 5
"""Maximum number of files in a folder that messages name individually."""

_NOTE = """# Results of a sweep by rbmviz

One Parquet file for each cell (one run: a setting, a model, a seed); the name is a hash of everything that
the result depends on. `_plan.json` is the plan. `rbmviz sweep show {folder}` compares the settings,
`rbmviz sweep resume {folder}` computes what is missing. To read all of it:

    pandas.read_parquet("{folder}")
    duckdb.sql("select * from '{folder}/*.parquet'")
    polars.read_parquet("{folder}/*.parquet")

A row is a point of a cell's curve: after `n` samples (or updates), `sweeps` (Gibbs sweeps) and `seconds` of
processor time, each measure has this value. The columns `setting`, `model_digest`, `data_digest`, `seed` and
`version` (of the code) say what was run: select one `version` if there are several. Files whose names begin
with a dot were left by a killed process or are damaged results; you may delete them.

    {command}
    rbmviz {version}
"""


class StoredTable(NamedTuple):
    """The results in a folder.

    columns : dict of str to ndarray (rows,)
        The table in long form; texts have dtype object, numbers int64 or float64.
    cells : int
        Number of cells in the table.
    refused : list of str
        One sentence for each file that could not be read or is not a result.
    """

    columns: dict[str, np.ndarray]
    cells: int
    refused: list[str]


def encode(columns: Mapping[str, np.ndarray]) -> bytes:
    """Return the table of a cell as the content of a Parquet file; BadInput if pyarrow is not installed."""
    pa, pq = _pyarrow()
    kind: Kind = "sampler" if set(columns) == set(columns_of("sampler")) else "trainer"
    schema = _schema(kind)
    table = pa.table({name: pa.array(columns[name], schema.field(name).type) for name in schema.names})
    content = io.BytesIO()
    # Uncompressed, because 'decode' refuses compressed pages. No Arrow schema: one schema is enough.
    pq.write_table(table, content, compression="none", store_schema=False, write_statistics=False)
    return content.getvalue()


def decode(content: bytes, identity: str = "", names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the table of a cell from the untrusted content of a file; see ``StoredTable``.

    identity : identity that the cell must have (default "": any); names : columns to return (default all)

    Raises Damaged if the content is not the table of a cell.
    """
    pa, pq = _pyarrow()
    if len(content) > MAX_CELL_BYTES:
        raise Damaged(f"it has {len(content):,} bytes, more than the result of a cell")
    if len(content) < 12 or not content.startswith(_MAGIC) or not content.endswith(_MAGIC):
        raise Damaged("it is not a Parquet file, or not a whole one")
    sizes = uncompressed_sizes(content)
    try:
        file = pq.ParquetFile(
            pa.BufferReader(content),
            thrift_string_size_limit=MAX_CELL_BYTES,
            thrift_container_size_limit=10_000,
        )
        kind, names_there = _kind_of(file.schema_arrow), file.schema_arrow.names
        rows, groups = file.metadata.num_rows, file.metadata.num_row_groups
        if not 1 <= rows <= MAX_CELL_ROWS or groups != 1:
            raise Damaged(f"it declares {rows:,} rows in {groups:,} groups")
        if len(sizes) != len(names_there):
            raise Damaged("its footer does not describe its own columns")
        types = columns_of(kind)
        # Arrow repeats in every row a text that the file stores once, but reads no more than these sizes.
        texts = sum(size for size, name in zip(sizes, names_there, strict=True) if types[name] is str)
        if texts > MAX_TEXT_BYTES:
            raise Damaged(f"its texts take {texts:,} bytes")
        wanted = [name for name in types if names is None or name in names]
        needed = [*wanted, *(name for name in ("identity", "n") if name not in wanted)]
        there = set(names_there)
        table = file.read(columns=[name for name in needed if name in there], use_threads=False)
        columns = {
            name: _array(table.column(name), types[name])
            if name in there
            else np.full(rows, "" if types[name] is str else math.nan)
            for name in needed
        }
    except (BadInput, Damaged):
        raise
    except Exception as error:  # errors from Arrow, and from Python for texts that are not UTF-8
        raise Damaged(why(error)) from None
    if identity and columns["identity"][0] != identity:
        raise Damaged("it is the result of another cell than its name says")
    if (columns["n"] < 1).any() or (np.diff(columns["n"]) <= 0).any():
        raise Damaged("its numbers of samples do not rise")
    return {name: columns[name] for name in wanted}


def check_installed() -> None:
    """Raise BadInput unless pyarrow is installed."""
    _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    with brought_by("sweep", "A sweep"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet


def _schema(kind: Kind) -> Any:
    pa, _ = _pyarrow()
    types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    return pa.schema([(name, types[type_]) for name, type_ in columns_of(kind).items()])


def _kind_of(schema: Any) -> Kind:
    """Return the kind of sweep with these columns, which a process with fewer knobs may have written."""
    kinds: tuple[Kind, ...] = ("sampler", "trainer")
    for kind in kinds:
        types = {field.name: field.type for field in _schema(kind)}
        there = {field.name: field.type for field in schema}
        missing = [name for name in types if name not in there]
        if (
            len(there) == len(schema)
            and there.items() <= types.items()
            and all(name.startswith("knob_") for name in missing)
        ):
            return kind
    raise Damaged(
        "its columns differ from the sweeps of this version of rbmviz with the algorithms it has imported"
    )


def _array(column: Any, type_: type) -> np.ndarray:
    if column.null_count:
        raise Damaged("it has missing values")
    if type_ is not str:
        return column.to_numpy()
    values = set(column.unique().to_pylist())
    if len(values) != 1:
        raise Damaged("it holds more than one run")
    [text] = values
    if len(text) > MAX_CELL_TEXT:
        raise Damaged(f"it holds a text of {len(text):,} characters")
    return np.full(len(column), printable(text), dtype=object)


class Store:
    """The folder of a sweep.

    Parameters
    ----------
    folder : str or Path
        The folder; nothing is created or read before a method is called.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, identity: str) -> Path:
        """Return the path of the file for the cell with this identity."""
        assert IDENTITY.fullmatch(identity)
        return self.folder / f"{identity}.parquet"

    def prepare(self, plan: SweepPlan, command: str = "") -> None:
        """Create the folder if needed, check that it can hold these results, and write plan and note.

        Parameters
        ----------
        plan : SweepPlan
            The plan, which replaces any earlier plan; earlier results stay.
        command : str
            The command to mention in the note.

        Raises
        ------
        BadInput
            If the folder is a file, holds other files or results with other columns, or pyarrow is not
            installed.
        OutputFailure
            If the system refuses: the disk is full or read-only, for example.
        """
        _pyarrow()
        if not is_folder(self.folder):
            if self.folder.exists():
                raise BadInput(f"'{self.folder}' is a file: name a folder for the results.")
            if not is_folder(self.folder.parent):
                raise BadInput(f"The folder '{self.folder.parent}' does not exist: make it, or name another.")
            with writing(self.folder):
                self.folder.mkdir(exist_ok=True)
        names = self._names()
        results = [name for name in names if _identity_of(name)]
        if names and not results and PLAN_FILE not in names:
            raise BadInput(
                f"'{self.folder}' holds other files and no results of a sweep: name a new or an empty folder."
            )
        for name in results[:3]:
            self._check_columns(name, plan)
        check_writable(self.folder / PLAN_FILE)
        path, content = self.folder / PLAN_FILE, plan.to_json().encode()
        if path.exists() and (self.folder / NOTE_FILE).exists() and path.read_bytes() == content:
            return
        note = _NOTE.format(folder=self.folder, command=command, version=version("rbmviz"))
        write_whole(self.folder / NOTE_FILE, note.encode(errors="backslashreplace"))
        write_whole(path, content)

    def _check_columns(self, name: str, plan: SweepPlan) -> None:
        """Refuse a folder whose results have other columns: readers expect the same columns in all files."""
        pa, pq = _pyarrow()
        try:
            schema = pq.read_schema(pa.BufferReader(read_file(self.folder / name, name)))
        except Exception:  # reading the folder reports damaged files
            return
        if not schema.equals(_schema(plan.kind), check_metadata=False):
            own = _schema(plan.kind).names
            other = [column for column in own if column not in schema.names]
            other += [column for column in schema.names if column not in own]
            named = f" ({', '.join(printable(name)[:40] for name in other[:_MAX_NAMED])})" if other else ""
            raise BadInput(
                f"'{self.folder}' holds results with other columns{named}, of another version, of "
                f"{'trainers' if plan.kind == 'sampler' else 'samplers'}, or made without an algorithm of "
                "your own that this process has imported: name another folder."
            )

    def plan(self) -> SweepPlan:
        """Return the plan of the folder.

        Raises
        ------
        BadInput
            If there is no folder or plan, or the plan cannot be read.
        """
        if not is_folder(self.folder):
            raise BadInput(f"There is no folder '{self.folder}': 'rbmviz sweep --out DIR' makes one.")
        path = self.folder / PLAN_FILE
        try:
            if not path.exists():
                raise Damaged("it is not there")
            content = read_file(path, f"'{path}'")
        except Damaged as error:
            raise BadInput(
                f"'{path}', the plan of the sweep, cannot be read ({error}): start the sweep again with its "
                "arguments, and what it has computed is found."
            ) from None
        try:
            return SweepPlan.from_json(content)
        except BadInput as error:
            raise BadInput(f"'{path}': {error}") from None

    def _names(self) -> list[str]:
        """Return the names of the plan and of all files that Parquet readers do not ignore."""
        try:
            names = os.listdir(self.folder)
        except OSError as error:
            raise BadInput(f"The folder '{self.folder}' cannot be read: {error.strerror}.") from None
        return sorted(name for name in names if name[0] not in "._" or name == PLAN_FILE)

    def done(self, cells: Iterable[Cell]) -> set[str]:
        """Return the identities of the cells whose files exist and begin and end as Parquet files do.

        Only ``read`` checks their content.
        """
        there = {identity for name in self._names() if (identity := _identity_of(name))}
        return {
            identity for cell in cells if (identity := cell.identity) in there and self._is_whole(identity)
        }

    def _is_whole(self, identity: str) -> bool:
        try:
            with self.path(identity).open("rb") as file:
                first = file.read(4)
                file.seek(-8, os.SEEK_END)
                return first == file.read(8)[4:] == _MAGIC
        except OSError:  # also if the file is shorter than eight bytes
            return False

    def write(self, identity: str, content: bytes) -> None:
        """Write a cell's result from ``encode``; a damaged file with the same name is renamed and kept.

        Raises
        ------
        OutputFailure
            If the system refuses: the disk is full or read-only, for example.
        """
        path = self.path(identity)
        if path.exists() and not self._is_whole(identity):
            with writing(path):
                path.replace(path.with_name(f".{path.name}.broken"))
        write_whole(path, content)

    def read(self, cells: Iterable[Cell] | None = None, names: Collection[str] | None = None) -> StoredTable:
        """Return the results of these cells, or all results in the folder, as one table.

        Parameters
        ----------
        cells : iterable of Cell, optional
            Cells of a plan, in table order (default: all results, in the order of their file names).
        names : collection of str, optional
            Columns to return (default: all, which need 6 GB for 100,000 cells).

        Raises
        ------
        BadInput
            If there is no folder, the table needs more than the memory budget, or pyarrow is not installed.
        """
        _pyarrow()
        if not is_folder(self.folder):
            raise BadInput(f"There is no folder '{self.folder}': 'rbmviz sweep --out DIR' makes one.")
        there = self._names()
        strange = [name for name in there if not _identity_of(name) and name != PLAN_FILE]
        if cells is None:
            identities = [identity for name in there if (identity := _identity_of(name))]
        else:
            names_there = set(there)
            wanted = dict.fromkeys(cell.identity for cell in cells)
            identities = [identity for identity in wanted if f"{identity}.parquet" in names_there]

        def read_one(identity: str) -> bytes:
            path = self.path(identity)
            if path.stat().st_size > MAX_CELL_BYTES:
                raise Damaged("it is larger than the result of a cell")
            return read_file(path, f"'{path}'")

        stored = _read_all([(f"{i}.parquet", i) for i in identities], read_one, names, f"'{self.folder}'")
        refused = _sentences(
            strange,
            f"'{self.folder}' also holds {{}}, no result of a sweep: it is left alone, but other readers of "
            "the folder may fail at it.",
        )
        return StoredTable(stored.columns, stored.cells, refused + stored.refused)


def write_table(path: str | Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write a table as one Parquet file, as ``rbmviz.output.write_whole`` does."""
    pa, pq = _pyarrow()
    content = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), content)
    write_whole(path, content.getvalue())


def _identity_of(name: str) -> str:
    """Return the identity in the name of a cell's file; "" for any other name."""
    stem, _, ending = name.partition(".")
    return stem if ending == "parquet" and IDENTITY.fullmatch(stem) else ""


def _sentences(names: Sequence[str], sentence: str) -> list[str]:
    """Return the sentence for each of the first names, and one sentence that counts the others."""
    sentences = [sentence.format(f"'{printable(name)[:100]}'") for name in names[:_MAX_NAMED]]
    if len(names) > _MAX_NAMED:
        sentences.append(sentence.format(f"{len(names) - _MAX_NAMED:,} more files of this sort"))
    return sentences


def _read_all(
    files: Sequence[tuple[str, str]],
    read_one: Any,
    names: Collection[str] | None,
    what: str,
) -> StoredTable:
    """Read and join the tables of many cells; leave out damaged files, and report them."""
    width = len(columns_of("sampler")) if names is None else len(names)
    check_memory(what, len(files) * 100 * width * 24, "give fewer cells")  # 100 rows: read, and joined

    def table_of(file: tuple[str, str]) -> dict[str, np.ndarray] | str:
        name, identity = file
        try:
            return decode(read_one(identity), identity, names)
        except Damaged as error:
            return f"'{name}' is left out ({error}): remove it, and 'rbmviz sweep resume' computes it again."
        except OSError as error:
            return f"'{name}' is left out: {error.strerror}."

    with ThreadPoolExecutor(os.cpu_count()) as executor:
        outcomes = list(executor.map(table_of, files))
    tables = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, str)]
    if len(refused) > _MAX_NAMED:
        refused[_MAX_NAMED:] = [f"{len(refused) - _MAX_NAMED:,} more files are left out in the same way."]
    if any(table.keys() != tables[0].keys() for table in tables):
        raise BadInput(f"{what} holds results of samplers and of trainers: keep them in two folders.")
    return StoredTable(joined(tables) if tables else {}, len(tables), refused)
