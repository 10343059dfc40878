"""The recorded beginning of a run, which is shown until the run itself has made the same steps."""

from typing import Any, Protocol

from rbmviz.session.pace import Pace
from rbmviz.session.snapshot import Snapshot


class Recorded(Protocol):
    """The first steps of a run, recorded on another machine; see ``recording.Recording``."""

    @property
    def n(self) -> int:
        """Number of steps."""

    def is_of(self, plan: Any, algorithm: Any) -> bool:
        """Return whether a run of the plan seems to begin so."""

    def is_repeated_by(self, run: Any) -> bool:
        """Return whether the steps of a run so far are these."""

    def view(self, n: int, run: int, algorithm: Any) -> Snapshot:
        """Return the snapshot after n steps, of the run with this number."""


class RecordedStart:
    """A recording that is played at the pace of a run.

    Parameters
    ----------
    recording : Recorded
    pace : Pace
        Says how many of its steps are shown; the worker changes it.
    """

    def __init__(self, recording: Recorded, pace: Pace) -> None:
        self.recording, self._pace = recording, pace
        self._snapshot: Snapshot | None = None

    @property
    def n(self) -> int:
        """Up to which step the recording has been played."""
        return self.n_at(None)

    def n_at(self, at: float | None) -> int:
        """Return up to which step the recording had been played by ``at``; None: by now."""
        return int(min(max(self._pace.allowed(at), 0), self.recording.n))

    def view(self, run: int, algorithm: Any) -> Snapshot:
        """Return the snapshot of this moment, of the run with this number."""
        n = self.n
        if self._snapshot is None or self._snapshot.n != n:
            self._snapshot = self.recording.view(n, run, algorithm)
        return self._snapshot

    def has_been_repeated(self, run: Any) -> bool | None:
        """Return whether the run has caught up with what is shown; None if its steps are other ones."""
        if not self.recording.is_repeated_by(run):
            return None
        return run.n >= self.n
