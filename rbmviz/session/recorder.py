"""Hold the newest samples of a live run."""

import numpy as np

HELD_SAMPLES = 10_000
"""Number of samples that a run holds by default, bit-packed: 1 MB at 784 units."""


class Recorder:
    """Holds the newest ``held`` samples of one run.

    Not thread-safe: its owner serialises the calls.
    """

    def __init__(self, n_visible: int, held: int = HELD_SAMPLES) -> None:
        self.n = 0
        # Zeros use no memory until they are written.
        self._ring = np.zeros((held, -(-n_visible // 8)), np.uint8)

    def append(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (m, n_visible)."""
        self.n += len(v)
        newest = np.packbits(v[-len(self._ring) :], axis=1)
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
