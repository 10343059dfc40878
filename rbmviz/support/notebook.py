"""Representations of records: one line, a picture in a notebook, a data frame."""

import base64
import dataclasses
import html
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbmviz.errors import brought_by, shortened

MOSAIC_TILES = 60
"""Maximum number of tiles of a mosaic, in rows of ``MOSAIC_COLUMNS``."""
MOSAIC_COLUMNS = 20
GAP = 215
"""Grey level between tiles and in place of missing ones."""
TILE_PIXELS = 40
"""Minimum width of a tile on the screen; its pixels are enlarged by a whole factor."""


def short_repr(record: Any) -> str:
    """Return one line for a dataclass: arrays by type and shape, mappings by their keys."""
    fields = [field.name for field in dataclasses.fields(record) if not field.name.startswith("_")]
    return (
        f"{type(record).__name__}({', '.join(f'{name}={_short(getattr(record, name))}' for name in fields)})"
    )


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(map(str, value))}}}"
    if isinstance(value, list | tuple) and len(value) > 5:
        return f"{type(value).__name__} of {len(value)}"
    return f"{value:.6g}" if isinstance(value, float) else shortened(repr(value))


def data_frame(columns: Mapping[str, Any]) -> Any:
    """Return columns of equal length as a pandas DataFrame.

    Raises BadInput if pandas is not installed.
    """
    with brought_by("data", "A data frame"):
        import pandas
    return pandas.DataFrame(dict(columns))


def picture_shape(n_visible: int, image_shape: Sequence[int] | None) -> tuple[int, int] | None:
    """Return the shape of a row's picture: as stated, else a square of at least 4 x 4, else None."""
    if image_shape is not None and image_shape[0] * image_shape[1] == n_visible:
        return int(image_shape[0]), int(image_shape[1])
    side = round(n_visible**0.5)
    return (side, side) if side >= 4 and side * side == n_visible else None


def notebook_html(record: Any, rows: np.ndarray | None, shape: tuple[int, int] | None) -> str:
    """Return a record's one-line text as HTML, above a mosaic of rows (n, pixels) if there are any."""
    line = f"<code>{html.escape(repr(record))}</code>"
    if rows is None or shape is None or not len(rows):
        return line
    tiles = mosaic(rows[:MOSAIC_TILES].astype(np.float64), shape)
    scale = -(-TILE_PIXELS // shape[1])
    alt = f"{min(len(rows), MOSAIC_TILES)} of {len(rows)} rows as pictures of {shape[0]} x {shape[1]} pixels"
    return (
        f'{line}<br><img alt="{alt}" width="{scale * tiles.shape[1]}" '
        f'style="image-rendering: pixelated; max-width: 100%" src="{png_url(tiles)}">'
    )


def mosaic(rows: np.ndarray, shape: tuple[int, int], columns: int = MOSAIC_COLUMNS) -> np.ndarray:
    """Return rows (n, pixels) as tiles of one picture, uint8, on one scale: large is black, negative pale."""
    signed = rows.size > 0 and rows.min() < 0
    # A few large weights must not leave all others without contrast.
    largest = max(float(np.quantile(np.abs(rows), 0.995) if signed else rows.max()), 1e-12)
    low = -largest if signed else 0.0
    grey = np.round(255 * np.clip((largest - rows) / (largest - low), 0, 1)).astype(np.uint8)
    across = min(len(rows), columns)
    down = -(-len(rows) // across)
    height, width = shape
    tiles = np.full((down * (height + 1) - 1, across * (width + 1) - 1), GAP, np.uint8)
    for i, tile in enumerate(grey):
        y, x = i // across * (height + 1), i % across * (width + 1)
        tiles[y : y + height, x : x + width] = tile.reshape(shape)
    return tiles


def png_url(pixels: np.ndarray) -> str:
    """Return a grey picture, uint8 (height, width), as a data URL."""
    return f"data:image/png;base64,{base64.b64encode(grey_png(pixels)).decode()}"


def grey_png(pixels: np.ndarray) -> bytes:
    """Return a grey picture, uint8 (height, width), as PNG, without pillow, which only extras install."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    height, width = pixels.shape
    lines = np.hstack(
        [np.zeros((height, 1), np.uint8), pixels]
    ).tobytes()  # each row begins with its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(kind, content)
        for kind, content in ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    )
