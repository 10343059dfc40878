"""How soon the Sample page answers in Chromium: from a moved slider to the painted frame. By hand::

    python -m tests.browser.reaction [other checkout ...]

Prints the median and the 90th percentile, over CHANGES positions of a slider, of the time until a frame
whose samples were drawn with the new value is painted, and of its parts: until the frame has arrived, and
from then on; frames per second meanwhile; and the time until a new page has its first pictures. Checkouts
take turns, so that they have the same load; in the first round the browser's store is empty.
"""

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import BrowserContext

from tests.attack.server import serving
from tests.browser.live import ROOT, Live, open_chromium

CHANGES, ROUNDS = 80, 2
PAUSE_MS = 237
"""Between two changes: not a multiple of the time between frames."""

LISTEN = """(() => {
    window.arrived = []; // [time of arrival, time of paint, knobs of the first panel with a step size]
    const Socket = window.WebSocket;
    window.WebSocket = class extends Socket {
        constructor(...args) {
            super(...args);
            this.addEventListener('message', ({ data }) => {
                if (!(data instanceof ArrayBuffer) || !this.url.includes('/rbmviz/live/')) return;
                const at = performance.now(), length = new DataView(data).getUint32(0, true);
                const { panels } = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
                const eps = panels.map(({ knobs }) => knobs?.eps).find(value => value !== undefined);
                const painted = new MessageChannel();
                painted.port1.onmessage = () => {
                    const now = performance.now();
                    window.firstPicture ??= panels.length && panels.every(({ n }) => n > 0) ? now : undefined;
                    window.arrived.push([at, now, eps]);
                };
                requestAnimationFrame(() => painted.port2.postMessage(0)); // after this frame's drawing
            });
        }
    };
})()"""

CHANGE = """async ([i, pause]) => {
    const input = panels[1].querySelector('input[type=range][id$="-eps"]');
    const before = Number(panels[1].querySelector('.knob .value').value);
    input.value = i % 2 ? 420 + i : 620 + i;
    const begin = performance.now();
    input.dispatchEvent(new Event('input'));
    const wished = Number(panels[1].querySelector('.knob .value').value);
    await new Promise(done => setTimeout(done, pause));
    const found = window.arrived.find(([at, , eps]) => at > begin && Math.abs(eps / wished - 1) < 0.01);
    return found ? [found[0] - begin, found[1] - begin] : null;
}"""


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description="Measure how soon the Sample page answers.")
    parser.add_argument("other", nargs="*", type=Path, help="another checkout, compared by turns")
    roots = [ROOT, *parser.parse_args().other]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = [stack.enter_context(serving(folder / f"{i}.txt", root)) for i, root in enumerate(roots)]
        browser = stack.enter_context(open_chromium())
        contexts = [browser.new_context(viewport={"width": 1280, "height": 720}) for _ in roots]
        for _ in range(ROUNDS):
            for root, server, context in zip(roots, servers, contexts, strict=True):
                print(f"{root}: {_line(context, server.address)}", flush=True)  # noqa: T201


def _line(context: BrowserContext, address: str) -> str:
    page = Live(context.new_page(), address)
    page.page.add_init_script(LISTEN)
    page.open()
    page.page.wait_for_timeout(4000)
    first, frames = page.page.evaluate("window.firstPicture"), page.page.evaluate("window.arrived.length")
    begin = page.page.evaluate("performance.now()")
    page.ask("0")
    times = [page.page.evaluate(CHANGE, [i, PAUSE_MS]) for i in range(CHANGES)]
    passed = (page.page.evaluate("performance.now()") - begin) / 1000
    rate = (page.page.evaluate("window.arrived.length") - frames) / passed
    page.page.close()
    arrived, painted = zip(*(time for time in times if time), strict=True)

    def both(values: list[float]) -> str:
        return f"{statistics.median(values):.0f} / {statistics.quantiles(values, n=10)[-1]:.0f}"

    drawing = [end - middle for middle, end in zip(arrived, painted, strict=True)]
    missed = sum(time is None for time in times)
    return (
        f"{both([*painted])} ms to the painted frame (arrival {both([*arrived])}, painting {both(drawing)}), "
        f"{missed} not within {PAUSE_MS} ms; {rate:.1f} frames/s; first picture {first:.0f} ms"
    )


if __name__ == "__main__":
    main()
