"""The project's own kernels in browsers: one WebAssembly module, and JavaScript that samples with it.

``kernels.wasm`` is compiled from ``rbmviz.kernels`` by ``build``, and ships with the package, so that users
need no linker. ``kernels.json`` lists the arguments of each of its functions; ``engine.js`` reads it. A
chain is sent as the arrays that ``init`` makes (``chains``).

Samples are the same bit for bit as native ones. Exp and log are the browser's, so ISL differs by about 1e-15;
tests check the whole numbers that ``prepare`` computes with log.
"""

import json
from pathlib import Path
from typing import Any

KERNELS_FOLDER = Path(__file__).parent


def module() -> bytes:
    """Return the WebAssembly module."""
    return (KERNELS_FOLDER / "kernels.wasm").read_bytes()


def signatures() -> dict[str, Any]:
    """Return the arguments of the module's functions, and the fields of its records."""
    table: dict[str, Any] = json.loads((KERNELS_FOLDER / "kernels.json").read_text("utf-8"))
    return table
