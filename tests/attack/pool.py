"""Running cases in processes of their own: a process with everything imported forks a child for each case.

A case may therefore crash, hang or exhaust the memory without an effect on the next case. The operating
system measures its memory (the high-water mark of the child, reset before the case begins), and limits it to
``ROOM`` beyond the memory of the parent. Linux only.
"""

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
    seconds: float
    peak: float


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


def _case(family: Any, seed: int, folder: Path, tell: int) -> None:
    """Make and use one input; write the progress and the result as JSON lines."""
    import numpy as np

    from rbmviz import BadInput

    def say(**fields: Any) -> None:
        os.write(tell, json.dumps(fields).encode() + b"\n")

    errors = os.open(folder / ".stderr", os.O_RDWR | os.O_CREAT)
    os.dup2(errors, 2)
    os.dup2(os.open(folder / ".stdout" if family.command else os.devnull, os.O_RDWR | os.O_CREAT), 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    (folder / "in").mkdir()
    rng = np.random.default_rng([zlib.crc32(family.name.encode()), seed])
    os.chdir(folder / "in")
    try:
        made = family.make(rng, folder / "in")
    except BaseException:
        say(end="defect", text=f"the harness failed: {traceback.format_exc()[-600:]}", seconds=0, peak=0)
        return
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    base = _status("VmRSS")
    limit = int(_status("VmSize") * 1000) * 1024 // 1000 + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    say(began=base)
    begin = time.perf_counter()
    try:
        found = family.use(made)
        if family.command:
            text = (folder / ".stderr").read_text(errors="replace").strip()
            line = text.splitlines()[-1] if text else ""
            end, text = ("accepted", line) if found in (0, 130) else ("refused", line)
            if found not in (0, 1, 2, 130):
                end, text = "defect", f"status {found}"
        else:
            end, text = ("refused", max(found, key=len)) if found else ("accepted", "")
    except BadInput as error:
        end, text = "refused", str(error)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        end = "defect"
        where = f"{Path(last.filename).name}:{last.lineno}"
        text = f"{type(error).__name__}: {str(error)[:200]} ({where})"
        traceback.print_exc()
    seconds, peak = time.perf_counter() - begin, _status("VmHWM") - base
    if end == "refused" and (why := unclear(text)):
        end, text = "defect", f"{why}: {text[:200]}"
    if end != "defect" and "Traceback (most recent" in (folder / ".stderr").read_text(errors="replace"):
        end, text = "defect", "a traceback on standard error"
    if end != "defect" and peak > BUDGET_MB + SLACK_MB:
        end, text = "defect", f"took {peak:,.0f} MB under a budget of {BUDGET_MB} ({end}): {text[:150]}"
    say(end=end, text=text, seconds=seconds, peak=peak)


def _watch(child: int, told: int, command: bool) -> tuple[dict[str, Any], str]:
    """Wait for a child; return the result that it wrote, or else how its process ended."""
    content, began, interrupted = b"", time.monotonic(), 0.0
    while True:
        ready, _, _ = select.select([told], [], [], 0.2)
        if ready:
            block = os.read(told, 65536)
            if not block:
                break
            began = time.monotonic() if not content else began
            content += block
        spent = time.monotonic() - began
        if spent > SECONDS and command and not interrupted:
            os.kill(child, signal.SIGINT)
            interrupted = time.monotonic()
        elif spent > SECONDS and (not interrupted or time.monotonic() - interrupted > SECONDS):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            end = "did not stop when interrupted" if interrupted else "no end"
            return {}, f"hang: {end} after {time.monotonic() - began:.0f} s"
    _, status = os.waitpid(child, 0)
    lines = [json.loads(line) for line in content.splitlines()]
    last = lines[-1] if lines and "end" in lines[-1] else {}
    if last:
        return last, ""
    if os.WIFSIGNALED(status):
        return {}, f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return {}, f"ended with status {os.waitstatus_to_exitcode(status)} and without a word"


def serve_cases(families: dict[str, Any]) -> None:
    """Run the cases that standard input names, one per JSON line, and write one line of result for each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        family, seed, folder = families[asked["family"]], asked["seed"], Path(asked["folder"])
        told, tell = os.pipe()
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os.close(told)
            try:
                _case(family, seed, folder, tell)
            finally:
                os._exit(0)
        os.close(tell)
        found, how = _watch(child, told, family.command)
        os.close(told)
        if how:
            found = {"end": "defect", "text": how, "seconds": time.monotonic() - began, "peak": 0.0}
        print(json.dumps(asdict(Outcome(family.name, seed, **found))), file=answers, flush=True)


class Pool:
    """One parent process that runs cases, and is replaced when it ends."""

    def __init__(self, keep: Path) -> None:
        self.keep = keep
        self._loaded: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """Return the parent process, started if there is none; its first start may compile kernels."""
        if self._loaded is None or self._loaded.poll() is not None:
            one = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
            mirror = {"RBMVIZ_DATA_MIRROR": "http://127.0.0.1:9", "RBMVIZ_MEMORY_MB": str(BUDGET_MB)}
            self._loaded = subprocess.Popen(
                [sys.executable, "-m", "tests.attack.loaded"],
                cwd=Path(__file__).parents[2],
                env=os.environ | one | mirror,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert self._loaded.stdout is not None
            if not self._loaded.stdout.readline():
                raise RuntimeError(
                    "the process for cases does not start: python -m tests.attack.loaded says why"
                )
        return self._loaded

    def run(self, family: str, seed: int) -> Outcome:
        """Run one case; the input of a defect is kept."""
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="rbmviz-attack-") as folder:
            try:
                print(
                    json.dumps({"family": family, "seed": seed, "folder": folder}),
                    file=process.stdin,
                    flush=True,
                )
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            if answer:
                outcome = Outcome(**json.loads(answer))
            else:
                process.kill()
                outcome = Outcome(family, seed, "defect", "took its parent with it", 0.0, 0.0)
            if outcome.end == "defect":
                target = self.keep / f"{family.replace(' ', '-')}-{seed}"
                shutil.copytree(folder, target, dirs_exist_ok=True, symlinks=True)
                (target / "outcome.txt").write_text(f"{outcome.text}\n")
        return outcome

    def close(self) -> None:
        """End the parent process."""
        if self._loaded is not None:
            self._loaded.kill()
            self._loaded.communicate()  # closes the pipes, too


@contextmanager
def pool(keep: Path) -> Iterator[Pool]:
    """Yield a pool that is closed when the block ends; it keeps the inputs of defects in a folder."""
    keep.mkdir(parents=True, exist_ok=True)
    made = Pool(keep)
    try:
        made.start()
        yield made
    finally:
        made.close()
