"""Runs as a moving picture (GIF), for slides and other places that only show pictures."""

import io
from typing import Any

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from rbmviz.charts.style import colours, titles
from rbmviz.session import RunHistory
from rbmviz.session.history import Kinds
from rbmviz.view.replay import Replay

FRAMES, FRAME_MS, LAST_FRAME_MS = 48, 200, 2000
"""Maximum number of pictures, and the duration of each and of the last: ten seconds and a pause."""

PANEL_WIDTH = 240
"""Minimum size of a panel in pixels; small pictures are enlarged."""

BETWEEN, HEADER, ROW, BARS = 20, 34, 8, 30
"""Pixels between panels, for the line of names, for a class in the strip, and for the shares beside it."""

CLASS_NAMES = 14
"""Size of the class names, in pixels."""

TIME_BINS = 120
"""Number of time bins in the strip of classes."""

PAPER, DARK, CELL = (255, 255, 255), (38, 39, 46), (243, 243, 245)
"""Colours of the page, of text and pixels that are on, and of empty areas."""

PALETTE_COLOURS = 64


def replay_gif(replay: Replay) -> bytes:
    """Return an animated GIF of the runs side by side, with their names, newest samples and classes.

    It shows all samples in at most FRAMES pictures, so a long run plays faster.
    """
    first = min(history.first for history in replay.histories)
    last = max(history.n for history in replay.histories)
    count = min(FRAMES, last - first)
    times = [first + round((last - first) * (i + 1) / count) for i in range(count)]
    pictures = [_picture(replay, at, first, last) for at in times]
    # One palette, from the fullest picture: changing colours would flicker.
    palette = pictures[-1].quantize(PALETTE_COLOURS, dither=Image.Dither.NONE)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    content = io.BytesIO()
    frames[0].save(
        content,
        "GIF",
        save_all=True,
        append_images=frames[1:],
        duration=[*[FRAME_MS] * (len(frames) - 1), LAST_FRAME_MS],
        loop=0,
        optimize=True,
    )
    return content.getvalue()


def _picture(replay: Replay, at: int, first: int, last: int) -> Image.Image:
    """Return all panels after the given number of samples of each run."""
    algorithms = [history.algorithm for history in replay.histories]
    panels = [
        _panel(replay, history, kinds, name, tone, at, first, last)
        for history, kinds, name, tone in zip(
            replay.histories, replay.kinds, titles(algorithms), colours(algorithms), strict=True
        )
    ]
    width = BETWEEN + sum(panel.width + BETWEEN for panel in panels)
    sheet = Image.new("RGB", (width, max(panel.height for panel in panels)), PAPER)
    for i, panel in enumerate(panels):
        sheet.paste(panel, (BETWEEN + i * (panel.width + BETWEEN), 0))
    return sheet


def _panel(
    replay: Replay,
    history: RunHistory,
    kinds: Kinds,
    name: str,
    tone: str,
    at: int,
    first: int,
    last: int,
) -> Image.Image:
    rows, columns = replay.shape
    side, n = replay.side, min(max(at, history.first), history.n)
    zoom = max(1, PANEL_WIDTH // (side * (columns + 1)))
    across, down = (zoom * (side * (size + 1) + 1) for size in (columns, rows))
    height = HEADER + down + (BETWEEN // 2 + ROW * len(replay.labels)) * bool(replay.labels) + BETWEEN // 2
    panel = Image.new("RGB", (across, height), PAPER)
    draw = ImageDraw.Draw(panel)
    _heading(draw, name, n, tone, across)
    panel.paste(_samples(replay, history, n, zoom), (0, HEADER))
    if n > history.first:
        row, column = divmod((n - 1) % side**2, side)
        x, y = zoom * column * (columns + 1), HEADER + zoom * row * (rows + 1)
        draw.rectangle(
            (x, y, x + zoom * (columns + 1), y + zoom * (rows + 1)), outline=tone, width=max(2, zoom)
        )
    if replay.labels:
        strip = _strip(replay, history, kinds, n, (first, last), tone, across)
        panel.paste(strip, (0, HEADER + down + BETWEEN // 2))
    return panel


def _heading(draw: ImageDraw.ImageDraw, name: str, n: int, tone: str, width: int) -> None:
    """Write the name, cut to fit, and the number of samples."""
    count = f"{n:,}"
    small, large = ImageFont.load_default(12), ImageFont.load_default(16)
    room = width - 18 - draw.textlength(count, small) - 8
    while len(name) > 1 and draw.textlength(name, large) > room:
        name = f"{name.rstrip('…')[:-1].rstrip()}…"
    draw.rectangle((0, 9, 11, 20), fill=tone)
    draw.text((18, 5), name, fill=DARK, font=large)
    draw.text((width, 8), count, fill=DARK, font=small, anchor="ra")


def _samples(replay: Replay, history: RunHistory, n: int, zoom: int) -> Image.Image:
    """Return the newest of the first n samples, in their places on the Sample page."""
    rows, columns = replay.shape
    side = replay.side
    numbers = np.arange(max(history.first, n - side**2), n)
    sheet = np.zeros((side**2, rows * columns), np.uint8)
    packed = history.v[numbers - history.first]
    sheet[numbers % side**2, : history.n_visible] = np.unpackbits(packed, axis=1, count=history.n_visible)
    ink = np.array([CELL, DARK], np.uint8)[sheet].reshape(side, side, rows, columns, 3)
    tiles = np.full((side, rows + 1, side, columns + 1, 3), PAPER, np.uint8)
    tiles[:, 1:, :, 1:] = ink.swapaxes(1, 2)
    whole = np.full((side * (rows + 1) + 1, side * (columns + 1) + 1, 3), PAPER, np.uint8)
    whole[:-1, :-1] = tiles.reshape(side * (rows + 1), side * (columns + 1), 3)
    return Image.fromarray(whole.repeat(zoom, axis=0).repeat(zoom, axis=1))


def _strip(
    replay: Replay, history: RunHistory, kinds: Kinds, n: int, ends: tuple[int, int], tone: str, width: int
) -> Image.Image:
    """Return the classes over time, and to the right their shares so far, with ticks at the data's shares."""
    first, last = ends
    n_classes, m = len(replay.labels), n - history.first
    assert replay.dataset is not None
    assert replay.dataset.train_labels is not None
    strip = Image.new("RGB", (width, ROW * n_classes), PAPER)
    draw = ImageDraw.Draw(strip)
    wide = width - CLASS_NAMES - BARS - 6
    draw.rectangle((CLASS_NAMES, 0, CLASS_NAMES + wide, ROW * n_classes), fill=CELL)
    bins = (np.arange(history.first, n) - first) * TIME_BINS // max(last - first, 1)
    counts = np.zeros((TIME_BINS, n_classes), np.int64)
    seen = kinds.blank[:m] == 0
    np.add.at(counts, (bins[seen], kinds.classes[:m][seen]), 1)
    totals = np.bincount(bins, minlength=TIME_BINS)
    accent = ImageColor.getrgb(tone)
    for time, c in zip(*counts.nonzero(), strict=True):
        x, end = (CLASS_NAMES + wide * t // TIME_BINS for t in (time, time + 1))
        fill = _mixed(CELL, accent, float(counts[time, c] / totals[time]) ** 0.5)
        draw.rectangle((x, c * ROW, end, c * ROW + ROW - 2), fill=fill)
    shares = counts.sum(axis=0) / max(m, 1)
    data = np.bincount(replay.dataset.train_labels, minlength=n_classes) / len(replay.dataset.train)
    most = max(0.3, *shares, *data)
    font = ImageFont.load_default(8)
    for c, label in enumerate(replay.labels):
        draw.text((0, c * ROW - 1), label[:2], fill=DARK, font=font)
        x = CLASS_NAMES + wide + 6
        draw.rectangle((x, c * ROW, x + int((BARS - 2) * shares[c] / most), c * ROW + ROW - 2), fill=accent)
        tick = x + int((BARS - 2) * data[c] / most)
        draw.line((tick, c * ROW, tick, c * ROW + ROW - 2), fill=DARK)
    return strip


def _mixed(back: tuple[int, ...], front: Any, share: float) -> tuple[int, ...]:
    return tuple(round(a + (b - a) * share) for a, b in zip(back, front, strict=False))
