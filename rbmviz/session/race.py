"""Several algorithms side by side on one setting: same seed, same start, same number of steps a second."""

import math
import threading
import time
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from rbmviz.knobs import Value
from rbmviz.session.snapshot import Snapshot
from rbmviz.session.worker import Plan, Worker


class Shared(Protocol):
    """What all panels of a race share."""

    def plan(self) -> Any:
        """Return the plan of each run."""


S = TypeVar("S", bound=Shared)


class Panel(NamedTuple):
    """One run of a race: a key that stays while panels come and go, and its worker."""

    key: int
    worker: Worker[Any]


class Race(Generic[S]):
    """The panels of one page. Commands come from any thread; every one returns at once.

    Parameters
    ----------
    setting : Setting or Lesson
    rate : float
        Steps a second of every panel; infinity is full speed.
    """

    def __init__(self, setting: S, rate: float = math.inf) -> None:
        self.setting, self.rate = setting, rate
        self.panels: tuple[Panel, ...] = ()
        self.running = False
        self.launching = False  # running, and waiting until every panel is prepared
        self._next_key = 0
        # Held while all panels go or stop together: a pause must not fall into the midst of a launch.
        self._together = threading.RLock()

    def add(self, algorithm: Any, plan: Any = None) -> Panel:
        """Add a panel on the right; it begins at step 0 of the plan (the setting's), the others go on."""
        worker = Worker(plan or self.setting.plan(), algorithm, rate=self.rate)
        panel = Panel(self._next_key, worker)
        self._next_key += 1
        self.panels += (panel,)
        worker.open()
        if self.running and not self.launching:
            worker.resume()
        return panel

    def __getitem__(self, key: int) -> Worker[Any]:
        """Return the worker of the panel ``key``; KeyError where it has gone."""
        for panel in self.panels:
            if panel.key == key:
                return panel.worker
        raise KeyError(key)

    def remove(self, key: int) -> None:
        """Close a panel and take it away; a key that is not there is none of our business."""
        for panel in self.panels:
            if panel.key == key:
                panel.worker.close()
        self.panels = tuple(panel for panel in self.panels if panel.key != key)

    def tune(self, key: int, **knobs: Value) -> None:
        """Change knobs of one panel."""
        for panel in self.panels:
            if panel.key == key:
                panel.worker.tune(**knobs)

    def turn(self, key: int, **knobs: Value) -> None:
        """Change live knobs of one panel, as they are dragged: no run is begun."""
        for panel in self.panels:
            if panel.key == key:
                panel.worker.turn(**knobs)

    def resume(self) -> None:
        """Let all panels go on, in step; those still starting are waited for."""
        with self._together:
            self.running = self.launching = True
        self.snapshots()

    def pause(self) -> None:
        """Stop all panels; with a rate they stop at the same step."""
        with self._together:
            self.running = self.launching = False
            now = time.monotonic()
            for panel in self.panels:
                panel.worker.pause(now)

    def step(self, n: int = 1) -> None:
        """Do n more steps in every panel, then pause."""
        with self._together:
            self.pause()
            for panel in self.panels:
                panel.worker.step(n)

    def reset(self) -> None:
        """Begin anew, every panel by its own plan."""
        self._begin([panel.worker.plan for panel in self.panels])

    def change(self, setting: S) -> None:
        """Begin anew with another setting, the same for all panels."""
        self.setting, plan = setting, setting.plan()
        self._begin([plan] * len(self.panels))

    def _begin(self, plans: list[Plan[Any]]) -> None:
        with self._together:
            for panel, plan in zip(self.panels, plans, strict=True):
                panel.worker.pause()
                panel.worker.begin(plan)
            if self.running:
                self.resume()

    def set_rate(self, rate: float) -> None:
        """Change the steps a second of every panel."""
        self.rate, now = rate, time.monotonic()
        for panel in self.panels:
            panel.worker.set_rate(rate, now)

    def snapshots(self) -> list[tuple[int, Snapshot]]:
        """Return key and newest snapshot of every panel, in order."""
        shown = [(panel.key, panel.worker.snapshot) for panel in self.panels]
        if self.launching:
            self._launch()
        return shown

    def _launch(self) -> None:
        """Let all panels go, once none of them is starting."""
        with self._together:
            if self.launching and all(panel.worker.peek().status != "starting" for panel in self.panels):
                self.launching, now = False, time.monotonic()
                for panel in self.panels:
                    panel.worker.resume(now)

    def peek(self) -> list[tuple[int, Any]]:
        """Return what ``snapshots`` does, without renewing any lease."""
        return [(panel.key, panel.worker.peek()) for panel in self.panels]

    def open(self) -> None:
        """Give every panel a thread (again)."""
        for panel in self.panels:
            panel.worker.open()

    def close(self) -> None:
        """Let every thread end after its chunk, without waiting; ``open`` takes the runs up again."""
        for panel in self.panels:
            panel.worker.close()
