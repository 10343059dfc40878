"""The pictures of the documentation, ``docs/img``: every page as it is now, in Chromium. By hand::

    python -m tests.browser.pictures

The animation of the README, ``rbmviz_app/samplers.gif``, is made without a browser, by ``rbmviz replay``
(``python -m tests.browser.pictures samplers``).

A picture is taken when the slowest panel has made so many steps, so that it shows what the text beside
it says.
"""

import argparse
import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from rbmviz.cli import main as rbmviz
from tests.attack.server import serving
from tests.browser.conftest import ROOT, Live

FOLDER = ROOT / "docs" / "img"

PAGES = {
    "sample": ("", 900),
    "train": ("train?preset=cd-falls-away", 6000),
    "coupling": ("coupling", 150),
    "weights": ("weights", 150),
    "chain": ("chain?little=landscape", 300),
}
"""Address of each page, and the steps of its slowest panel."""

ANIMATION = (
    "replay --model mnist_fpcd --samplers gibbs rates_fpcd:eps=0 rates_herding sample_penalization"
    " -n 480 --out"
).split()
"""The command that makes the animation: the panels of the Sample page as it opens."""

SIZE = {"width": 1280, "height": 1120}
"""Of the window, in pixels."""


def main() -> None:
    """Take the pictures of the pages that are named, or of all."""
    parser = argparse.ArgumentParser(description="Take the pictures of the documentation.")
    parser.add_argument("page", nargs="*", choices=[*PAGES, "samplers"], default=[*PAGES, "samplers"])
    pages = parser.parse_args().page
    if "samplers" in pages:
        rbmviz([*ANIMATION, str(ROOT / "app" / "rbmviz_app" / "samplers.gif")])
        pages = [page for page in pages if page in PAGES]
    if not pages:
        return
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log.txt") as server:
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for name in pages:
                path, steps = PAGES[name]
                page = Live(browser.new_page(viewport=SIZE), server.address).open(path)
                page.until(f"Math.min(...panels.map(p => Number(p.dataset.n))) >= {steps}", timeout=300)
                page.page.locator("[data-testid=stVegaLiteChart] canvas").first.wait_for()
                picture = Image.open(io.BytesIO(page.page.screenshot()))
                picture.convert("RGB").save(FOLDER / f"{name}.webp", quality=80, method=6)
                page.page.close()
            browser.close()


if __name__ == "__main__":
    main()
