"""The engine of pages in node, Chromium, Firefox and WebKit, and the samples of Python."""

import base64
import contextlib
import functools
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rbmviz
from rbmviz import browser
from rbmviz.browser.chains import Blocks, chain_spec
from rbmviz.browser.scores import score_data
from rbmviz.knobs import values_of
from rbmviz.samplers.fast_weights import follow_norm
from rbmviz.view.frames import write_frame

ROOT = Path(__file__).parents[2]
SCRIPTS = (
    "rbmviz/browser/model.js",
    "rbmviz/browser/engine.js",
    "rbmviz/browser/clamp.js",
    "rbmviz/browser/findings.js",
    "rbmviz/browser/landscape.js",
    "rbmviz/browser/pairs.js",
    "rbmviz/browser/worker.js",
    "rbmviz/view/panel/frame.js",
    "tests/kernels/run_engine.js",
)

MODELS = "mnist_fpcd", "usps_fpcd", "bas_pcd"

SAMPLERS: dict[str, list[dict[str, Any]]] = {
    "gibbs": [{}, {"temperature": 1.7, "k": 2}],
    "rates_fpcd": [{}, {"alpha": 0.9, "eps": 0.1}, {"statistics": "mean"}],
    "rates_herding": [{}, {"alpha": 0.95, "max_sweeps": 3}],
    "sample_penalization": [{}, {"alpha": 1.0, "k": 2}],
    "parallel_tempering": [{}, {"k": 2}],
}
"""Both regimes of all samplers; a run turns its knobs from each setting to the next."""

PATIENCE = 300.0
"""Seconds after which an engine hangs."""

NODE = """const vm = require('vm');
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const say = said => console.log(JSON.stringify(said));
  try { say({ value: vm.runInThisContext(JSON.parse(line)) }); }
  catch (error) { say({ error: String(error.stack) }); }
});"""

WORKER = """onmessage = ({ data }) => {
  try { postMessage({ value: (0, eval)(data) }); }
  catch (error) { postMessage({ error: String(error.stack) }); }
};"""


class Engine:
    """A JavaScript engine with the scripts of ``run_engine.js``; ``evaluate`` takes an expression."""

    def __init__(self, evaluate: Any) -> None:
        self._evaluate = evaluate

    def __call__(self, function: str, *arguments: Any) -> Any:
        """Call a function of the scripts, and return its value."""
        answer = self._evaluate(f"{function}({', '.join(map(json.dumps, arguments))})")
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]

    def open(self, frame: bytes, module: Path = browser.KERNELS_FOLDER) -> None:
        """Take the chains of a frame, and the kernels of a folder."""
        wasm = base64.b64encode((module / "kernels.wasm").read_bytes()).decode()
        table = json.loads((module / "kernels.json").read_text())
        self("openFrame", wasm, table, base64.b64encode(frame).decode())


def _scripts() -> str:
    return "\n".join((ROOT / script).read_text() for script in SCRIPTS)


@contextlib.contextmanager
def node() -> Iterator[Engine]:
    """Start node."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["node", "-e", NODE], **pipes, start_new_session=True) as process:
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout
        end = functools.partial(os.killpg, process.pid, signal.SIGKILL)  # node may be a child of the command

        def evaluate(script: str) -> Any:
            hangs = threading.Timer(PATIENCE, end)
            hangs.start()
            stdin.write(json.dumps(script) + "\n")
            stdin.flush()
            answer = stdout.readline()
            hangs.cancel()
            assert answer, f"node has not answered for {PATIENCE:g} s"
            return json.loads(answer)

        try:
            evaluate(_scripts())
            yield Engine(evaluate)
        finally:
            end()


IN_PAGE = "(() => { const value = %s; return JSON.stringify({ value }); })()"
IN_WORKER = """new Promise(resolve => {
  worker.onmessage = ({ data }) => resolve(JSON.stringify(data));
  worker.postMessage(%s);
})"""


def _in_page(evaluate: Any, worker: bool) -> Engine:
    """Load the scripts in a page, or in a worker of it, as pages that ``rbmviz play`` makes do."""
    scripts = json.dumps(_scripts() + (WORKER if worker else ""))
    if worker:
        evaluate(f"void (worker = new Worker(URL.createObjectURL(new Blob([{scripts}]))))")
        return Engine(lambda script: json.loads(evaluate(IN_WORKER % json.dumps(script))))
    evaluate(
        f"void document.head.append(Object.assign(document.createElement('script'), {{ text: {scripts} }}))"
    )
    return Engine(lambda script: json.loads(evaluate(IN_PAGE % script)))


@contextlib.contextmanager
def chromium_pages(*kinds: tuple[bool, float]) -> Iterator[list[Engine]]:
    """Start Chromium with pages: whether in a worker, and how much slower (as developer tools make it)."""
    from tests.browser.live import open_chromium

    with open_chromium() as started:
        engines = []
        for worker, slower in kinds:
            page = started.new_context().new_page()
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
            engines.append(_in_page(page.evaluate, worker))
        yield engines


@contextlib.contextmanager
def chromium() -> Iterator[Engine]:
    """Start Chromium."""
    with chromium_pages((True, 1)) as [engine]:
        yield engine


@contextlib.contextmanager
def window_of(browser: str) -> Iterator[Engine]:
    """Start Firefox or WebKit."""
    from tests.browser.firefox import firefox
    from tests.browser.webkit import webkit

    started = {"firefox": firefox, "webkit": webkit}[browser]
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as window:
        Path(folder, "empty.html").write_text("<!doctype html>")  # Firefox's own first page allows no scripts
        window.open(Path(folder, "empty.html").as_uri())
        yield _in_page(window.evaluate, worker=True)


ENGINES = {
    "node": node,
    "chromium": chromium,
    "firefox": functools.partial(window_of, "firefox"),
    "webkit": functools.partial(window_of, "webkit"),
}


def frame_of(model: Any, names: Sequence[str], seeds: Sequence[int], dataset: Any = None) -> bytes:
    """Return chains of a model, and data to score them with, for ``Engine.open``."""
    blocks = Blocks()
    starts = [(seed, None) for seed in seeds]
    chains = [chain_spec(rbmviz.make_sampler(name), model, starts, blocks) for name in names]
    scores, score_blocks = score_data(dataset)
    return write_frame({"chains": chains, "score_spec": scores}, [({}, blocks.by_name | score_blocks)])


def chunks_of(name: str, settings: Sequence[Mapping[str, Any]], n: int) -> list[tuple[int, dict[str, Any]]]:
    """Return n samples of each setting, for ``runJob``."""
    sampler = rbmviz.make_sampler(name)
    return [(n, values_of(replace(sampler, **knobs))) for knobs in settings]


def bits_of(run: Mapping[str, Any], n_visible: int) -> np.ndarray:
    """Return the samples of a run of ``runJob``, uint8 (n, n_visible)."""
    packed = np.frombuffer(base64.b64decode(run["v"]), np.uint8).reshape(-1, -(-n_visible // 8))
    return np.unpackbits(packed, axis=1)[:, :n_visible]


def by_processor(
    model: Any, name: str, seed: int, settings: Sequence[Mapping[str, Any]], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of Python and their norms of the fast weights, n of each setting."""
    sampler = rbmviz.make_sampler(name)
    state = sampler.init(model, seed)
    follow_norm(state)
    parts = [replace(sampler, **knobs).step(state, n) for knobs in settings]
    norms = [part.info.get("fast_norm", np.zeros(n)) for part in parts]
    return np.concatenate([part.v for part in parts]), np.concatenate(norms)
