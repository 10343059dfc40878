"""The origin of results, written into their files: version, digests, seeds, command, citation."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from rbmviz.files import provenance

ORIGIN_KEY = "origin"
"""Name of the entry, array, column or tag that holds a file's origin."""


def origin(
    command: str,
    *,
    models: Mapping[str, Any] | None = None,
    data: Sequence[Any] = (),
    seeds: Sequence[int] = (),
) -> dict[str, Any]:
    """Return the origin of results, as JSON values: digests of models and data, and the rest by name.

    command : command or Python code that repeats them
    models : models by the names under which they were loaded
    data : data sets; None is left out
    seeds : seeds of the runs
    """
    digests = {name: model.digest() for name, model in (models or {}).items()}
    return {
        **{"program": "rbmviz", "version": provenance.version("rbmviz"), "commit": provenance.commit()},
        **{"models": digests, "data": {each.name: each.digest() for each in data if each is not None}},
        **{"seeds": list(seeds), "command": command, "cite": provenance.how_to_cite()},
    }


def digests_in(columns: Mapping[str, np.ndarray]) -> dict[str, dict[str, str]]:
    """Return the digests in the table of a sweep, as ``models`` and ``data`` of an origin."""

    def named(what: str) -> dict[str, str]:
        pairs = zip(columns[what].tolist(), columns[f"{what}_digest"].tolist(), strict=True)
        return {name: digest for name, digest in pairs if name}

    return {"models": named("model"), "data": named("data")}


def csv_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as a CSV file with all their columns; missing values are empty cells."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    content = io.StringIO()
    writer = csv.DictWriter(content, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return content.getvalue().encode()


def with_origin(content: bytes, name: str, source: Mapping[str, Any]) -> bytes:
    """Return a file's content with its origin written into it, if its format has a place for it.

    A table (.csv) gets a last column ``origin`` with the JSON in its first row, which any CSV reader accepts;
    a table without rows gets an empty row for it. An archive of arrays (.npz) gets an array ``origin`` with
    the JSON. Other files stay unchanged.

    content : the file
    name : name of the file; its extension gives the format
    source : see ``origin``
    """
    write = _WRITERS.get(PurePath(name).suffix.lower())
    return write(content, json.dumps(source)) if write is not None and content else content


def _csv(content: bytes, text: str) -> bytes:
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    end = next((i for i, row in enumerate(rows) if not row), len(rows))  # end of the first table
    head, body = rows[0], rows[1:end] or [[""] * len(rows[0])]
    table = [[*head, ORIGIN_KEY], [*body[0], text], *([*row, ""] for row in body[1:])]
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([*table, *rows[end:]])
    return written.getvalue().encode()


def _npz(content: bytes, text: str) -> bytes:
    file = io.BytesIO(content)
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open(f"{ORIGIN_KEY}.npy", "w") as out,
    ):
        np.save(out, np.array(text))  # type: ignore[arg-type]
    return file.getvalue()


_WRITERS: dict[str, Callable[[bytes, str], bytes]] = {".csv": _csv, ".npz": _npz}
