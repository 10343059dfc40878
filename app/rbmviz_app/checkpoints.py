"""Training runs on the server's disk: one file per page, named by the unguessable token in its address.

Runs are written once a minute and when their page has closed. A link finds them in the server's memory or in
the file, and continues a copy under its own token, so that nobody overwrites another visitor's runs. Nothing
lists the files; above the size limit, the oldest files are deleted.
"""

import asyncio
import contextlib
import logging
import os
import re
import secrets
import stat
import threading
import weakref
from collections.abc import Mapping, MutableMapping
from pathlib import Path

import anyio
import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.array_files import Damaged, read_file
from rbmviz.errors import OutputFailure
from rbmviz.output import reason, write_whole
from rbmviz.paths import cache_dir
from rbmviz.session import Comparison, TrainingSetup
from rbmviz.session.training_file import TrainingFile, is_upload, read_training_file, write_trainings
from rbmviz_app import messages, session, uploads
from rbmviz_app.session import LIVE_TRAININGS, TOKEN, TRAINED
from rbmviz_app.shared import data

TOKEN_PART = "kept"
"""Name of the token's parameter in the address."""

FOLDER_VARIABLE = "RBMVIZ_KEPT_DIR"
"""Environment variable with the folder of the files."""

TOTAL_BYTES = 10**9
"""Maximum size of all files together."""

MAX_PAGE_BYTES = TOTAL_BYTES // 10
"""Maximum size of a file."""

SECONDS_BETWEEN_WRITES = 60.0

TOKEN_PATTERN = re.compile(r"[0-9a-f]{24}")
"""96 random bits."""

OURS = re.compile(rf"{TOKEN_PATTERN.pattern}|\.{TOKEN_PATTERN.pattern}\.[0-9a-f]{{8}}")
"""Names of the files, and of the remains of interrupted writes."""

CHOICES = {
    **{"sample": "model", "chain": "land", "tune": "tune_models"},
    **{"coupling": "coupling_model", "weights": "weights_model"},
}
"""The setting on each page that chooses a model (on Tune, several), possibly from the Train page."""

TRAININGS_DELETED = (
    "What was trained under this link is not on this server, or no longer: beyond "
    f"{TOTAL_BYTES / 1e6:,.0f} MB the oldest trainings go. The page opens with what else the link names; "
    "data and models of your own have to be given again."
)

log = logging.getLogger(__name__)


# Files


def path_of(token: str) -> Path:
    """Return the path of this token's file; BadInput if it is not a token."""
    if TOKEN_PATTERN.fullmatch(token) is None:  # only then is it safe in a path
        raise BadInput(TRAININGS_DELETED)
    folder = os.environ.get(FOLDER_VARIABLE)
    return (Path(folder) if folder else cache_dir() / "kept") / token


def put(token: str, content: bytes) -> None:
    """Write a file atomically, deleting the oldest files to make room.

    Raises BadInput if the file is too large, and OutputFailure if the system refuses it, because the disk is
    full or the folder belongs to another user.
    """
    if len(content) > MAX_PAGE_BYTES:
        raise BadInput(
            f"They take {len(content) / 1e6:,.0f} MB, and the server writes at most "
            f"{MAX_PAGE_BYTES / 1e6:,.0f} MB for a page: download a checkpoint of each."
        )
    path = path_of(token)
    with _WRITING:
        _make_folder(path.parent)
        _make_room(path, len(content))
        write_whole(path, content)


def get(token: str) -> bytes:
    """Return the untrusted content of a file; BadInput if it does not exist."""
    try:
        return read_file(path_of(token), "The file of trainings")
    except Damaged:
        raise BadInput(TRAININGS_DELETED) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(folder)
        ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        if not stat.S_ISDIR(status.st_mode) or not ours:
            raise OutputFailure(f"'{folder}' is not a folder of the server's own: set {FOLDER_VARIABLE}.")
        if stat.S_IMODE(status.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise OutputFailure(f"'{folder}' cannot be written: {reason(error)}.") from error


def _make_room(path: Path, needed: int) -> None:
    """Delete the oldest files of the folder until the given number of bytes fits at ``path``."""
    files = []
    for entry in os.scandir(path.parent):
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            # Touch nothing else: the folder may have been in use before.
            if OURS.fullmatch(entry.name) and stat.S_ISREG(status.st_mode) and entry.name != path.name:
                files.append((status.st_mtime_ns, status.st_size, entry.path))
    total = needed + sum(size for _, size, _ in files)
    for _, size, oldest in sorted(files):
        if total <= TOTAL_BYTES:
            break
        Path(oldest).unlink(missing_ok=True)
        total -= size


_WRITING = threading.Lock()
"""Held while a file is written; otherwise two writers could claim the same room."""


# Training runs


class LiveTrainings:
    """One session's training runs, under the token in its address, and the models sent to other pages."""

    def __init__(self, comparison: Comparison[TrainingSetup], models: Mapping[str, Model]) -> None:
        self.token = secrets.token_hex(12)
        self.failure = ""
        self._comparison = weakref.ref(comparison)  # the session holds this object
        self._models = models
        self._written: object = None
        self._lock = threading.Lock()

    def write(self, opened: bytes | None = None) -> None:
        """Write the training runs to the server's disk, unless the file is up to date.

        opened : the file that they resume from, written in their place: restoring their states takes a while
        """
        with self._lock:
            try:
                state = self._state()
                if state == self._written and path_of(self.token).exists():
                    return
                content = opened or self.content()
                if content is not None:
                    put(self.token, content)
                    self._written = state
                self.failure = ""
            except (BadInput, OutputFailure) as error:
                self.failure = str(error)
                log.warning("trainings were not written: %s", error)
            except Exception:  # freeing memory must not fail
                self.failure = "The server has made a mistake."
                log.exception("trainings were not written")

    def content(self) -> bytes | None:
        """Return the current training runs as a file; None if they are at rest: they were written before."""
        comparison = self._comparison()
        if comparison is None or _at_rest(comparison):
            return None
        content = write_trainings(comparison, dict(self._models))
        return None if _at_rest(comparison) else content  # at rest by now: some runs have no state

    def _state(self) -> object:
        """Return a value that changes with every update, knob and model."""
        comparison = self._comparison()
        panels = comparison.peek() if comparison else []
        runs = [(key, snapshot.run, snapshot.n, snapshot.algorithm) for key, snapshot in panels]
        return runs, list(self._models)


def _at_rest(comparison: Comparison[TrainingSetup]) -> bool:
    return any(panel.worker.at_rest for panel in comparison.panels)


@st.cache_resource(show_spinner=False)
def live_trainings() -> MutableMapping[str, LiveTrainings]:
    """Return the training runs of all open sessions by token."""
    return weakref.WeakValueDictionary()


def write_all() -> None:
    """Write the training runs of all sessions."""
    for live in list(live_trainings().values()):
        live.write()


async def write_each_minute() -> None:
    """Write the training runs of all sessions periodically."""
    while True:
        await asyncio.sleep(SECONDS_BETWEEN_WRITES)
        await anyio.to_thread.run_sync(write_all)


# Pages


def tokens(page: str) -> list[str]:
    """Return the token for the address of the Train page, or of a page that shows a trained model."""
    token = TOKEN.value
    chosen = session.ALL_SETTINGS[CHOICES[page]].texts() if page in CHOICES else []
    return [token] if token and (page == "train" or TRAINED.value.keys() & set(chosen)) else []


def open_link(page: str, tokens: list[str]) -> None:
    """Open the models and data of the training runs in a new session's link; warn if this fails.

    page : page that the link opens; tokens : tokens in the address (the first one counts)
    """
    try:
        for token in tokens[:1]:
            file = read_training_file(_content(token))
            for title, model in file.models.items():
                uploads.send_model(title, model)
            if file.dataset is not None:
                uploads.put_in_place(uploads.TRAINING_DATA, file.dataset.name, file.dataset)
            if page != "train":
                _set_train_page(file)
            TOKEN.set(token)
    except BadInput as error:
        session.add_link_warning(error)


def _set_train_page(file: TrainingFile) -> None:
    """Give the Train page, which is not open yet, the settings of a file of training runs."""
    settings = {"hidden": file.setup["n_hidden"], "train_seed": file.setup["seed"]}
    settings["replicates"] = file.setup["replicates"]
    if file.dataset is None:
        settings["train_data"] = data(file.setup["dataset"]).name  # BadInput if it is not on this machine
    session.show(settings)


def _content(token: str) -> bytes:
    live = live_trainings().get(token)
    return (live.content() if live is not None else None) or get(token)


def open_trainings(comparison: Comparison[TrainingSetup]) -> bool:
    """Add the training runs of the link to a new comparison; return whether there were any.

    From now on, this session's training runs are written under their own token.
    """
    live = LiveTrainings(comparison, TRAINED.ensure())
    try:
        if TOKEN.value:
            content = _content(TOKEN.value)
            for plan, changes, n, kept in read_training_file(content).panels(comparison.setup):
                panel = comparison.add(changes[-1].algorithm, plan, catch_up=False)  # at its own step
                if kept is not None:
                    panel.worker.continue_from(n, changes, kept)
            live.write(content)
    except BadInput as error:
        session.add_link_warning(error, "train")
    live_trainings()[live.token] = live
    comparison.before_rest = live.write
    LIVE_TRAININGS.set(live)
    TOKEN.set(live.token)
    return bool(comparison.panels)


def draw(comparison: Comparison[TrainingSetup]) -> None:
    """Draw a note on the server's file of these training runs, or an error if it could not be written."""
    live = LIVE_TRAININGS.value
    if live is not None and live.failure:
        messages.error(f"The trainings could not be written: a reload would lose them. {live.failure}")
        return
    with_data = " with the data of your file" if is_upload(comparison.setup.dataset) else ""
    st.caption(
        f"Each minute the server writes these trainings{with_data} to its disk; this page's address opens "
        f"them again, for everybody who has it. Beyond {TOTAL_BYTES / 1e6:,.0f} MB the oldest go."
    )
