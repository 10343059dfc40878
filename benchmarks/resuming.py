"""Measurements that take long: each line of a file is one, in JSON, so that an interrupted one continues."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

Cell = tuple[Any, ...]


def measured(
    path: Path,
    fields: Sequence[str],
    wanted: Iterable[Cell],
    measure: Callable[..., Iterable[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return the measurements of the wanted cells, in their order; those that the file lacks are made.

    fields : names of the values that tell cells apart
    measure : takes a cell's values; its lines are written together, when all are made
    """
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    by_cell: dict[Cell, list[dict[str, Any]]] = {}
    for one in map(json.loads, lines):
        by_cell.setdefault(tuple(one[field] for field in fields), []).append(one)
    wanted = list(wanted)
    with path.open("a", encoding="utf-8") as file:
        for cell in tqdm([cell for cell in wanted if cell not in by_cell], disable=None):
            texts = [json.dumps(one) for one in measure(*cell)]
            file.writelines(f"{text}\n" for text in texts)
            file.flush()
            by_cell[cell] = [json.loads(text) for text in texts]
    return [one for cell in wanted for one in by_cell[cell]]
