"""The sweeps of a server: each is a folder with an owner and, while it runs, a child process.

A sweep belongs to the server, not to the page that started it: it goes on when the page is closed. One runs
at a time, at low priority. The child (``python -m rbmviz_app.jobs DIR``) computes what is missing in its
folder until it ends, or its standard input is closed: by a pause, or because the server has ended. Pages read
the folder's file while it is written. A sweep of a visitor's own models or data is private: its folder has
them, only that visitor's session lists it, and it goes with the session.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.files.arrays import printable
from rbmviz.files.output import write_whole, writing
from rbmviz.pages.tune import MAX_SAMPLES_OF_CELL
from rbmviz.paths import cache_dir
from rbmviz.rbm import Model
from rbmviz.rbm.files import load_model_bytes, model_bytes
from rbmviz.session.limits import MAX_CELLS_ON_SERVER, limits, variable_of
from rbmviz.session.pools import LOW_PRIORITY, Pool
from rbmviz.sweeps import Store, SweepPlan, cells, run
from rbmviz.sweeps.scores import SweepScores
from rbmviz_app.outside import dataset_bytes, dataset_from

SWEEPS_DIR = "RBMVIZ_SWEEPS_DIR"
"""Environment variable for the parent folder of all sweep folders; default ``sweeps`` in the cache folder."""

FOLDER_NAME = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
"""Pattern of the names of this server's sweeps; nothing else in a link becomes part of a path."""

JOB_FILE = ".job.json"
"""File in a sweep's folder with its title and its owner."""

MAX_SWEEP_TITLE = 100

MAX_SECONDS_OF_CELL = 600

Own = Mapping[str, Model | Dataset]
"""Models and data of one visitor, by name."""

Status = Literal["planned", "queued", "running", "paused", "finished", "failed"]


def _hashed(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()


class Job:
    """One sweep of the server.

    name : name in links, and name of the folder
    own : the visitor's own models and data in it; a sweep with any is private
    status : as ``Status``; "failed": it could not start
    error : one sentence that says why it has failed or is paused, or that runs have failed; or ""
    """

    def __init__(self, name: str, title: str, plan: SweepPlan, owner: str, folder: Path, own: Own) -> None:
        self.name, self.title, self.plan, self.folder, self.own = name, title, plan, folder, own
        self._owner = owner
        self.status: Status = "queued"
        self.error = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._begun, self._done_before = 0.0, 0

    @property
    def active(self) -> bool:
        """Whether the sweep is queued or running."""
        return self.status in ("queued", "running")

    @property
    def done(self) -> int:
        """Number of runs whose results are in the file."""
        return Store(self.folder).count()

    def seconds_left(self, done: int) -> float | None:
        """Return the estimated seconds left; None unless it is running and a run has ended since it began."""
        gained = done - self._done_before
        if self.status != "running" or gained <= 0:
            return None
        return (time.monotonic() - self._begun) * (self.plan.size - done) / gained

    def belongs_to(self, owner: str) -> bool:
        """Return whether this is the secret of the visitor who started the sweep."""
        return bool(self._owner) and secrets.compare_digest(self._owner, _hashed(owner))

    def _interrupt(self) -> None:
        """Tell the child to end after the slices that it is computing."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()


class Jobs:
    """The sweeps in a folder, which is created with mode 0700 when the first one starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}  # in order of their start
        self._private: weakref.WeakValueDictionary[str, Job] = weakref.WeakValueDictionary()
        self._one, self._closed = Pool("sweeps", 1), False
        with contextlib.suppress(OSError):
            for path in sorted(folder.iterdir()):
                if FOLDER_NAME.fullmatch(path.name):
                    self._find(path)

    def _find(self, path: Path) -> None:
        """List a sweep of an earlier server; what is not one is left alone."""
        with contextlib.suppress(BadInput, OSError, ValueError, KeyError, TypeError):
            note = json.loads((path / JOB_FILE).read_bytes())
            if note["own"]:  # its visitor has gone with the server
                shutil.rmtree(path, ignore_errors=True)
                return
            self._add(path.name, str(note["title"]), str(note["owner"]), path)

    def _add(self, name: str, title: str, owner: str, folder: Path) -> Job:
        plan = Store(folder).plan()
        job = Job(name, printable(title)[:MAX_SWEEP_TITLE], plan, owner, folder, {})
        job.status = "finished" if SweepScores(plan, Store(folder).read()).complete() else "paused"
        self._jobs[name] = job
        return job

    def add_results(self, folder: Path) -> Job:
        """List a folder of results that were made elsewhere; links have a hash of its path, not the path."""
        name = f"results-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
        with self._lock:
            return self._jobs.get(name) or self._add(name, folder.name, "", folder)

    def list(self) -> list[Job]:
        """Return all sweeps that are not private, newest first."""
        with self._lock:
            return list(self._jobs.values())[::-1]

    def get(self, name: str) -> Job:
        """Return the sweep with this name that is not private; BadInput if there is none."""
        with self._lock:
            job = self._jobs.get(name)
        if job is None:
            raise BadInput(
                "There is no such sweep on this server: choose one from the list. A sweep of your own models "
                "or data goes when you remove them, or reload or close the page."
            )
        return job

    def start(self, plan: SweepPlan, title: str, owner: str, own: Own | None = None) -> Job:
        """Put a sweep at the end of the queue.

        owner : the visitor's secret; only who has it gets the sweep's commands
        own : the visitor's own models and data in the plan. If there are any, the sweep is private, and lasts
            as long as the caller holds it.

        Raises BadInput if the sweep exceeds a limit of the server; OutputFailure if its folder cannot be
        written.
        """
        check_size(plan)
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        folder, own = self.folder / name, own or {}
        job = Job(name, printable(title)[:MAX_SWEEP_TITLE], plan, _hashed(owner), folder, own)
        with self._lock:
            self._check_room(owner)
            with writing(self.folder):
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder.mkdir(mode=0o700)
            kinds = {name: "model" if isinstance(each, Model) else "data" for name, each in own.items()}
            note = {"title": job.title, "owner": job._owner, "own": kinds}
            write_whole(folder / JOB_FILE, json.dumps(note).encode())
            for i, each in enumerate(own.values()):
                content = model_bytes(each) if isinstance(each, Model) else dataset_bytes(each)
                write_whole(folder / f".own{i}", content)
            Store(folder).prepare(plan, "rbmviz app")
            (self._private if own else self._jobs)[name] = job
        if own:
            weakref.finalize(job, shutil.rmtree, folder, ignore_errors=True)
        self._one.submit(functools.partial(self._run, job))
        return job

    def _check_room(self, owner: str) -> None:
        most, every = limits(), [*self._jobs.values(), *self._private.values()]
        own = [job for job in every if job.belongs_to(owner)]
        if sum(job.status in ("queued", "running", "paused") for job in own) >= most.sweeps_of_visitor:
            raise BadInput(
                f"You have {most.sweeps_of_visitor} sweeps that have not ended, a quarter of what the server "
                f"keeps: delete one, or start the server with a larger {variable_of('sweeps')}."
            )
        if sum(FOLDER_NAME.fullmatch(job.name) is not None for job in every) >= most.sweeps:
            raise BadInput(
                f"The server keeps {most.sweeps} sweeps, and has no room for another one: delete one that "
                f"has ended, or start the server with a larger {variable_of('sweeps')}."
            )

    def pause(self, job: Job) -> None:
        """Pause a sweep: the runs that it is computing are lost, complete ones are kept."""
        with self._lock:
            if job.active:
                job.status = "paused"
                job._interrupt()

    def resume(self, job: Job) -> None:
        """Queue a sweep again; complete runs are not repeated, failed ones are."""
        with self._lock:
            if not job.active:
                job.status, job.error = "queued", ""
                self._one.submit(functools.partial(self._run, job))

    def delete(self, job: Job) -> None:
        """End a sweep, and delete it with its results unless they were made elsewhere."""
        with self._lock:
            job.status = "paused"
            self._jobs.pop(job.name, None)
            self._private.pop(job.name, None)
            process = job._process
        if process is not None:
            process.kill()
            process.wait()
        if FOLDER_NAME.fullmatch(job.name):
            shutil.rmtree(job.folder, ignore_errors=True)

    def close(self) -> None:
        """Let the running sweep end; the next server can resume it on command."""
        with self._lock:
            self._closed = True
            for job in (*self._jobs.values(), *self._private.values()):
                job._interrupt()

    def _run(self, job: Job) -> None:
        """Run a sweep in its turn, unless it was paused meanwhile."""
        with self._lock:
            if self._closed or job.status != "queued":
                return
            job._begun, job._done_before = time.monotonic(), job.done
            try:
                job._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(job.folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
                job.status = "running"
            except OSError as error:
                job.status, job.error = "failed", f"No process can be started: {error.strerror}."
                return
        self._wait(job, job._process)

    def _wait(self, job: Job, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        said = process.stderr.read().decode(errors="replace").strip().splitlines()
        status = process.wait()
        job._interrupt()  # closes the pipe
        process.stderr.close()
        with self._lock:
            job._process = None
            if job.status != "running":  # paused, or resumed already
                return
            if status not in (0, 2):
                job.status = "paused"
                job.error = "" if self._closed else f"Its process has ended ({status}): resume it."
                return
            failed = Store(job.folder).failures()
            job.error = f"{len(failed)} of {job.plan.size} runs have failed. {failed[0]}" if failed else ""
            job.status = "finished"
            if status == 2:
                job.status, job.error = "failed", printable(said[-1] if said else "It could not start.")[:500]


def check_size(plan: SweepPlan) -> None:
    """Raise BadInput if a plan has too many cells for a server, or cells that take too long."""
    if plan.size > MAX_CELLS_ON_SERVER:
        raise BadInput(
            f"This sweep has {plan.size:,} runs and the server allows {MAX_CELLS_ON_SERVER:,}: take fewer "
            "values or seeds."
        )
    longest = MAX_SECONDS_OF_CELL if plan.budget.unit == "seconds" else MAX_SAMPLES_OF_CELL
    if plan.budget.amount > longest:
        raise BadInput(
            f"A run of {plan.budget.amount:,.10g} {plan.budget.unit} is too long for a server: give "
            f"{longest:,} at most."
        )


def sweeps_folder() -> Path:
    """Return the parent folder of all sweep folders, as set in the environment."""
    folder = os.environ.get(SWEEPS_DIR)
    return Path(folder) if folder else cache_dir() / "sweeps"


def _read_own(folder: Path) -> dict[str, Model | Dataset]:
    """Return the models and data that lie beside a visitor's sweep."""
    own: dict[str, Model | Dataset] = {}
    for i, (name, kind) in enumerate(json.loads((folder / JOB_FILE).read_bytes())["own"].items()):
        content = (folder / f".own{i}").read_bytes()
        own[name] = load_model_bytes(content, ".safetensors") if kind == "model" else dataset_from(content)
    return own


def main(folder: str) -> int:
    """Compute what is missing in a sweep's folder, until standard input is closed; return an exit status."""
    stop = threading.Event()

    def wait_for_the_end() -> None:
        os.read(0, 1)  # nothing is ever sent
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(LOW_PRIORITY)
    store = Store(folder)
    try:
        planned = cells(plan := store.plan(), registered=True, own=_read_own(store.folder))
        for other in store.folder.parent.iterdir():  # what another sweep has computed is not computed again
            with contextlib.suppress(BadInput, OutputFailure):
                if other != store.folder and FOLDER_NAME.fullmatch(other.name):
                    store.take_over(Store(other), planned)
        run(planned, store, stop=stop, race=plan.race)
        store.close()
    except (BadInput, OutputFailure) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 3 if stop.is_set() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
