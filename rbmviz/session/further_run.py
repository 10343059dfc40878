"""Further seeds of a recipe for one visitor, computed in a separate process.

Unlike cells of sweeps, a recipe's jobs cannot be cut into slices that leave room for live pages. So the
command ``rbmviz reproduce RECIPE --more`` runs alongside the server, with one thread at a sweep's priority.
"""

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, Literal

from rbmviz.errors import BadInput
from rbmviz.session.limits import BASE_MB, VisitorUsage
from rbmviz.session.scheduler import LOW_PRIORITY

MEMORY_LABEL = "further seeds"
"""Label under which a visitor is charged for the memory of these processes, which run one at a time."""

log = logging.getLogger(__name__)

_TURN = threading.Lock()
"""Held while a process runs, so that only one runs at a time."""


class FurtherRun:
    """Further seeds of a recipe. Any thread may read its attributes.

    recipe, minutes : name of the recipe, and running time in minutes
    owner : secret of the visitor who started the run
    visitor : the visitor charged for the memory, as much as a server without visitors needs
    status, error : as in ``Sweep``
    outcome : JSON object that the command prints; None before it has ended, or if no seed was completed
    figure : SVG with the seeds, or empty
    """

    dated = True  # so that it counts as a sweep of the server

    _running: ClassVar["FurtherRun | None"] = None
    """The instance whose process is running."""

    def __init__(self, recipe: str, minutes: int, owner: str, visitor: VisitorUsage) -> None:
        self.recipe, self.minutes, self._owner, self._visitor = recipe, minutes, owner, visitor
        self.status: Literal["queued", "running", "finished", "stopped", "failed"] = "queued"
        self.error = ""
        self.outcome: dict[str, Any] | None = None
        self.figure = b""
        self._began_at = 0.0
        self._process: subprocess.Popen[str] | None = None
        self._starting = threading.Lock()  # held while the process starts, or is stopped before that

    @property
    def active(self) -> bool:
        """Whether the run is waiting or running."""
        return self.status in ("queued", "running")

    @property
    def minutes_passed(self) -> float:
        """Minutes since the process started; 0 before that."""
        return (time.monotonic() - self._began_at) / 60 if self._began_at else 0.0

    def belongs_to(self, owner: str) -> bool:
        """Return whether this is the secret of the run's visitor."""
        return self._owner == owner

    def start(self) -> None:
        """Run once no other process is running, and return at once; BadInput if memory is short."""
        self._visitor.keep(MEMORY_LABEL, BASE_MB * 10**6)
        threading.Thread(target=self._run, name="rbmviz-further", daemon=True).start()

    def stop(self, at_once: bool = False) -> None:
        """End the run after its current jobs, with an outcome, or at once; complete seeds are kept."""
        with self._starting:
            if self.status == "queued":
                self._end("stopped")
        if self._process is not None:
            self._process.kill() if at_once else self._process.terminate()

    def _end(self, status: Literal["finished", "stopped", "failed"], error: str = "") -> None:
        self.status, self.error = status, error
        other = FurtherRun._running
        if other in (None, self) or other._visitor is not self._visitor:
            self._visitor.keep(MEMORY_LABEL, 0)

    def _run(self) -> None:
        with _TURN:
            if self.status == "queued":
                try:
                    self._compute()
                except BadInput as error:
                    self._end("failed", str(error))
                except Exception:
                    log.exception("further seeds have failed")
                    self._end("failed", "The server has made a mistake: its log says which.")
                finally:
                    FurtherRun._running = None

    def _compute(self) -> None:
        command = [sys.executable, "-P", "-m", "rbmviz", "reproduce", self.recipe, "--json", "--workers", "1"]
        self._visitor.keep(MEMORY_LABEL, BASE_MB * 10**6)  # the visitor's previous run has freed it
        with self._starting:
            if self.status != "queued":  # it was stopped meanwhile
                return self._end("stopped")
            FurtherRun._running, self.status, self._began_at = self, "running", time.monotonic()
            self._process = process = subprocess.Popen(
                [*command, "--more", str(self.minutes)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                env=os.environ | {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, process.pid, LOW_PRIORITY)
        content, told = process.communicate()
        if content:
            self.outcome = outcome = json.loads(content)
            path = Path(outcome["out"]) / f"{self.recipe}-{outcome['size']}" / "figure.svg"
            self.figure = path.read_bytes() if path.is_file() else b""
        if process.returncode in (1, 2):
            self._end("failed", told.strip().rpartition("\n")[2])
        else:
            self._end("finished" if process.returncode == 0 else "stopped")
