"""The door for files of strangers: a child process reads them, with limits of memory, time and size.

The child reads with the same functions as Python and the command line, and answers with a .safetensors file,
or with one sentence. One child works at a time. Memory is limited on Linux only; macOS and Windows have no
such limit, and Windows none of the processor time: there, the child ends after ``SECONDS``.
"""

import contextlib
import dataclasses
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import load, save

from rbmviz.datasets import Dataset, load_bytes
from rbmviz.errors import BadInput
from rbmviz.files.arrays import printable
from rbmviz.files.budget import memory_budget
from rbmviz.rbm import Model
from rbmviz.rbm.files import load_model_bytes, model_bytes

SECONDS = 30

MOST_BACK = 200_000_000
"""Most bytes of an answer, which the server loads."""

WAIT = 0.2
"""Seconds between two calls of ``go_on``."""

LIBRARIES = {".csv": "pandas", ".zip": "PIL.Image", ".txt": "snowballstemmer", ".h5": "h5py", ".hdf5": "h5py"}
"""What a child imports before its memory is limited."""

_one_child = threading.Lock()


def read_model(content: bytes, name: str, **limits: Any) -> Model:
    """Return the model in a stranger's file, as ``load_model``; ``limits`` are those of ``read_data``."""
    return load_model_bytes(_read("model", content, name, {}, **limits), f"{name}.safetensors")


def read_data(content: bytes, name: str, options: dict[str, Any], **limits: Any) -> Dataset:
    """Return the data set in a stranger's file, as ``load_dataset``.

    content, name : the file; the suffix of the name gives its format
    options : options of the reader, as ``{"binarise": "0.3"}``
    room : most bytes of memory for the reader (default, and at most: ``memory_budget()``)
    go_on : called while the caller waits; an exception from it ends the reading

    Raises BadInput if the content is not valid, or a limit is reached.
    """
    return dataset_from(_read("data", content, name, options, **limits))


def dataset_bytes(dataset: Dataset) -> bytes:
    """Return a data set as bytes for another process of this server."""
    fields = {field.name: getattr(dataset, field.name) for field in dataclasses.fields(dataset)}
    arrays = {key: value for key, value in fields.items() if isinstance(value, np.ndarray)}
    words = json.dumps({key: value for key, value in fields.items() if key not in arrays}).encode()
    return save(arrays | {"json": np.frombuffer(words, np.uint8)})


def dataset_from(content: bytes) -> Dataset:
    """Return the data set in ``dataset_bytes``."""
    arrays = load(content)
    fields = json.loads(arrays.pop("json").tobytes())
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Dataset(**(fields | lists | arrays))


def _read(
    what: str,
    content: bytes,
    name: str,
    options: dict[str, Any],
    room: int | None = None,
    go_on: Callable[[], object] = lambda: None,
) -> bytes:
    room = min(memory_budget() if room is None else room, memory_budget())
    while not _one_child.acquire(timeout=WAIT):
        go_on()
    try:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
            given.write(content)
            given.seek(0)
            status = _ended(
                [sys.executable, "-P", "-m", __name__, what, name, str(room), json.dumps(options)],
                given,
                answer,
                go_on,
            )
            size = answer.seek(0, os.SEEK_END)
            answer.seek(0)
            if status == 0 and size <= min(MOST_BACK, room // 2):  # loading it takes twice its size
                return answer.read()
            if status == 2:
                raise BadInput(printable(answer.read(5000).decode(errors="replace"))[:1000])
    finally:
        _one_child.release()
    if status is None:
        raise BadInput(f"'{printable(name)}' takes more than {SECONDS} seconds to read: give a smaller file.")
    raise BadInput(
        f"'{printable(name)}' needs more than the {room / 1e9:,.2f} GB of memory that the server has to "
        "read it: give a smaller file, or try again later."
    )


def _ended(command: list[str], given: BinaryIO, answer: BinaryIO, go_on: Callable[[], object]) -> int | None:
    """Run a child; return its exit status, or None if it was ended after its time."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}
    child = subprocess.Popen(
        command, stdin=given, stdout=answer, stderr=subprocess.DEVNULL, env=os.environ | one_thread
    )
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(WAIT)
            go_on()
        return None
    finally:
        child.kill()
        child.wait()


def _limit(room: int) -> None:
    """Limit this process, to ``room`` bytes beyond what it has now."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BACK + 1, MOST_BACK + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + room
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _answer(what: str, name: str, options: dict[str, Any]) -> bytes:
    content = sys.stdin.buffer.read()
    if what == "model":
        return model_bytes(load_model_bytes(content, name))
    return dataset_bytes(load_bytes(content, name, **options))


def _main(what: str, name: str, room: str, options: str) -> None:
    """Read the file on standard input; write the answer, or one sentence and exit with status 2."""
    with contextlib.suppress(ImportError):
        importlib.import_module(LIBRARIES.get(Path(name).suffix.lower(), "json"))
    _limit(int(room))
    try:
        answer = _answer(what, name, json.loads(options))
    except BadInput as refused:
        sys.stdout.buffer.write(str(refused).encode(errors="replace"))
        sys.exit(2)
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    _main(*sys.argv[1:])
