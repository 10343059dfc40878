"""Hold the newest samples of a live run, and write arrays to files block by block."""

import weakref
import zipfile
from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

MAX_HELD_SAMPLES = 100_000
"""Maximum number of samples that a run holds for download, bit-packed: 98 bytes each at 784 units."""

HELD_SAMPLES_BYTES = 8_000_000
"""Bytes for held samples, shared by the runs of one visitor."""

MIN_HELD_SAMPLES = 1000
"""Minimum number of samples that a run holds, which exceeds the number that a page shows."""


class Allowance:
    """Memory for held samples, divided equally among all existing runs.

    n_bytes : bytes for all runs together (default HELD_SAMPLES_BYTES)
    """

    def __init__(self, n_bytes: int = HELD_SAMPLES_BYTES) -> None:
        self.n_bytes = n_bytes
        self._sharing: weakref.WeakSet[Recorder] = weakref.WeakSet()

    def join(self, recorder: "Recorder") -> None:
        """Count one more run, until its recorder is garbage-collected."""
        self._sharing.add(recorder)

    def samples(self, n_visible: int, runs: int | None = None) -> int:
        """Return the number of samples that each of ``runs`` runs (None: the existing ones) may hold."""
        share = self.n_bytes // max(len(self._sharing) if runs is None else runs, 1)
        return min(max(share // -(-n_visible // 8), MIN_HELD_SAMPLES), MAX_HELD_SAMPLES)


class Recorder:
    """Holds the newest samples of one run, as many as its allowance permits.

    Not thread-safe: its owner serialises the calls.
    """

    def __init__(self, n_visible: int, allowance: Allowance) -> None:
        self.n = 0
        self._n_visible, self._allowance = n_visible, allowance
        allowance.join(self)
        # Zeros use no memory until they are written.
        self._ring = np.zeros((allowance.samples(n_visible), -(-n_visible // 8)), np.uint8)

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
        """Return a copy of the held samples from begin to end."""
        at, n = begin % len(self._ring), end - begin
        return np.concatenate([self._ring[at : at + n], self._ring[: max(at + n - len(self._ring), 0)]])

    def newest_packed(self, m: int) -> np.ndarray:
        """Return the newest m samples (fewer if fewer are held), bits packed along the rows."""
        m = min(m, len(self._ring), self.n)
        return self._samples(self.n - m, self.n)

    def held_packed(self) -> tuple[int, np.ndarray]:
        """Return the number of the oldest held sample, and all held samples, packed."""
        packed = self.newest_packed(len(self._ring))
        return self.n - len(packed), packed


def write_array(
    archive: zipfile.ZipFile, name: str, dtype: DTypeLike, shape: tuple[int, ...], blocks: Iterable[bytes]
) -> None:
    """Add an array to an .npz file block by block, in C order, so that the whole is never in memory."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
        np.lib.format.write_array_header_1_0(out, header)  # type: ignore[arg-type]
        for block in blocks:
            out.write(block)
