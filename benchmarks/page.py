"""What a live page costs: how long it takes to open from disk, its processor time, its memory.

By hand, for pages of ``rbmviz play``, and for the site's page, in a folder of ``docs/_play/live_page.py``,
on a laptop and on a phone::

    python -m benchmarks.page live.html usps.html --opens 5
    python -m benchmarks.page live.html --seconds 600
    python -m benchmarks.page play/ --opens 5
"""

import argparse
import itertools
import os
import statistics
import time
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser

from tests.browser.live import LAPTOP, PHONE, SIZE, open_chromium, serving_folder

MARKS = """window.marks = {};
const mark = name => { window.marks[name] ??= Math.round(performance.now()); };
const { Worker: Made, DecompressionStream: Unpacked } = window;
let unpacked = 0;
window.DecompressionStream = class extends Unpacked {
  constructor(format) { super(format); unpacked += 1; mark(`unpacking ${unpacked}`); }
};
window.Worker = class extends Made {
  constructor(url) { super(url); mark('workers'); this.addEventListener('message', () => mark('samples')); }
};
document.addEventListener('DOMContentLoaded', () => {
  mark('parsed');
  rbmviz.ready.then(() => requestAnimationFrame(() => setTimeout(() => mark('picture'))));
});"""
"""Milliseconds since the page was asked for."""

HERTZ = os.sysconf("SC_CLK_TCK")


class Page:
    """A page from disk; its policy forbids eval, and so Playwright's evaluate."""

    def __init__(self, browser: Browser, file: Path) -> None:
        self._context = browser.new_context(offline=True, viewport=SIZE)
        page = self._context.new_page()
        page.add_init_script(MARKS)
        page.goto(file.resolve().as_uri())
        self.session = self._context.new_cdp_session(page)
        self.page = page
        while not self("marks.picture"):
            time.sleep(0.02)

    def __call__(self, script: str) -> Any:
        """Return the value of a script."""
        options = {"expression": script, "awaitPromise": True, "returnByValue": True}
        return self.session.send("Runtime.evaluate", options)["result"].get("value")

    def close(self) -> None:
        """Close the page and its profile."""
        self._context.close()


def opening(browser: Browser, file: Path, times: int) -> dict[str, float]:
    """Return the median milliseconds at which each step of opening a file has come."""
    marks = []
    for _ in range(times):
        page = Page(browser, file)
        marks.append(page("marks"))
        page.close()
    return {name: statistics.median(each[name] for each in marks) for name in marks[0]}


SITE_MARKS = """window.marks = {};
const mark = name => { window.marks[name] ??= Math.round(performance.now()); };
const look = () => {
  const at = document.querySelector('#replay:not(.coming) [data-at]')?.dataset.at;
  const still = document.querySelector('.still img');
  const { model } = document.querySelector('.models [aria-pressed=true]')?.dataset ?? {};
  const shown = still?.complete ? 'picture' : Number(at) > 49 ? model : null;
  if (shown && !marks[shown]) setTimeout(() => {
    const bytes = performance.getEntries().map(({ transferSize }) => transferSize ?? 0);
    marks[`${shown} kB`] ??= bytes.reduce((sum, n) => sum + n) / 1000;
    mark(shown);
  });
  requestAnimationFrame(look);
};
look();"""
"""Milliseconds to the stored picture and to samples of each model, and kB by then."""

NETWORKS = {
    "laptop, 20 Mb/s": (LAPTOP, 1, {"latency": 20, "downloadThroughput": 2.5e6, "uploadThroughput": 1e6}),
    "phone, 1.6 Mb/s, 6 x slower": (
        PHONE, 6, {"latency": 150, "downloadThroughput": 2e5, "uploadThroughput": 9e4}
    ),
}  # fmt: skip


def opening_site(browser: Browser, folder: Path, times: int) -> None:
    """Print the medians of SITE_MARKS on each of NETWORKS; the largest model is asked for by a click."""
    with serving_folder(folder) as address:
        for name, (size, slower, network) in NETWORKS.items():
            marks = []
            for _ in range(times):
                context = browser.new_context(viewport=size, has_touch=size is PHONE)
                page = context.new_page()
                page.add_init_script(SITE_MARKS)
                session = context.new_cdp_session(page)
                session.send("Network.enable")
                session.send("Network.emulateNetworkConditions", {"offline": False, **network})
                session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
                page.goto(address, wait_until="commit")
                made = {}
                for model in ("usps_fpcd", "mnist_fpcd"):
                    while model not in made:
                        time.sleep(0.1)
                        options = {"expression": "marks", "returnByValue": True}
                        made = session.send("Runtime.evaluate", options)["result"]["value"]
                    page.locator("[data-model=mnist_fpcd]").click(no_wait_after=True)
                marks.append(made)
                context.close()
            middle = {key: round(statistics.median(each[key] for each in marks)) for key in marks[0]}
            print(f"{name}: {middle}")  # noqa: T201


def processor_seconds(processes: list[psutil.Process]) -> dict[str, float]:
    """Return the processor time of all threads of processes, and of workers."""
    total, workers = 0.0, 0.0
    for process in processes:
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            fields = (task / "stat").read_text("utf-8").rsplit(")", 1)[1].split()
            seconds = (int(fields[11]) + int(fields[12])) / HERTZ
            total += seconds
            workers += seconds if "Worker" in (task / "comm").read_text("utf-8") else 0
    return {"all": total, "workers": workers}


def running(browser: Browser, file: Path, seconds: float, speed: int) -> None:
    """Print processor time and memory of a page that runs, and how fast it makes samples."""
    page = Page(browser, file)
    page.page.locator(".transport select").first.select_option(str(speed))
    chromium = [each for each in psutil.Process().children(recursive=True) if "chrom" in each.name()]
    [renderer] = [each for each in chromium if any("Worker" in name for name in names_of(each))]
    begin, first, n = time.monotonic(), processor_seconds(chromium), page("rbmviz.panels[0].n")
    while time.monotonic() < begin + seconds:
        time.sleep(min(30, seconds / 4))
        passed, last = time.monotonic() - begin, processor_seconds(chromium)
        heap, memory = page.session.send("Runtime.getHeapUsage")["usedSize"], renderer.memory_full_info()
        shares = {name: (last[name] - first[name]) / passed for name in last}
        print(  # noqa: T201
            f"{passed:6.0f} s: {(page('rbmviz.panels[0].n') - n) / passed:.1f} samples a second, "
            f"{shares['all']:.1%} of a core, its workers {shares['workers']:.1%}, heap {heap / 1e6:.1f} MB, "
            f"RSS {memory.rss / 1e6:.0f} MB, its own {memory.uss / 1e6:.0f} MB",
            flush=True,
        )
    page.close()


def names_of(process: psutil.Process) -> list[str]:
    """Return the names of a process's threads."""
    return [(task / "comm").read_text("utf-8") for task in Path(f"/proc/{process.pid}/task").iterdir()]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--opens", type=int, default=0, help="how often to open each file")
    parser.add_argument("--seconds", type=float, default=0, help="how long to let it run")
    parser.add_argument("--speed", type=int, default=60, help="samples a second (default 60)")
    args = parser.parse_args()
    with open_chromium() as browser:
        for folder in filter(Path.is_dir, args.files):
            opening_site(browser, folder, args.opens)
        for file in itertools.filterfalse(Path.is_dir, args.files):
            if args.opens:
                print(file.name, opening(browser, file, args.opens), f"load {os.getloadavg()[0]:.1f}")  # noqa: T201
            if args.seconds:
                running(browser, file, args.seconds, args.speed)


if __name__ == "__main__":
    main()
