"""The log of a live run from which it can be replayed: seed, start, knob changes by sample number."""

import dataclasses
import itertools
import weakref
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from rbmviz import checks, rng
from rbmviz.budget import check_memory
from rbmviz.errors import BadInput, shown
from rbmviz.knobs import Value, check_names, knobs_of, values_of
from rbmviz.rbm import Model
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler, Samples

MAX_HELD_SAMPLES = 100_000
"""Maximum number of newest samples of a run held for download, bit-packed: 98 bytes each at 784 units."""

HELD_SAMPLES_BYTES = 8_000_000
"""Bytes of held samples that the runs of one visitor share."""

MIN_HELD_SAMPLES = 1000
"""Minimum number of newest samples that are held, more than a page shows."""


MAX_LOGGED = 10_000
"""Maximum changes of knobs in a run log, about 3 MB: minutes of dragging without a pause."""


class Allowance:
    """Bytes for held samples, divided equally among all runs that exist.

    Parameters
    ----------
    n_bytes : int
        Bytes of all runs together (default HELD_SAMPLES_BYTES).
    """

    def __init__(self, n_bytes: int = HELD_SAMPLES_BYTES) -> None:
        self.n_bytes = n_bytes
        self._sharing: weakref.WeakSet[Recorder] = weakref.WeakSet()

    def join(self, recorder: "Recorder") -> None:
        """Count one more run, until its recorder is garbage-collected."""
        self._sharing.add(recorder)

    def samples(self, n_visible: int, runs: int | None = None) -> int:
        """Return how many samples each of ``runs`` runs may keep; None: of the runs that exist now."""
        share = self.n_bytes // max(len(self._sharing) if runs is None else runs, 1)
        return min(max(share // -(-n_visible // 8), MIN_HELD_SAMPLES), MAX_HELD_SAMPLES)


@dataclass(frozen=True, eq=False)
class RunLog:
    """The log of one run.

    Parameters
    ----------
    sampler : str
        Registered name.
    seed : int
    start : uint8 (n_visible,) or (n_chains, n_visible) or None
        First state of the chain, or of each; None means random bits of the seed.
    changes : tuple of (n, knobs)
        The knobs from sample number n on; the first n is 0.
    """

    sampler: str
    seed: int
    start: np.ndarray | None
    changes: tuple[tuple[int, dict[str, Value]], ...]

    def check(self) -> Sampler:
        """Return the sampler with its first knobs; BadInput if no run can have written this log.

        Raises
        ------
        BadInput
            If the sampler or a knob is unknown or out of range, the sample numbers do not begin at 0 and
            increase, or a knob changes that is not live.
        """
        if not isinstance(self.sampler, str):
            raise BadInput(f"The log names no sampler, but {shown(self.sampler)}.")
        cls = samplers[self.sampler]
        if not self.changes:
            raise BadInput("The log has no knobs: it must begin with those of sample 0.")
        begun, last = None, -1
        for change in self.changes:
            match change:
                case (n, dict(knobs)) if all(isinstance(name, str) for name in knobs):
                    check_names(cls, knobs)
                    made = cls(**knobs)
                case _:
                    raise BadInput(f"The log holds {shown(change)}: each change is a pair (n, knobs).")
            begun = begun or made
            fixed = [name for name, knob in knobs_of(cls).items() if not knob.live]
            if any(getattr(made, name) != getattr(begun, name) for name in fixed):
                raise BadInput(f"The log changes {' or '.join(fixed)} at sample {n}: no run can do so.")
            if checks.whole("The log: a change at n", n, last + 1) and last < 0:
                raise BadInput(f"The log begins at sample {n}: it must begin at 0.")
            last = n
        assert begun is not None
        return begun

    def as_json(self) -> dict[str, Any]:
        """Return the log as JSON values."""
        return {
            "sampler": self.sampler,
            "seed": self.seed,
            "start": None if self.start is None else self.start.tolist(),
            "changes": [{"n": n, "knobs": knobs} for n, knobs in self.changes],
        }


class Recorder:
    """Holds the log and the newest samples of one run, as many as its allowance permits.

    This log is saved with the samples, and makes them again from the model. The worker has the same changes
    in a ``rebuild.Log``, which frees the memory of the run. Not thread-safe: its owner serialises the calls.
    """

    def __init__(
        self, sampler: Sampler, seed: int, start: np.ndarray | None, n_visible: int, allowance: Allowance
    ) -> None:
        self.n = 0
        self._n_visible, self._allowance = n_visible, allowance
        allowance.join(self)
        self._sampler_name, self._seed, self._start = sampler.name, seed, start
        self._changes: list[tuple[int, dict[str, Value]]] = []  # after the first, only what has changed
        self._knobs: dict[str, Value] = {}
        self._complete = True
        # Zeros cost no memory before they are written.
        self._ring = np.zeros((allowance.samples(n_visible), -(-n_visible // 8)), np.uint8)
        self.log_knobs(sampler)

    @staticmethod
    def bytes(n_visible: int, shared: bool) -> int:
        """Return the bytes of held samples at most, beyond an allowance that is shared."""
        packed = -(-n_visible // 8)
        return MIN_HELD_SAMPLES * packed if shared else min(HELD_SAMPLES_BYTES, MAX_HELD_SAMPLES * packed)

    def log_knobs(self, sampler: Sampler) -> None:
        """Log the knobs that hold from the next sample on."""
        knobs = values_of(sampler)
        changed = {name: value for name, value in knobs.items() if self._knobs.get(name) != value}
        self._knobs = knobs
        if self._changes and self._changes[-1][0] == self.n:
            self._changes[-1][1].update(changed)
        elif changed and len(self._changes) < MAX_LOGGED:
            self._changes.append((self.n, changed))
        elif changed:
            self._complete = False

    def append(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (m, n_visible)."""
        allowed = self._allowance.samples(self._n_visible)
        if allowed != len(self._ring):
            held = self.newest_packed(allowed)
            self._ring = np.zeros((allowed, held.shape[1]), np.uint8)
            self._put(held)
        self.n += len(v)
        self._put(np.packbits(v[-allowed:], axis=1))

    def _put(self, newest: np.ndarray) -> None:
        at = (self.n - len(newest)) % len(self._ring)
        until_end = len(self._ring) - at
        self._ring[at : at + len(newest)] = newest[:until_end]
        self._ring[: len(newest[until_end:])] = newest[until_end:]

    def _samples(self, begin: int, end: int) -> np.ndarray:
        """Return a copy of the samples from begin to end, which are held."""
        at, n = begin % len(self._ring), end - begin
        return np.concatenate([self._ring[at : at + n], self._ring[: max(at + n - len(self._ring), 0)]])

    def run_log(self) -> RunLog:
        """Return the log so far.

        Raises
        ------
        BadInput
            If knobs have changed too often for a log.
        """
        if not self._complete:
            raise BadInput(
                f"Knobs of {self._sampler_name} have changed more than {MAX_LOGGED:,} times in this run: it "
                "has no complete log. Reset it to begin another one."
            )
        changes: list[tuple[int, dict[str, Value]]] = []
        for n, changed in self._changes:
            knobs = (changes[-1][1] if changes else {}) | changed
            if not changes or knobs != changes[-1][1]:
                changes.append((n, knobs))
        return RunLog(self._sampler_name, self._seed, self._start, tuple(changes))

    def newest_packed(self, m: int) -> np.ndarray:
        """Return the newest m samples (fewer if fewer are held), bits packed along the rows."""
        m = min(m, len(self._ring), self.n)
        return self._samples(self.n - m, self.n)

    @property
    def held_from(self) -> int:
        """Number (from 0) of the first sample held."""
        return self.n - min(len(self._ring), self.n)

    def packed_until(self, n: int, m: int) -> tuple[int, np.ndarray]:
        """Return n, or the nearest number of samples that is held, and the last m of so many, packed."""
        n = min(max(n, self.held_from), self.n)
        return n, self._samples(max(n - m, self.held_from), n)

    def held_packed(self) -> tuple[int, np.ndarray]:
        """Return the number of the first sample held, and all samples held, packed."""
        packed = self.newest_packed(len(self._ring))
        return self.n - len(packed), packed


def write_array(
    archive: zipfile.ZipFile, name: str, dtype: DTypeLike, shape: tuple[int, ...], blocks: Iterable[bytes]
) -> None:
    """Add an array to an .npz file block by block, in C order, so that it is never held whole."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
        np.lib.format.write_array_header_1_0(out, header)  # type: ignore[arg-type]
        for block in blocks:
            out.write(block)


def replay(log: RunLog, model: Model, n: int, chunk: int = 1000) -> Iterator[Samples]:
    """Make the first n samples of a recorded run again, bit for bit, in chunks of at most ``chunk``.

    Raises
    ------
    BadInput
        If no run can have left the log, see ``RunLog.check``, or it is of another model.
    """
    n, chunk = checks.whole("replay: n", n), checks.whole("replay: chunk", chunk, 1)
    changes = [*log.changes, (n, {})]
    sampler = log.check()
    check_memory("The recorded run", sampler.state_bytes(*model.rbm.W.shape), "replay one of fewer chains")
    state = sampler.init(model, rng.seed_sequence(log.seed), log.start)
    for (begin, knobs), (end, _) in itertools.pairwise(changes):
        sampler = dataclasses.replace(sampler, **knobs)  # type: ignore[type-var]
        for at in range(begin, min(end, n), chunk):
            yield sampler.step(state, min(chunk, min(end, n) - at))
