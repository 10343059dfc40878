"""Running cases in processes of their own: a process with everything imported forks a child for each case.

A case may therefore crash, hang or exhaust the memory without an effect on the next case. The operating
system measures its memory (the high-water mark of the child, reset before the case begins), and limits it to
``ROOM`` beyond the memory of the parent. Linux only.
"""

import json
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from rbmviz import BadInput

ROOT = Path(__file__).parents[2]

BUDGET_MB = 300
"""Memory budget of a case (``RBMVIZ_MEMORY_MB``), small so that decompression bombs are cheap to test."""

SLACK_MB = 80
"""Megabytes allowed beyond the budget, for growth of the interpreter and compilation of kernels."""

ROOM = 4 * 10**9
"""Bytes of address space of a case beyond the parent's, so that no case endangers the machine."""

SECONDS = 30.0
"""Time limit of a case; a command is interrupted then, and has the same time again to stop."""

LONGEST = 400
"""Most characters of an error message."""

ENVIRONMENT = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
ENVIRONMENT |= {"RBMVIZ_DATA_MIRROR": "http://127.0.0.1:9", "RBMVIZ_MEMORY_MB": str(BUDGET_MB)}
ENVIRONMENT |= {"PYTHONPATH": str(ROOT)}


@dataclass(frozen=True)
class Outcome:
    """The result of one case.

    ``end`` is "accepted", "refused" or "defect"; ``text`` the error message, or the description of the
    defect; ``seconds`` the time; ``peak`` the memory in megabytes beyond the parent's.
    """

    family: str
    seed: int
    end: str
    text: str
    seconds: float = 0.0
    peak: float = 0.0


def _status(name: str) -> float:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1000


def unclear(sentence: str) -> str:
    """Return what is wrong with an error message, "" if nothing is."""
    if not sentence.strip():
        return "refused without a word"
    if len(sentence) > LONGEST:
        return f"refused in {len(sentence)} characters"
    if "\n" in sentence.strip():
        return "refused in more than one line"
    if "Traceback" in sentence or "object at 0x" in sentence:
        return "refused in words of the program"
    return ""


def _used(use: Callable[[Any], Any], made: Any, errors: Path) -> tuple[str, str]:
    """Use an input; return how it ended, and what was said."""
    try:
        found = use(made)
    except BadInput as error:
        return "refused", str(error)
    except BaseException as error:
        traceback.print_exc()
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return "defect", f"{type(error).__name__}: {str(error)[:200]} ({where})"
    said = errors.read_text(errors="replace")
    if "Traceback (most recent" in said:
        return "defect", "a traceback on standard error"
    if not isinstance(found, int):
        return ("refused", max(found, key=len)) if found else ("accepted", "")
    line = (said.strip().splitlines() or [""])[-1]
    if found not in (0, 1, 2, 130):
        return "defect", f"status {found}"
    return ("accepted" if found in (0, 130) else "refused"), line


def _case(family: Any, seed: int, folder: Path, cache: str) -> None:
    """Make and use one input; write the result as JSON."""
    errors = folder / ".stderr"
    os.dup2(os.open(errors, os.O_RDWR | os.O_CREAT), 2)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 0)
    os.environ["RBMVIZ_CACHE_DIR"] = cache  # the kernels are loaded: this is for downloads
    try:
        (folder / "in").mkdir()
        os.chdir(folder / "in")
        made = family.make(np.random.default_rng([zlib.crc32(family.name.encode()), seed]), folder / "in")
        Path("/proc/self/clear_refs").write_text("5")
        base = _status("VmRSS")
        limit = int(_status("VmSize") * 1000) * 1024 + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        begin = time.perf_counter()
        end, text = _used(family.use, made, errors)
        seconds, peak = time.perf_counter() - begin, _status("VmHWM") - base
        if end == "refused" and (why := unclear(text)):
            end, text = "defect", f"{why}: {text[:200]}"
        if end != "defect" and peak > BUDGET_MB + SLACK_MB:
            end, text = "defect", f"took {peak:,.0f} MB under a budget of {BUDGET_MB} ({end}): {text[:150]}"
    except BaseException:
        end, text, seconds, peak = "defect", f"the harness failed: {traceback.format_exc()[-600:]}", 0, 0
    (folder / "outcome.json").write_text(json.dumps([end, text, seconds, peak]))
    os._exit(0)


class Pool:
    """Runs cases; the input of a defect is kept in a folder."""

    def __init__(self, keep: Path, cache: str) -> None:
        self._keep, self._cache = keep, cache
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.attack.loaded"])
        first = self._context.Process(target=int)  # begins when all is imported
        first.start()
        first.join()

    def run(self, family: Any, seed: int) -> Outcome:
        """Run one case."""
        with tempfile.TemporaryDirectory(prefix="rbmviz-attack-") as place:
            folder = Path(place)
            process = self._context.Process(target=_case, args=(family, seed, folder, self._cache))
            process.start()
            process.join(SECONDS)
            if process.is_alive() and family.command:
                with suppress(ProcessLookupError):
                    os.kill(process.pid or 0, signal.SIGINT)
                process.join(SECONDS)
            hangs = process.is_alive()
            process.kill()
            process.join()
            if (folder / "outcome.json").exists():
                outcome = Outcome(family.name, seed, *json.loads((folder / "outcome.json").read_text()))
            else:
                how = "hang" if hangs else f"ended with status {process.exitcode} and without a word"
                outcome = Outcome(family.name, seed, "defect", how)
            if outcome.end == "defect":
                target = self._keep / f"{family.name.replace(' ', '-')}-{seed}"
                shutil.copytree(folder, target, dirs_exist_ok=True, symlinks=True)
        return outcome


@contextmanager
def pool(keep: Path) -> Iterator[Pool]:
    """Yield a pool that is ready (it may compile kernels); the inputs of defects are kept in a folder."""
    keep.mkdir(parents=True, exist_ok=True)
    with mock.patch.dict(os.environ, ENVIRONMENT), tempfile.TemporaryDirectory() as cache:
        yield Pool(keep, cache)
