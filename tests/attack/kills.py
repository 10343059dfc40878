"""Killing commands (SIGKILL) at random moments: ``python -m tests.attack.kills --rounds 20``.

After each kill, every file under its final name must be complete, and the same command must then succeed; a
resumed training must end with the same bits as an uninterrupted one.
"""

import argparse
import csv
import dataclasses
import gzip
import hashlib
import http.server
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rbmviz.datasets.raw import SOURCES
from rbmviz.models import load_model

PATIENCE = 300.0
"""Seconds that an uninterrupted command may take (the first one may compile kernels)."""


def run(folder: Path, *words: str, kill_after: float | None = None, **environment: str) -> tuple[int, str]:
    """Run ``rbmviz`` in a folder, and kill it after some seconds; return status (-9: killed) and errors."""
    return _run(folder, [sys.executable, "-m", "rbmviz", *words], kill_after, environment)


def _run(
    folder: Path, words: list[str], kill_after: float | None, environment: dict[str, str]
) -> tuple[int, str]:
    here = {"PYTHONPATH": str(Path(__file__).parents[2])}
    # A file and not a pipe, because nothing reads while the process runs, and a pipe may be full.
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            words, cwd=folder, env=os.environ | here | environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            process.wait(PATIENCE if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        errors.seek(0)
        return process.returncode, errors.read().decode(errors="replace")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A command to be killed: how it is run, the check after a kill, and how it is continued."""

    name: str
    start: Callable[[Path, float | None], tuple[int, str]]
    whole: Callable[[Path], None]
    again: Callable[[Path], tuple[int, str]]


# train

TRAIN = (
    *("train", "--dataset", "bas", "--trainer", "pcd", "--n-hidden", "8", "--iterations", "20000"),
    *("--out", "m.safetensors", "--history", "h.csv", "--every", "100", "--checkpoint-every", "200"),
)


def _train_whole(folder: Path) -> None:
    if (folder / "m.safetensors").exists():
        load_model(folder / "m.safetensors")
    if (folder / "h.csv").exists():
        rows = list(csv.DictReader((folder / "h.csv").read_text().splitlines()))
        assert rows, "an empty history"
        assert all(None not in row and None not in row.values() for row in rows), "half a row in the history"


def _train_again(folder: Path) -> tuple[int, str]:
    resumed = (folder / "m.checkpoint").exists()
    found = run(folder, *TRAIN, *(["--resume"] if resumed else []))
    if found[0] == 0:
        alone = folder.parent / "alone"
        if not alone.exists():
            alone.mkdir()
            run(alone, *TRAIN)
        ours, want = (load_model(where / "m.safetensors").rbm for where in (folder, alone))
        for name in "Wbc":
            same = np.array_equal(getattr(ours, name), getattr(want, name))
            assert same, f"resumed: {resumed}; {name} is not that of a training left alone"
    return found


# sample

SAMPLE = ("sample", "--model", "bas_pcd", "--sampler", "gibbs", "-n", "600000", "--out", "s.npz")


def _sample_whole(folder: Path) -> None:
    if (folder / "s.npz").exists():
        with np.load(folder / "s.npz") as archive:
            assert len(archive["v"]) == len(archive["p"]) == 600_000, "a sample file that is not whole"


# data get


@contextmanager
def slow_mirror(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP, in pieces with pauses, so that a kill can interrupt a download."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def copyfile(self, source: object, outputfile: object) -> None:
            while block := source.read(2**15):  # type: ignore[attr-defined]
                outputfile.write(block)  # type: ignore[attr-defined]
                time.sleep(0.02)

        def log_message(self, *args: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # the one who asked was killed
                pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def publish(folder: Path) -> dict[str, str]:
    """Write random images in the format of MNIST; return the checksums of the files."""
    (folder / "mnist").mkdir(parents=True)
    checksums, g = {}, np.random.default_rng(0)
    for name in SOURCES["mnist"].files:
        n = 3000 if name.startswith("train") else 500
        shape = (n, 28, 28) if "images" in name else (n,)
        header = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}i", *shape)
        content = gzip.compress(header + g.integers(0, 10, shape, dtype=np.uint8).tobytes(), 1)
        (folder / "mnist" / name).write_bytes(content)
        checksums[name] = "md5:" + hashlib.md5(content).hexdigest()
    return checksums


GET = """
import dataclasses, json, sys
from rbmviz.cli import main
from rbmviz.datasets import raw
parts = {"x_train": (3000, 28, 28), "y_train": (3000,), "x_test": (500, 28, 28), "y_test": (500,)}
raw.SOURCES["mnist"] = dataclasses.replace(raw.SOURCES["mnist"], files=json.loads(sys.argv[1]), shapes=parts)
sys.exit(main(["data", "get", "mnist"]))
"""


def data_get(mirror: str, checksums: dict[str, str]) -> Scenario:
    """Return the scenario of a download from a mirror."""

    def get(folder: Path, kill_after: float | None = None) -> tuple[int, str]:
        words = [sys.executable, "-c", GET, json.dumps(checksums)]
        places = {
            "RBMVIZ_DATA_MIRROR": mirror,
            "RBMVIZ_CACHE_DIR": str(folder / "cache"),
            "RBMVIZ_DATA_DIR": "",
        }
        return _run(folder, words, kill_after, places)

    def whole(folder: Path) -> None:
        path = folder / "cache" / "data" / "mnist.npz"
        if path.exists():
            with np.load(path) as archive:
                assert archive["x_train"].shape == (3000, 28, 28), "a data set that is not whole"

    return Scenario("data get", get, whole, get)


# cache of the kernels


def warm_up(words: tuple[str, ...]) -> Scenario:
    """Return the scenario of ``rbmviz warmup`` with a cache of its own."""

    def start(folder: Path, kill_after: float | None = None) -> tuple[int, str]:
        return run(folder, *words, kill_after=kill_after, RBMVIZ_CACHE_DIR=str(folder / "cache"))

    return Scenario("cache warm-up", start, lambda folder: None, start)


UNIFORM_LANES = ("sample", "--model", "bas_pcd", "--sampler", "gibbs", "-n", "100", "--out", "few.npz")


def kill(rounds: int, seed: int = 0, all_kernels: bool = False) -> list[str]:
    """Kill each command ``rounds`` times; return a Markdown row for each, and a list of failures."""
    chance, rows, wrong = random.Random(seed), [], []
    with tempfile.TemporaryDirectory(prefix="rbmviz-kills-") as place:
        top = Path(place)
        checksums = publish(top / "mirror")
        with slow_mirror(top / "mirror") as mirror:
            scenarios = [
                Scenario(
                    "train", lambda at, after: run(at, *TRAIN, kill_after=after), _train_whole, _train_again
                ),
                Scenario(
                    "sample",
                    lambda at, after: run(at, *SAMPLE, kill_after=after),
                    _sample_whole,
                    lambda at: run(at, *SAMPLE),
                ),
                data_get(mirror, checksums),
                warm_up(("warmup",) if all_kernels else UNIFORM_LANES),
            ]
            for scenario in scenarios:
                (home := top / scenario.name).mkdir()
                (home / "whole").mkdir()
                if scenario.name != "cache warm-up":  # which is of the time of compiling
                    (home / "first").mkdir()
                    scenario.start(home / "first", None)
                began = time.monotonic()
                status, said = scenario.start(home / "whole", None)
                took, killed, bad = time.monotonic() - began, 0, 0
                if status != 0:
                    wrong.append(f"{scenario.name}: left alone it ends with {status}: {said[-300:]}")
                    continue
                for i in range(rounds):
                    (folder := home / str(i)).mkdir()
                    # Two kills in a row, so that the second run begins with the leftovers of the first.
                    for _ in range(1 + i % 2):
                        after = chance.uniform(0.2, 1.05) * took
                        killed += scenario.start(folder, after)[0] == -9
                        try:
                            scenario.whole(folder)
                        except Exception as error:
                            bad += 1
                            wrong.append(f"{scenario.name}, killed after {after:.2f} s: {error!r}")
                    try:
                        status, said = scenario.again(folder)
                        assert status == 0, f"status {status}: {said[-300:]}"
                        scenario.whole(folder)
                    except Exception as error:
                        bad += 1
                        wrong.append(f"{scenario.name}, begun again: {error!r}")
                rows.append(f"| {scenario.name} | {took:.1f} s | {killed} | {bad} |")
    head = ["| killed by SIGKILL | takes | kills | defects |", "|---|--:|--:|--:|"]
    return ["\n".join([*head, *rows]), *wrong]


def main() -> None:
    """Kill from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="of each command (default 20)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("\n".join(kill(options.rounds, options.seed, all_kernels=True)))  # noqa: T201


if __name__ == "__main__":
    main()
