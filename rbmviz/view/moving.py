"""Runs as a moving picture (GIF), for slides and other places that only show pictures."""

import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rbmviz.charts.style import colours, titles
from rbmviz.session import RunHistory
from rbmviz.support.notebook import GAP, mosaic
from rbmviz.view.replay import Replay

FRAMES, FRAME_MS, LAST_FRAME_MS = 48, 200, 2000
"""Maximum number of pictures, and the duration of each and of the last: ten seconds and a pause."""

PANEL_WIDTH = 240
"""Minimum size of a panel in pixels; small pictures are enlarged."""

BETWEEN, HEADER = 20, 34
"""Pixels between panels, and for the line of names."""

PAPER, DARK, CELL = (255, 255, 255), (38, 39, 46), (243, 243, 245)
"""Colours of the page, of text and pixels that are on, and of empty areas."""

PALETTE_COLOURS = 64


def replay_gif(replay: Replay) -> bytes:
    """Return an animated GIF of the runs side by side, with their names and newest samples.

    It shows all samples in at most FRAMES pictures, so a long run plays faster.
    """
    first = min(history.first for history in replay.histories)
    last = max(history.n for history in replay.histories)
    count = min(FRAMES, last - first)
    times = [first + round((last - first) * (i + 1) / count) for i in range(count)]
    pictures = [replay_picture(replay, at) for at in times]
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


def replay_picture(replay: Replay, at: int) -> Image.Image:
    """Return all panels after the given number of samples of each run."""
    algorithms = [history.algorithm for history in replay.histories]
    each = zip(replay.histories, titles(algorithms), colours(algorithms), strict=True)
    panels = [_panel(replay, history, name, tone, at) for history, name, tone in each]
    width = BETWEEN + sum(panel.width + BETWEEN for panel in panels)
    sheet = Image.new("RGB", (width, max(panel.height for panel in panels)), PAPER)
    for i, panel in enumerate(panels):
        sheet.paste(panel, (BETWEEN + i * (panel.width + BETWEEN), 0))
    return sheet


def _panel(replay: Replay, history: RunHistory, name: str, tone: str, at: int) -> Image.Image:
    n = min(max(at, history.first), history.n)
    zoom = max(1, PANEL_WIDTH // (replay.side * (replay.shape[1] + 1)))
    samples = _samples(replay, history, n, zoom)
    panel = Image.new("RGB", (samples.width, HEADER + samples.height + BETWEEN // 2), PAPER)
    _heading(ImageDraw.Draw(panel), name, n, tone, samples.width)
    panel.paste(samples, (0, HEADER))
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
    sheet = np.zeros((side**2, rows * columns))
    packed = history.v[numbers - history.first]
    sheet[numbers % side**2, : history.n_visible] = np.unpackbits(packed, axis=1, count=history.n_visible)
    of_grey = np.full((256, 3), PAPER, np.uint8)
    of_grey[0], of_grey[255] = DARK, CELL
    grey = np.pad(mosaic(sheet, (rows, columns), side), 1, constant_values=GAP)
    return Image.fromarray(of_grey[grey].repeat(zoom, axis=0).repeat(zoom, axis=1))
