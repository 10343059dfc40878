"""The pictures of the documentation, ``docs/img``: every page as it is now, in Chromium. By hand::

    python -m tests.browser.pictures

The picture of a matrix belongs to the lessons as files (``rbmviz_app/play``). The animation of the README,
``rbmviz_app/samplers.gif``, is made without a browser, by ``rbmviz play --recorded`` (``python -m
tests.browser.pictures samplers``).

``python -m tests.browser.pictures presets`` takes the small pictures of presets in the app's menus.

A picture is taken when the slowest panel has made so many steps, so that it shows what the text beside
it says.
"""

import argparse
import contextlib
import io
import tempfile
from pathlib import Path

from PIL import Image

from rbmviz.cli import main as rbmviz
from rbmviz_app import presets
from rbmviz_app.pages import live_page
from tests.attack.server import serving
from tests.browser.live import ROOT, Live, open_chromium

FOLDER = ROOT / "docs" / "img"

PAGES = {
    "sample": ("", 900),
    "train": ("train?preset=cd-falls-away", 6000),
    "coupling": ("coupling", 150),
    "weights": ("weights", 150),
    "chain": ("chain?little=landscape", 300),
    "matrix": ("chain?little=matrix&chain_matrix=two wells", 0),
}
"""Address of each page, and the steps of its slowest panel."""

ANIMATION = (
    "play --recorded --model mnist_fpcd --samplers gibbs rates_fpcd:eps=0 rates_herding sample_penalization"
    " -n 480 --out"
).split()
"""The command that makes the animation: the panels of the Sample page as it opens."""

PRESETS = {"sample": 700, "train": 3000, "coupling": 60, "weights": 8, "chain": 250}
"""Pages whose presets have pictures, and the steps of the slowest panel, which has at most half a minute."""

PANELS = """(() => {
    const boxes = panels.map(p => p.querySelector('.stage').getBoundingClientRect());
    const strips = panels.map(p => p.querySelector('canvas.strip').getBoundingClientRect());
    const x = Math.min(...boxes.map(b => b.left)), y = Math.min(...boxes.map(b => b.top));
    const bottom = Math.max(...boxes.map(b => b.bottom), ...strips.map(b => b.bottom));
    return { x, y, width: Math.max(...boxes.map(b => b.right)) - x, height: bottom - y };
})()"""
"""The pictures and strips of the panels."""

THUMBNAIL = 264, 110
"""Maximum size of the picture of a preset, in pixels."""

SIZE = {"width": 1280, "height": 1120}
"""Of the window, in pixels."""

MATRIX = {"x": 0, "y": 210, "width": 1280, "height": 535}
"""The part of its page that is in the picture of the matrix: the table, λ, and both matrices."""


def main() -> None:
    """Take the pictures of the pages that are named, or of all."""
    parser = argparse.ArgumentParser(description="Take the pictures of the documentation.")
    parser.add_argument(
        "page", nargs="*", choices=[*PAGES, "samplers", "presets"], default=[*PAGES, "samplers"]
    )
    pages = parser.parse_args().page
    if "samplers" in pages:
        rbmviz([*ANIMATION, str(ROOT / "app" / "rbmviz_app" / "samplers.gif")])
    if "presets" in pages:
        take_presets()
    pages = [page for page in pages if page in PAGES]
    if not pages:
        return
    with tempfile.TemporaryDirectory() as logs, serving(Path(logs) / "log.txt") as server:
        with open_chromium() as browser:
            for name in pages:
                path, steps = PAGES[name]
                page = Live(browser.new_page(viewport=SIZE), server.address)
                if steps:
                    page.open(path)
                    page.until(f"Math.min(...panels.map(p => Number(p.dataset.n))) >= {steps}", timeout=300)
                else:
                    page.goto(path)
                page.charts.first.wait_for()
                folder = ROOT / "app" / "rbmviz_app" / "play" if name == "matrix" else FOLDER
                clip = None
                if name == "matrix":
                    page.charts.nth(3).wait_for()
                    clip = MATRIX
                picture = Image.open(io.BytesIO(page.page.screenshot(clip=clip)))
                picture.convert("RGB").save(folder / f"{name}.webp", quality=80, method=6)
                page.page.close()


def take_presets() -> None:
    """Take the pictures of the presets: their panels' pictures and strips."""
    with tempfile.TemporaryDirectory() as logs, serving(Path(logs) / "log.txt") as server:
        with open_chromium() as browser:
            for name, steps in PRESETS.items():
                for preset in live_page(name).presets:
                    page = Live(browser.new_page(viewport=SIZE), server.address)
                    page.open(f"{name}?preset={preset.slug}&little=landscape")
                    with contextlib.suppress(AssertionError):
                        page.until(f"Math.min(...panels.map(p => Number(p.dataset.n))) >= {steps}", 30)
                    shot = page.page.screenshot(clip=page.ask(PANELS))
                    picture = Image.open(io.BytesIO(shot)).convert("RGB")
                    picture.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
                    file = presets.picture_file(name, preset)
                    file.parent.mkdir(exist_ok=True)
                    picture.save(file, quality=45, method=6)
                    page.page.close()


if __name__ == "__main__":
    main()
