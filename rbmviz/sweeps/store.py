"""Store a sweep as one SQLite file, ``DIR/sweep.sqlite``, that is readable while it is written.

Three tables: ``plan`` has one row; ``cell`` has a row for each run that has ended, whose ``id``
is its ``Cell.identity``; ``point`` has the points of all curves. A cell and its points are written in one
transaction, so a killed sweep has each cell whole or not at all. One process writes; any number read. pandas
and DuckDB read it in a line::

    pandas.read_sql("select * from point join cell on cell.number = point.cell", sqlite3.connect(file))
    duckdb.sql("select * from sqlite_scan('sweep.sqlite', 'cell')")
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, OutputFailure
from rbmviz.files.output import check_writable, writing
from rbmviz.sweeps.cell import Cell
from rbmviz.sweeps.measures import columns_of_measures
from rbmviz.sweeps.plan import SweepPlan
from rbmviz.sweeps.tables import SPENT, CellResult, columns_of

FILE = "sweep.sqlite"

VFS = ""
"""SQLite's access to files; "": the system's. Tests take one without shared memory, as on network disks."""

_BUSY_SECONDS = 60.0
"""Seconds to wait for another process that writes."""

_ABOUT = {
    **dict.fromkeys(
        ("version", "setting", "algorithm", "model", "model_digest", "data", "data_digest"), "text"
    ),
    **{"start": "text", "kernel": "text", "seed": "integer", "n_hidden": "integer"},
    **{"budget_unit": "text", "budget_amount": "real", "knobs": "text", "note": "text"},
}
"""Columns of ``cell`` after number, id, and error: null, or the sentence why the run has failed."""


class Store:
    """The folder of a sweep.

    Parameters
    ----------
    folder : str or Path
        The folder; nothing is created or read before a method is called.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.file = self.folder / FILE
        self._lock = threading.Lock()

    def prepare(self, plan: SweepPlan, command: str = "") -> str:
        """Create folder and file if needed, check that they can hold these results, and write the plan.

        Parameters
        ----------
        plan : SweepPlan
            The plan, which replaces any earlier plan; earlier results stay, and its cells among them are not
            computed again. So a plan with longer axes extends the sweep.
        command : str
            The command, kept beside the plan.

        Returns
        -------
        str
            A sentence if the disk cannot share memory between processes, as network disks; or "".

        Raises
        ------
        BadInput
            If the folder is a file, or holds other files, or results of another kind of sweep.
        OutputFailure
            If the system refuses: the disk is full or read-only, for example.
        """
        if not self.folder.is_dir():
            if self.folder.exists():
                raise BadInput(f"'{self.folder}' is a file: name a folder for the results.")
            if not self.folder.parent.is_dir():
                raise BadInput(f"The folder '{self.folder.parent}' does not exist: make it, or name another.")
            with writing(self.folder):
                self.folder.mkdir(exist_ok=True)
        self._check_folder()
        check_writable(self.file)
        measured = columns_of_measures(plan.kind)
        with self._opened() as db:
            shared = self._share(db)
            with db:
                columns = ", ".join(f"{name} {kind}" for name, kind in _ABOUT.items())
                numbers = ", ".join(f"{name} real" for name in ("seconds", *measured))
                for table in (
                    "plan (json text, command text, rbmviz text, made text)",
                    f"cell (number integer primary key, id text unique, error text, {columns})",
                    f"point (cell integer references cell, n integer, sweeps integer, {numbers}, "
                    "primary key (cell, n)) without rowid",
                ):
                    db.execute(f"create table if not exists {table}")
                there = tuple(row[1] for row in db.execute("pragma table_info(point)"))
                if there != ("cell", *SPENT, *measured):
                    raise BadInput(
                        f"'{self.folder}' holds results of another kind or of another version of "
                        "rbmviz: name another folder."
                    )
                db.execute("delete from plan")
                row = (plan.to_json(), command, version("rbmviz"), time.strftime("%Y-%m-%d"))
                db.execute("insert into plan values (?, ?, ?, ?)", row)
        if shared:
            return ""
        return (
            f"The disk of '{self.folder}' cannot share memory between processes, as network disks: results "
            "can be read between two cells, but not while one is written."
        )

    @staticmethod
    def _share(db: sqlite3.Connection) -> bool:
        """Let others read while this process writes, if the disk allows it."""
        try:
            if db.execute("pragma journal_mode = wal").fetchone()[0] == "wal":
                db.execute("select count(*) from sqlite_master").fetchone()  # fails where it only seems to
                return True
        except sqlite3.OperationalError:
            pass
        db.execute("pragma journal_mode = delete")
        return False

    def _check_folder(self) -> None:
        """Refuse a folder with other files, or with results of the format before this one."""
        if self.file.is_file():
            return
        with writing(self.folder):
            names = sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("."))
        if "_plan.json" in names:
            raise BadInput(
                f"'{self.folder}' holds a sweep of an older rbmviz, as Parquet files: "
                "pandas.read_parquet reads them; name a new folder for this one."
            )
        if any(not name.endswith(".safetensors") for name in names):
            raise BadInput(
                f"'{self.folder}' holds other files and no results of a sweep: name a new or an empty folder."
            )

    @contextlib.contextmanager
    def _opened(self, read: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file; one sentence if that fails, or the work with it."""
        if read:
            if not self.folder.is_dir():
                raise BadInput(f"There is no folder '{self.folder}': 'rbmviz sweep --out DIR' makes one.")
            self._check_folder()
            if not self.file.is_file():
                raise BadInput(f"'{self.folder}' holds no sweep: 'rbmviz sweep --out DIR' makes one.")
        mode = "ro" if read else "rwc"
        address = f"{self.file.absolute().as_uri()}?mode={mode}" + f"&vfs={VFS}" * bool(VFS)
        try:
            with contextlib.closing(sqlite3.connect(address, _BUSY_SECONDS, uri=True)) as db:
                yield db
        except sqlite3.Error as error:
            if read:
                raise BadInput(f"'{self.file}' cannot be read: {error}.") from None
            raise OutputFailure(f"'{self.file}' cannot be written: {error}.") from error

    def plan(self) -> SweepPlan:
        """Return the plan of the folder.

        Raises
        ------
        BadInput
            If there is no folder or plan, or the plan cannot be read.
        """
        with self._opened(read=True) as db:
            row = db.execute("select json from plan").fetchone()
        if row is None:
            raise BadInput(f"'{self.file}' has no plan: start the sweep again with its arguments.")
        try:
            return SweepPlan.from_json(str(row[0]))
        except BadInput as error:
            raise BadInput(f"'{self.file}': {error}") from None

    def about(self) -> dict[str, str]:
        """Return the command that made the plan, the version of rbmviz, and the date, by column."""
        with self._opened(read=True) as db:
            row = db.execute("select command, rbmviz, made from plan").fetchone()
        return dict(zip(("command", "rbmviz", "made"), row, strict=True))

    def done(self, cells: Iterable[Cell]) -> set[str]:
        """Return the identities of the cells whose results are in the file."""
        with self._opened(read=True) as db:
            there = {row[0] for row in db.execute("select id from cell where error is null")}
        return {identity for cell in cells if (identity := cell.identity) in there}

    def write(self, result: CellResult) -> None:
        """Write the result of a cell whole; OutputFailure if the system refuses."""
        points = [[None if x != x else x for x in point.values()] for point in result.points]
        self._write(result.about["identity"], None, [result.about[name] for name in _ABOUT], points)

    def write_failure(self, cell: Cell, reason: str) -> None:
        """Note that a cell has failed; reason : one sentence."""
        fields = {"setting": cell.algorithm, "algorithm": cell.algorithm.partition(":")[0], "knobs": "{}"}
        about = [fields.get(name, getattr(cell, name, "")) for name in _ABOUT]
        self._write(cell.identity, reason, about, [])

    def _write(self, identity: str, error: str | None, about: list[Any], points: list[list[Any]]) -> None:
        with self._lock, self._opened() as db, db:
            db.execute("delete from point where cell = (select number from cell where id = ?)", (identity,))
            db.execute("delete from cell where id = ?", (identity,))
            marks = ", ".join("?" * (2 + len(about)))
            row = (identity, error, *about)
            number = db.execute(f"insert into cell values (null, {marks})", row).lastrowid
            if points:
                marks = ", ".join("?" * (1 + len(points[0])))
                db.executemany(f"insert into point values ({marks})", [(number, *row) for row in points])

    def take_over(self, other: "Store", cells: Sequence[Cell]) -> None:
        """Copy the results of these cells that another folder has and this one lacks."""
        wanted = {cell.identity for cell in cells} - self.done(cells)
        with other._opened(read=True) as db:
            found = db.execute(f"select number, id, {', '.join(_ABOUT)} from cell where error is null")
            for number, identity, *about in found.fetchall():
                if identity in wanted:
                    points = db.execute("select * from point where cell = ?", (number,))
                    self._write(identity, None, about, [list(row[1:]) for row in points])

    def read(self, cells: Iterable[Cell] | None = None) -> dict[str, np.ndarray]:
        """Return the results of these cells, or all results in the folder, as one table; see ``table``.

        Parameters
        ----------
        cells : iterable of Cell, optional
            Cells of a plan, in table order (default: all results, in the order in which they came).

        Raises
        ------
        BadInput
            If there is no folder, or the file cannot be read.
        """
        names = ("number", "id", *_ABOUT)
        with self._opened(read=True) as db:
            rows = db.execute(f"select {', '.join(names)} from cell where error is null").fetchall()
            if cells is not None:
                order = {cell.identity: i for i, cell in enumerate(cells)}
                rows = sorted((row for row in rows if row[1] in order), key=lambda row: order[row[1]])
            number = {row[0]: i for i, row in enumerate(rows)}
            found = db.execute("select * from point")  # in order of cell and n
            points = [row for row in found if row[0] in number]
            columns = [each[0] for each in found.description]
        about = [{"identity": row[1], **dict(zip(names[2:], row[2:], strict=True))} for row in rows]
        of = np.array([number[row[0]] for row in points], np.int64)
        order_of_rows = np.argsort(of, kind="stable")
        by_column = list(zip(*points, strict=True)) or [()] * len(columns)
        numbers = {
            name: np.array(column, np.float64)[order_of_rows]  # null is NaN
            for name, column in zip(columns[1:], by_column[1:], strict=True)
        }
        return columns_of(about, of[order_of_rows], numbers)

    def failures(self) -> list[str]:
        """Return the sentences with which cells have failed."""
        with self._opened(read=True) as db:
            return [row[0] for row in db.execute("select error from cell where error is not null")]

    def count(self) -> int:
        """Return the number of results in the file."""
        with self._opened(read=True) as db:
            return int(db.execute("select count(*) from cell where error is null").fetchone()[0])

    def close(self) -> None:
        """Leave a single file behind, which can be copied, and read from a disk that cannot be written."""
        with contextlib.suppress(OutputFailure), self._opened() as db:
            db.execute("pragma journal_mode = delete")  # refused while somebody reads: then it stays
