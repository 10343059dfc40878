"""Several samplers side by side on one model: same seed, same start, same number of samples a second."""

import math
import time
from typing import Literal, NamedTuple

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.knobs import Value
from rbmviz.metrics import Kernel
from rbmviz.rbm import Model
from rbmviz.samplers import Sampler
from rbmviz.session.snapshot import Snapshot
from rbmviz.session.worker import Worker

Start = Literal["data", "random"]


class Setting(NamedTuple):
    """What all panels of a race share.

    model; dataset to score against, or None; seed; start: a held-out "data" example (random bits
    where there is no data set) or "random" bits; kernel of ISL.
    """

    model: Model
    dataset: Dataset | None = None
    seed: int = 0
    start: Start = "data"
    kernel: Kernel = "binary"

    def first_state(self) -> np.ndarray | None:
        """Return the state that every chain starts from; None: random bits of the seed."""
        if self.start == "random" or self.dataset is None or not len(self.dataset.validation):
            return None
        examples = self.dataset.validation
        return examples[rng.generator(self.seed, "start").integers(len(examples))]


class Panel(NamedTuple):
    """One run of a race: a key that stays while panels come and go, and its worker."""

    key: int
    worker: Worker


class Race:
    """The panels of one page. Commands come from any thread; every one returns at once.

    Parameters
    ----------
    setting : Setting
    rate : float
        Samples a second of every panel; infinity is full speed.
    """

    def __init__(self, setting: Setting, rate: float = math.inf) -> None:
        self.setting, self.rate = setting, rate
        self.panels: tuple[Panel, ...] = ()
        self.running = False
        self._launching = False
        self._next_key = 0

    def add(self, sampler: Sampler) -> Panel:
        """Add a panel on the right; it begins at sample 0, the others go on."""
        worker = Worker(
            self.setting.model,
            sampler,
            seed=self.setting.seed,
            start=self.setting.first_state(),
            dataset=self.setting.dataset,
            kernel=self.setting.kernel,
            rate=self.rate,
        )
        panel = Panel(self._next_key, worker)
        self._next_key += 1
        self.panels += (panel,)
        worker.open()
        if self.running and not self._launching:
            worker.resume()
        return panel

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

    def resume(self) -> None:
        """Let all panels go on, in step; those still starting are waited for."""
        self.running = self._launching = True
        self.snapshots()

    def pause(self) -> None:
        """Stop all panels; with a rate they stop at the same number of samples."""
        self.running = self._launching = False
        now = time.monotonic()
        for panel in self.panels:
            panel.worker.pause(now)

    def step(self, n: int = 1) -> None:
        """Make n more samples in every panel, then pause."""
        self.pause()
        for panel in self.panels:
            panel.worker.step(n)

    def reset(self) -> None:
        """Begin anew from sample 0."""
        self.change(self.setting)

    def change(self, setting: Setting) -> None:
        """Begin anew with another model, data set, seed, start or kernel."""
        self.setting, start = setting, setting.first_state()
        for panel in self.panels:
            panel.worker.pause()
            panel.worker.swap_model(
                setting.model,
                seed=setting.seed,
                start=start,
                dataset=setting.dataset,
                kernel=setting.kernel,
            )
        if self.running:
            self.resume()

    def set_rate(self, rate: float) -> None:
        """Change the samples a second of every panel."""
        self.rate, now = rate, time.monotonic()
        for panel in self.panels:
            panel.worker.set_rate(rate, now)

    def snapshots(self) -> list[tuple[int, Snapshot]]:
        """Return key and newest snapshot of every panel, in order."""
        shown = [(panel.key, panel.worker.snapshot) for panel in self.panels]
        if self._launching and all(snapshot.status != "starting" for _, snapshot in shown):
            self._launching, now = False, time.monotonic()
            for panel in self.panels:
                panel.worker.resume(now)
        return shown

    def peek(self) -> list[tuple[int, Snapshot]]:
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
