"""Reading tables of numbers with pandas: with or without a header, separated by commas, semicolons or tabs.

Format
------
- The separator is the first of tab, semicolon and comma that occurs in the first row. Quotes around a number
  are ignored. Decimal commas are read if the separator is not a comma, or if the number is in quotes. Blank
  lines, a byte order mark, and lines that begin with ``#`` above the first row are skipped.
- The first row is a header if none of its cells is a number, if it names a column of labels, or if it counts
  the columns 0, 1, 2, ..., as pandas does.
- A column that the header calls ``label``, ``labels``, ``class`` or ``y`` holds labels, whole numbers.

The first row is read here: pandas cannot tell a header of numbers from data. A bad cell is looked for here,
too: pandas does not name its row.
"""

import csv
import io
import math
import re
from typing import NamedTuple, NoReturn

import numpy as np

from rbmviz.errors import BadInput, brought_by
from rbmviz.files.arrays import printable

LABELS = ("label", "labels", "class", "y")
"""Names of a column of labels, in upper or lower case."""


class CsvTable(NamedTuple):
    """A table: ``rows``, float64 (n, n_visible), without labels; ``labels``, int64 (n,) or None; names."""

    rows: np.ndarray
    labels: np.ndarray | None
    columns: list[str]


def read_table(content: bytes, name: str) -> CsvTable:
    """Return the numbers and the labels of a table; the module describes the format.

    content : text in UTF-8
    name : name of the file in error messages

    Raises BadInput if the content is not such a table. The message gives the row, counted as in a text
    editor, and the column.
    """
    if b"\0" in content:
        raise BadInput(
            f"'{name}' is not a text: it holds NUL bytes; save it as comma-separated rows in UTF-8."
        )
    text = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    first_row = re.search(rb"^[ \t]*[^\s#].*", text, re.MULTILINE)
    if first_row is None:
        raise BadInput(f"'{name}' holds no rows: give one example per row, with numbers separated by commas.")
    begin, first = first_row.start(), first_row.group()
    separator = next((mark for mark in "\t;" if mark.encode() in first), ",")
    try:
        line = first.decode()
        row = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
        cells = [cell.strip() for cell in row]
    except UnicodeDecodeError:
        raise _not_utf8(name) from None
    except csv.Error:
        cells = [line]
    header, label = _header(cells, name)
    body = text[first_row.end() if header else begin :]
    values = _numbers(body, name, len(cells), separator, text[: len(text) - len(body)].count(b"\n"))
    if label is None:
        return CsvTable(values, None, cells if header else [])
    labels = values[:, label]
    if (labels != np.rint(labels)).any() or np.abs(labels).max() > 2**53:
        raise BadInput(f"'{name}': the labels in column {label + 1} must be whole numbers.")
    rows = np.delete(values, label, axis=1)
    return CsvTable(rows, labels.astype(np.int64), [*cells[:label], *cells[label + 1 :]])


def _not_utf8(name: str) -> BadInput:
    return BadInput(f"'{name}' is not a text in UTF-8; save it in that encoding.")


def _is_number(cell: str, decimal: str = ".") -> bool:
    text = cell if decimal == "." else cell.replace(".", "?").replace(decimal, ".")
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _header(cells: list[str], name: str) -> tuple[bool, int | None]:
    """Return whether the first row is a header, and the column of labels."""
    named = [i for i, cell in enumerate(cells) if cell.lower() in LABELS]
    counted = len(cells) > 2 and cells == [str(i) for i in range(len(cells))]
    if not (named or counted or not any(_is_number(cell) or _is_number(cell, ",") for cell in cells)):
        return False, None
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
    return True, named[0] if named else None


def _numbers(body: bytes, name: str, columns: int, separator: str, above: int) -> np.ndarray:
    """Return the cells, float64 (rows, columns)."""
    with brought_by("data", f"Reading '{name}'"):
        import pandas  # imported here, because importing it takes longer than reading most files

    quoted = separator == "," and re.search(rb'"\s*-?\d*,\d+\s*"', body)
    decimal = "," if quoted or (separator != "," and b"," in body) else "."
    try:
        values = pandas.read_csv(
            io.BytesIO(body),
            sep=separator,
            decimal=decimal,
            header=None,
            dtype=np.float64,
            na_filter=False,
            skipinitialspace=True,
        ).to_numpy()
    except pandas.errors.EmptyDataError:
        raise BadInput(f"'{name}' has a header and no rows below it: give one example per row.") from None
    except (ValueError, OverflowError):  # pandas does not report row and column
        _explain(body, name, columns, separator, decimal, above)
    if values.shape[1] != columns or not np.isfinite(values).all():
        _explain(body, name, columns, separator, decimal, above)
    return values


def _explain(body: bytes, name: str, columns: int, separator: str, decimal: str, above: int) -> NoReturn:
    """Raise BadInput for the first row of another length, or the first cell that is not a number."""
    try:
        rows = csv.reader(io.TextIOWrapper(io.BytesIO(body), "utf-8"), delimiter=separator)
        for cells in rows:
            number = rows.line_num + above
            if cells and len(cells) != columns:
                raise BadInput(
                    f"'{name}': row {number} has {len(cells):,} columns and the first one {columns:,}: give "
                    "every row the same number."
                )
            for column, cell in enumerate(cells, 1):
                text = cell.strip()
                if not _is_number(text, decimal):
                    kind = "finite number" if decimal == "." else "finite number with a decimal comma"
                    holds = f"holds '{printable(text)[:40]}', which is not a {kind}" if text else "is empty"
                    raise BadInput(f"'{name}': row {number}, column {column} {holds}: put a number there.")
    except UnicodeDecodeError:
        raise _not_utf8(name) from None
    except csv.Error:
        pass
    raise BadInput(f"'{name}' cannot be read as rows of numbers; give comma-separated rows.")
