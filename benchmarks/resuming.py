"""Measurements that take long: each line of a file is one, in JSON, so that an interrupted one continues."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

Cell = tuple[Any, ...]
Line = dict[str, Any]


def measured(
    path: Path, fields: Sequence[str], wanted: Sequence[Cell], measure: Callable[..., Iterable[Line]]
) -> list[Line]:
    """Return the measurements of the wanted cells, in their order; those that the file lacks are made.

    The fields tell cells apart. The lines of a cell are written together, when all are made.
    """
    by_cell: dict[Cell, list[Line]] = {}
    for one in map(json.loads, path.read_text("utf-8").splitlines() if path.exists() else []):
        by_cell.setdefault(tuple(one[field] for field in fields), []).append(one)
    for cell in tqdm([cell for cell in wanted if cell not in by_cell], disable=None):
        texts = [json.dumps(one) for one in measure(*cell)]
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
        by_cell[cell] = [json.loads(text) for text in texts]
    return [one for cell in wanted for one in by_cell[cell]]
