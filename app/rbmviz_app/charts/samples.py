"""Pictures and files of samples for all pages: pure functions, without Streamlit."""

import io
import json
import math
import zipfile
from collections.abc import Iterable, Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rbmviz.session import Allowance, Comparison, NewestSamples, write_array

EXPORT_ROWS = 4096
"""Number of samples unpacked at a time for a download."""


def mosaic(
    newest: NewestSamples, shape: tuple[int, int], side: int, pixels: str, zoom: int = 2
) -> Image.Image:
    """Return the newest side x side samples as a picture, oldest first, black on white.

    pixels : "binary" or "mean"
    """
    if pixels == "mean":
        rows = newest.p
    else:
        rows = 255 * np.unpackbits(newest.v, axis=1, count=newest.n_visible)
    rows = rows[-side * side :]
    height, width = shape
    sheet = np.zeros((side * side, height * width), np.uint8)
    sheet[: len(rows), : rows.shape[1]] = rows
    tiles = np.pad(sheet.reshape(side, side, height, width), ((0, 0), (0, 0), (0, 1), (0, 1)))
    picture = tiles.swapaxes(1, 2).reshape(side * (height + 1), side * (width + 1))[:-1, :-1]
    return Image.fromarray(255 - picture.repeat(zoom, axis=0).repeat(zoom, axis=1))


def png_bytes(sheet: Image.Image) -> bytes:
    """Return a picture as the bytes of a PNG file."""
    content = io.BytesIO()
    sheet.save(content, "PNG", optimize=True)
    return content.getvalue()


def mosaics_png(
    named: Iterable[tuple[str, NewestSamples]], shape: tuple[int, int], side: int, pixels: str
) -> bytes:
    """Return a PNG of all panels side by side, each under its name."""
    pictures = [(name, mosaic(newest, shape, side, pixels)) for name, newest in named]
    gap, header, font = 16, 30, ImageFont.load_default(15)
    columns = [max(picture.width, math.ceil(font.getlength(name))) for name, picture in pictures]
    width = gap + sum(column + gap for column in columns)
    height = header + max((picture.height for _, picture in pictures), default=0) + gap
    sheet = Image.new("L", (width, height), 255)
    draw, x = ImageDraw.Draw(sheet), gap
    for (name, picture), column in zip(pictures, columns, strict=True):
        draw.text((x, 8), name, fill=0, font=font)
        sheet.paste(picture, (x, header))
        x += column + gap
    return png_bytes(sheet)


def samples_npz(comparison: Comparison, names: Sequence[str]) -> bytes:
    """Return the newest samples of every panel and the logs that reproduce them.

    Arrays ``v0, v1, ...`` uint8 (m, n_visible), one per panel; ``meta`` is a JSON string: for each panel
    its name, the number of its first stored sample, and its log (sampler, seed, start, knob changes).
    """
    model, content, panels = comparison.setup.model, io.BytesIO(), []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for i, (panel, name) in enumerate(zip(comparison.panels, names, strict=True)):
            (first, packed), log = panel.worker.read(lambda run: (run.held_packed(), run.run_log()))
            shape = len(packed), model.rbm.n_visible
            # Unpacked samples would take hundreds of megabytes: write a few thousand rows at a time.
            blocks = (packed[at : at + EXPORT_ROWS] for at in range(0, len(packed), EXPORT_ROWS))
            rows = (np.unpackbits(block, axis=1, count=shape[1]).tobytes() for block in blocks)
            write_array(archive, f"v{i}", np.uint8, shape, rows)
            panels.append({"array": f"v{i}", "name": name, "first": first, **log.as_json()})
        meta = np.array(json.dumps({"model": dict(model.meta), "panels": panels}))
        write_array(archive, "meta", meta.dtype, (), [meta.tobytes()])
    return content.getvalue()


def samples_help(allowance: Allowance, n_visible: int, panels: int) -> str:
    """Describe the download of samples from a page with this many panels."""
    return (
        f"The newest {allowance.samples(n_visible, panels):,} samples of every panel (all together keep "
        f"{allowance.n_bytes / 1e6:g} MB), and the log that makes them again (.npz)."
    )
