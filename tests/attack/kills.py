"""Killing commands (SIGKILL) at random moments: ``python -m tests.attack.kills --rounds 20``.

After each kill, every file under its final name must be complete, and the same command must then succeed; a
resumed training must end with the same bits as an uninterrupted one.
"""

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbmviz.models import load_model

PATIENCE = 300.0
"""Seconds that an uninterrupted command may take (the first one may compile kernels)."""


def run(folder: Path, words: list[str], kill_after: float = PATIENCE, **environment: str) -> tuple[int, str]:
    """Run ``rbmviz`` in a folder, and kill it after some seconds; return status (-9: killed) and errors."""
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2])}
    # A file and not a pipe, because nothing reads while the process runs, and a pipe may be full.
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "rbmviz", *words],
            cwd=folder,
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            process.wait(kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        errors.seek(0)
        return process.returncode, errors.read().decode(errors="replace")


def whole_training(folder: Path) -> None:
    """Check the model and the history of a training."""
    if (folder / "m.safetensors").exists():
        load_model(folder / "m.safetensors")
    if (folder / "h.csv").exists():
        rows = list(csv.DictReader((folder / "h.csv").read_text().splitlines()))
        assert rows, "an empty history"
        assert all(None not in row and None not in row.values() for row in rows), "half a row in the history"


def same_training(folder: Path, alone: Path) -> None:
    """Check that a training has the bits of one that was left alone."""
    ours, want = (load_model(where / "m.safetensors").rbm for where in (folder, alone))
    for name in "Wbc":
        same = np.array_equal(getattr(ours, name), getattr(want, name))
        assert same, f"{name} is not that of a training left alone"


def whole_samples(folder: Path, alone: Path | None = None) -> None:
    """Check a file of samples."""
    if (folder / "s.npz").exists():
        with np.load(folder / "s.npz") as archive:
            assert len(archive["v"]) == len(archive["p"]) == 600_000, "a sample file that is not whole"


@dataclass(frozen=True)
class Scenario:
    """A command to be killed, the check after a kill, and that of its end beside one that was left alone."""

    name: str
    words: list[str]
    whole: Callable[[Path], None]
    same: Callable[[Path, Path], None]
    compiles: bool = False  # into a cache of its own


def _nothing(*_: Path) -> None:
    pass


TRAIN = (
    "train --dataset bas --trainer pcd --n-hidden 8 --iterations 20000 --out m.safetensors --history h.csv "
    "--every 100 --checkpoint-every 200"
)
SAMPLE = "sample --model bas_pcd --sampler gibbs --out"
SCENARIOS = [
    Scenario("train", TRAIN.split(), whole_training, same_training),
    Scenario("sample", f"{SAMPLE} s.npz -n 600000".split(), whole_samples, whole_samples),
    Scenario("cache of kernels", f"{SAMPLE} few.npz -n 100".split(), _nothing, _nothing, compiles=True),
]


def kill(rounds: int, seed: int = 0) -> list[str]:
    """Kill each command ``rounds`` times; return a Markdown table, and a list of failures."""
    chance, wrong = random.Random(seed), []
    table = ["| killed by SIGKILL | takes | kills | defects |", "|---|--:|--:|--:|"]
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory(prefix="rbmviz-kills-") as place:

            def start(folder: Path, *more: str, after: float = PATIENCE, it: Scenario = scenario) -> int:
                folder.mkdir(exist_ok=True)
                cache = {"RBMVIZ_CACHE_DIR": str(folder / "cache")} if it.compiles else {}
                status, said = run(folder, [*it.words, *more], after, **cache)
                assert status in (0, -9), f"status {status}: {said[-300:]}"
                return status

            alone, kills, before = Path(place, "alone"), 0, len(wrong)
            if not scenario.compiles:
                start(alone)  # which may compile
            began = time.monotonic()
            start(alone)
            took = time.monotonic() - began
            for i in range(rounds):
                folder, after = Path(place, str(i)), 0.0
                try:
                    # Two kills in a row, so that the second run begins with the leftovers of the first.
                    for _ in range(1 + i % 2):
                        after = chance.uniform(0.2, 1.05) * took
                        kills += start(folder, after=after) == -9
                        scenario.whole(folder)
                    resumed = (folder / "m.checkpoint").exists()
                    assert start(folder, *["--resume"] * resumed) == 0, "takes too long"
                    scenario.same(folder, alone)
                except Exception as error:
                    wrong.append(f"{scenario.name}, killed after {after:.2f} s: {error!r}")
            table.append(f"| {scenario.name} | {took:.1f} s | {kills} | {len(wrong) - before} |")
    return ["\n".join(table), *wrong]


def main() -> None:
    """Kill from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="of each command (default 20)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("\n".join(kill(options.rounds, options.seed)))  # noqa: T201


if __name__ == "__main__":
    main()
