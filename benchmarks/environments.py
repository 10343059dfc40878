"""The environments of the peers: a folder of virtual environments, one a library, and a process in each.

The folder is ``RBMVIZ_PEERS``, or "peers" in the cache folder. An environment that is not there is made with
pip; to time another version or build of a library, make the environment yourself, by the same name.
"""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.timing import Contestant, Seconds
from rbmviz.paths import cache_dir

PACKAGES = {
    "numpy": ("numpy",),
    "scikit-learn": ("scikit-learn", "numpy"),
    "torch": ("torch", "numpy"),
    "rbms": ("rbms", "torch", "numpy"),
    "jax": ("jax", "jaxlib", "numpy"),
    "thrml": ("thrml", "jax", "jaxlib", "numpy"),
    "optuna": ("optuna",),
}
"""What is installed in each environment."""

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
}
"""Environment variables by which all libraries compute on one thread of the processor."""


class Absent(Exception):
    """The reason why a peer has no time, for the table."""


def folder() -> Path:
    """Return the folder of the environments."""
    return Path(os.environ.get("RBMVIZ_PEERS") or cache_dir() / "peers")


def python_of(name: str) -> Path:
    """Return the Python of an environment, which is made if it is not there.

    Raises
    ------
    Absent
        If it cannot be made: the last line of what pip, or Python, says.
    """
    environment = folder() / name
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        install = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[name]]
        for command in [[sys.executable, "-m", "venv", str(environment)], install]:
            done = subprocess.run(command, capture_output=True, encoding="utf-8")
            if done.returncode:
                shutil.rmtree(environment, ignore_errors=True)
                raise Absent(f"cannot be installed: {_last_line(done.stderr or done.stdout)}")
    return python


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


class Library:
    """A process that runs functions of ``peers`` in an environment, started when it is first needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._numbers = itertools.count()
        self._folder = tempfile.TemporaryDirectory(prefix="rbmviz-peer-")
        self._errors = Path(self._folder.name, "errors.txt")

    @cached_property
    def _process(self) -> "subprocess.Popen[str]":
        command = [str(python_of(self.name)), peers.__file__]
        environment = {**os.environ, **ONE_THREAD}
        pipe = subprocess.PIPE
        with self._errors.open("w") as errors:
            return subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=errors, encoding="utf-8", env=environment
            )

    @property
    def started(self) -> bool:
        """Whether the process has been needed."""
        return "_process" in vars(self)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Return the reply to a request, see ``peers``; raise Absent with its error."""
        line = json.dumps({"do": do, **request})
        try:
            print(line, file=self._process.stdin, flush=True)
            answer = next(iter(self._process.stdout or ()), "")
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Absent(f"ended: {_last_line(self._errors.read_text('utf-8'))}")
        reply: dict[str, Any] = json.loads(answer)
        if "error" in reply:
            raise Absent(reply["error"])
        return reply

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages of the environment."""
        return self.ask("versions", packages=PACKAGES[self.name])

    def make(self, function: str, work: float = 1.0, /, **arguments: Any) -> "Elsewhere":
        """Return a function of ``peers`` with arguments: numbers, text, arrays, and models with W, b, c."""
        values: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value
            elif hasattr(value, "W"):
                arrays |= {f"{name}.{part}": getattr(value, part) for part in "Wbc"}
            else:
                values[name] = value
        number = str(next(self._numbers))
        path = str(Path(self._folder.name, f"{number}.npz")) if arrays else ""
        if arrays:
            np.savez(path, **arrays)
        self.ask("make", name=number, function=function, values=values, arrays=path)
        return Elsewhere(partial(self.run, number, 1), work, library=self, number=number)

    def forget(self) -> None:
        """Free what was made."""
        self.ask("forget")

    def close(self) -> None:
        """End the process."""
        if self.started:
            with contextlib.suppress(BrokenPipeError):  # it has ended already
                self._process.communicate()
            del self._process
        self._folder.cleanup()

    def run(self, number: str, calls: int, result: str = "") -> Seconds:
        """Call a function; its last result is stored in a file, if that has a name."""
        reply = self.ask("run", name=number, calls=calls, result=result)
        return Seconds(reply["processor"], reply["wall"])

    def result(self, number: str) -> tuple[Seconds, list[np.ndarray]]:
        """Call a function once, and return its seconds and its result as arrays."""
        path = str(Path(self._folder.name, "result.npz"))
        seconds = self.run(number, 1, path)
        with np.load(path) as file:
            return seconds, [file[name] for name in file.files]


@dataclass(frozen=True, kw_only=True)
class Elsewhere(Contestant):
    """A function in another process."""

    library: Library
    number: str

    def measure(self, calls: int) -> Seconds:
        """Return what the other process measures; that it is asked takes no part."""
        return self.library.run(self.number, calls)

    def result(self) -> tuple[Seconds, list[np.ndarray]]:
        """Call the function once; see ``Library.result``."""
        return self.library.result(self.number)


class Peers:
    """All peers of a table; a context manager, which ends their processes."""

    def __init__(self, names: Mapping[str, tuple[str, ...]] = PACKAGES) -> None:
        self.libraries = {name: Library(name) for name in names}

    def __enter__(self) -> "Peers":
        return self

    def __exit__(self, *_: object) -> None:
        for library in self.libraries.values():
            library.close()

    def contestants(
        self, functions: Mapping[str, str], work: Mapping[str, float] | None = None, **arguments: Any
    ) -> dict[str, Contestant | str]:
        """Return functions of ``peers`` by environment as contestants, or the reason why one takes no part.

        work : units of work per call of some of them (default 1)
        """
        found: dict[str, Contestant | str] = {}
        for name, function in functions.items():
            try:
                one = self.libraries[name].make(function, (work or {}).get(name, 1.0), **arguments)
                one.measure(1)  # compiles, and shows what goes wrong
                found[name] = one
            except Absent as reason:
                found[name] = str(reason)
        return found

    def forget(self) -> None:
        """Free what was made in all environments."""
        for library in self.libraries.values():
            if library.started:
                with contextlib.suppress(Absent):  # its rows have said why
                    library.forget()

    def versions(self) -> dict[str, dict[str, str] | str]:
        """Return the versions in each environment that took part, or the reason why they are unknown."""
        found: dict[str, dict[str, str] | str] = {}
        for name, library in self.libraries.items():
            if library.started:
                try:
                    found[name] = library.versions()
                except Absent as reason:
                    found[name] = str(reason)
        return found
