"""What happened in a live run, enough to make it again: seed, start, knob changes by sample number."""

import dataclasses
import itertools
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from rbmviz import rng
from rbmviz.knobs import Value, values_of
from rbmviz.rbm import Model
from rbmviz.samplers import Sampler, Samples, make_sampler

KEEP = 100_000
"""Newest samples kept for download, bit-packed: 10 MB a run at 784 units."""


@dataclass(frozen=True, eq=False)
class Record:
    """The log of one run.

    Parameters
    ----------
    sampler : str
        Registered name.
    seed : int
    start : uint8 (n_visible,) or (n_chains, n_visible) or None
        First state of the chain, or of each; None means random bits of the seed.
    changes : tuple of (n, knobs)
        From sample number n on (0 = from the beginning) these knob values held.
    """

    sampler: str
    seed: int
    start: np.ndarray | None
    changes: tuple[tuple[int, dict[str, Value]], ...]

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {
            "sampler": self.sampler,
            "seed": self.seed,
            "start": None if self.start is None else self.start.tolist(),
            "changes": [{"n": n, "knobs": knobs} for n, knobs in self.changes],
        }


class Recorder:
    """Keeps the log and the newest ``KEEP`` samples of one run; its owner serialises the calls."""

    def __init__(self, sampler: Sampler, seed: int, start: np.ndarray | None, n_visible: int) -> None:
        self.n = 0
        self._sampler_name, self._seed, self._start = sampler.name, seed, start
        self._changes: list[tuple[int, dict[str, Value]]] = []
        # Zeros cost no memory before they are written.
        self._ring = np.zeros((KEEP, -(-n_visible // 8)), np.uint8)
        self.note(sampler)

    @staticmethod
    def bytes(n_visible: int) -> int:
        """Return the bytes of the samples kept, once all of them are there."""
        return KEEP * -(-n_visible // 8)

    def note(self, sampler: Sampler) -> None:
        """Log the knobs that hold from the next sample on."""
        knobs = values_of(sampler)
        if self._changes and self._changes[-1][0] == self.n:
            self._changes.pop()
        if not self._changes or self._changes[-1][1] != knobs:
            self._changes.append((self.n, knobs))

    def keep(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (m, n_visible)."""
        newest = np.packbits(v[-KEEP:], axis=1)
        self.n += len(v)
        self._ring[np.arange(self.n - len(newest), self.n) % KEEP] = newest

    def record(self) -> Record:
        """Return the log so far."""
        return Record(self._sampler_name, self._seed, self._start, tuple(self._changes))

    def packed(self, m: int) -> np.ndarray:
        """Return the newest m samples (fewer where fewer are kept), bits packed along the rows."""
        return self._ring[np.arange(max(self.n - min(m, KEEP), 0), self.n) % KEEP]

    def kept(self) -> tuple[int, np.ndarray]:
        """Return the number of the first sample kept, and all samples kept, packed."""
        packed = self.packed(KEEP)
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


def replay(record: Record, model: Model, n: int, chunk: int = 1000) -> Iterator[Samples]:
    """Make the first n samples of a recorded run again, bit for bit, in chunks of at most ``chunk``."""
    changes = [*record.changes, (n, {})]
    sampler = make_sampler(record.sampler, **changes[0][1])
    state = sampler.init(model, rng.seed_sequence(record.seed), record.start)
    for (begin, knobs), (end, _) in itertools.pairwise(changes):
        sampler = dataclasses.replace(sampler, **knobs)  # type: ignore[type-var]
        for at in range(begin, min(end, n), chunk):
            yield sampler.step(state, min(chunk, min(end, n) - at))
