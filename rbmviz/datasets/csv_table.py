"""Reading tables of numbers: with or without a header, separated by commas, semicolons or tabs.

Format
------
- The separator is the first of tab, semicolon and comma that occurs in the first row. Quotes around a number
  are ignored. Decimal commas are read if the separator is not a comma, or if the number is in quotes. Blank
  lines, a byte order mark, and lines that begin with ``#`` above the first row are skipped.
- The first row is a header if none of its cells is a number, if it names a column of labels, or if it counts
  the columns 0, 1, 2, ..., as pandas does.
- A column that the header calls ``label``, ``labels``, ``class`` or ``y`` holds labels, whole numbers.

pandas parses the numbers. The first row is read here: pandas would guess the separator with ``csv.Sniffer``,
which takes 8 seconds for a row of 24,000 quotes and commas (time grows with the square), and cannot
tell a header of numbers from data. A bad cell is looked for here, too: pandas does not name its row.
"""

import csv
import io
import re
from typing import NamedTuple, NoReturn

import numpy as np

from rbmviz.array_files import printable
from rbmviz.budget import check_memory
from rbmviz.errors import BadInput, brought_by

LABELS = ("label", "labels", "class", "y")
"""Names of a column of labels, in upper or lower case."""

MAX_COLUMNS = 2**16
MAX_CSV_LINE = 32 * MAX_COLUMNS
"""Most characters of a row, far more than its numbers need."""

PARSED_CHUNK = 2**20
"""Cells that are parsed at a time."""

TEXT_BLOCK = 2**22
"""Bytes that are searched for line ends at a time."""

ROW_COST = 32
"""Bytes per row besides its numbers: its index in a random order, its label."""


class CsvTable(NamedTuple):
    """A table: ``rows``, uint8 or float64 (n, n_visible), without labels; ``labels``, int64 (n,) or None."""

    rows: np.ndarray
    labels: np.ndarray | None


class _Layout(NamedTuple):
    """Format of a text: offset of its first row, number of columns, separator, label column or None."""

    begin: int
    columns: int
    separator: str
    label: int | None


def read_table(content: bytes, name: str) -> CsvTable:
    """Return the numbers and the labels of a table; the module describes the format.

    content : text in UTF-8
    name : name of the file in error messages

    Raises BadInput if the content is not such a table. The message gives the row, counted as in a text
    editor, and the column.
    """
    check_memory(f"'{name}'", 4 * len(content), "give fewer rows")
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    _check_text(content, name)
    layout = _layout(content, name)
    # The replacements keep the number of every line, so that error messages can give it.
    body = content[layout.begin :]
    if b'"' in body:
        body = re.sub(rb'"[ \t]*(-?\d*),(\d+)[ \t]*"', rb"\1.\2", body).replace(b'"', b"")
    decimal = "," if layout.separator != "," and b"," in body else "."
    values = _numbers(body, name, layout, decimal, content.count(b"\n", 0, layout.begin))
    if layout.label is None:
        return CsvTable(values, None)
    labels = values[:, layout.label].astype(np.float64)
    if (labels != np.rint(labels)).any() or np.abs(labels).max() > 2**53:
        raise BadInput(f"'{name}': the labels in column {layout.label + 1} must be whole numbers.")
    return CsvTable(np.delete(values, layout.label, axis=1), labels.astype(np.int64))


def _check_text(content: bytes, name: str) -> None:
    if b"\0" in content:
        raise BadInput(
            f"'{name}' is not a text: it holds NUL bytes; save it as comma-separated rows in UTF-8."
        )
    try:
        content.decode()
    except UnicodeDecodeError:
        raise BadInput(f"'{name}' is not a text in UTF-8; save it in that encoding.") from None
    last = -1  # end of the previous line; arrays and not a loop, because a file may have millions of lines
    for at in range(0, len(content), TEXT_BLOCK):
        block = np.frombuffer(content, np.uint8, min(TEXT_BLOCK, len(content) - at), at)
        ends = np.concatenate([[last], np.flatnonzero(block == ord("\n")) + at, [at + len(block)]])
        long = np.flatnonzero(np.diff(ends) > MAX_CSV_LINE)
        if len(long):
            number = content.count(b"\n", 0, int(ends[long[0]]) + 1) + 1
            raise BadInput(
                f"'{name}': row {number} has more than {MAX_CSV_LINE:,} characters: give one example per row."
            )
        last = int(ends[-2])


def _number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", ".", 1).replace("_", "?"))
    except ValueError:
        return False
    return True


def _cells(line: bytes, separator: str) -> list[str]:
    try:
        return next(csv.reader([line.decode()], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return [line.decode()]


def _layout(content: bytes, name: str) -> _Layout:
    first_row = re.search(rb"^[ \t]*[^\s#].*", content, re.MULTILINE)
    if first_row is None:
        raise BadInput(f"'{name}' holds no rows: give one example per row, with numbers separated by commas.")
    begin, first = first_row.start(), first_row.group()
    separator = next((mark for mark in "\t;" if mark.encode() in first), ",")
    if first.count(separator.encode()) >= MAX_COLUMNS:
        raise BadInput(f"'{name}' has more than {MAX_COLUMNS:,} columns: give fewer.")
    cells = [cell.strip() for cell in _cells(first, separator)]
    named = [i for i, cell in enumerate(cells) if cell.lower() in LABELS]
    counted = len(cells) > 2 and cells == [str(i) for i in range(len(cells))]
    if not (named or counted or not any(map(_number, cells))):
        return _Layout(begin, len(cells), separator, None)
    if len(named) > 1:
        raise BadInput(
            f"'{name}': columns {named[0] + 1} and {named[1] + 1} are both named as labels; keep one."
        )
    if "" in cells:
        raise BadInput(
            f"'{name}': column {cells.index('') + 1} has no name in the header, as a column of row numbers; "
            "leave the column out, or name it."
        )
    if named and len(cells) == 1:
        raise BadInput(f"'{name}' holds labels only; give columns of numbers beside them.")
    return _Layout(first_row.end(), len(cells), separator, named[0] if named else None)


def _numbers(body: bytes, name: str, layout: _Layout, decimal: str, above: int) -> np.ndarray:
    """Return the cells, uint8 if all are whole numbers from 0 to 255, else float64 (rows, columns)."""
    with brought_by("data", f"Reading '{name}'"):
        import pandas  # imported here, because importing it takes longer than reading most files

    n_rows = body.count(b"\n") + 1
    values = np.empty((n_rows, layout.columns), np.uint8)

    def check_budget(itemsize: int) -> None:
        # The values count twice: the columns without labels, and the parts of the data set, are copies.
        needed = 4 * len(body) + 2 * itemsize * values.size + ROW_COST * n_rows + 64 * PARSED_CHUNK
        check_memory(f"'{name}'", needed, "give fewer rows")

    check_budget(1)
    done = 0
    try:
        chunks = pandas.read_csv(
            io.BytesIO(body),
            sep=layout.separator,
            decimal=decimal,
            header=None,
            dtype=np.float64,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            skipinitialspace=True,
            chunksize=max(PARSED_CHUNK // layout.columns, 1),
        )
        for chunk in chunks:
            block = chunk.to_numpy()
            if block.shape[1] != layout.columns or not np.isfinite(block).all():
                raise ValueError
            if values.dtype == np.uint8 and not (
                block.min() >= 0 and block.max() <= 255 and (block == np.rint(block)).all()
            ):
                check_budget(9)
                values = values.astype(np.float64)
            values[done : done + len(block)] = block
            done += len(block)
    except pandas.errors.EmptyDataError:
        raise BadInput(f"'{name}' has a header and no rows below it: give one example per row.") from None
    except BadInput:
        raise
    except Exception:  # pandas does not report row and column
        _explain(body, name, layout, decimal, above)
    return values[:done]


def _explain(body: bytes, name: str, layout: _Layout, decimal: str, above: int) -> NoReturn:
    """Raise BadInput for the first row of another length, or the first cell that is not a number."""
    mark = layout.separator.encode()
    for number, line in enumerate(io.BytesIO(body), above + 1):
        if not line.strip():
            continue
        cells = line.count(mark) + 1
        if cells != layout.columns:
            raise BadInput(
                f"'{name}': row {number} has {cells:,} columns and the first one {layout.columns:,}: give "
                "every row the same number."
            )
        for column, cell in enumerate(line.decode().split(layout.separator), 1):
            text = cell.strip()
            try:
                plain = text if decimal == "." else text.replace(".", "?").replace(",", ".")
                good = np.isfinite(float(plain.replace("_", "?")))
            except ValueError:
                good = False
            if not good:
                kind = "finite number" if decimal == "." else "finite number with a decimal comma"
                holds = f"holds '{printable(text)[:40]}', which is not a {kind}" if text else "is empty"
                raise BadInput(f"'{name}': row {number}, column {column} {holds}: put a number there.")
    raise BadInput(f"'{name}' cannot be read as rows of numbers; give comma-separated rows.")
