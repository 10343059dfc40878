"""Several algorithms side by side on one setup, with the same seed, start and steps per second."""

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from rbmviz.errors import BadInput
from rbmviz.knobs import Value, values_of
from rbmviz.session.equal_points import BEHIND, CostUnit, at_common_point
from rbmviz.session.limits import PlannedPanel, VisitorUsage
from rbmviz.session.run import Plan, check_step
from rbmviz.session.scheduler import Page
from rbmviz.session.snapshot import Snapshot
from rbmviz.session.worker import PastRun, Worker


class Setup(Protocol):
    """The setup that all panels of a comparison share."""

    def plan(self) -> Any:
        """Return the plan of each run."""


S = TypeVar("S", bound=Setup)


class Panel(NamedTuple):
    """One run of a comparison; key and slot stay the same when other panels come and go.

    slot : smallest number that no other panel had when it was added: the dashes of its curve
    """

    key: int
    worker: Worker[Any]
    slot: int = 0


UNDO_SECONDS = 10.0
"""Seconds for which a command that restarts runs or closes panels can be undone; style.css repeats them."""


class Undo(NamedTuple):
    """The state before a command, to restore it.

    until : time.monotonic() at which the offer expires; setup : the old setup; panels : the old panels, in
    order; runs : the old runs of restarted panels, by key; instead : keys of the panels that replaced them
    """

    until: float
    setup: Any
    panels: tuple[Panel, ...]
    runs: dict[int, PastRun]
    instead: frozenset[int] = frozenset()


CHART_POINT_SECONDS = 7.5
"""Seconds for which panels show scores at the newest chart's point; long runs redraw charts every 5 s."""

SCORED_SECONDS = 1.0
"""Approximate seconds until a panel that has caught up is scored."""


class Comparison(Generic[S]):
    """The panels of one page.

    Only the page's thread may add, remove and replace panels; other commands can come from any thread. They
    return at once, except Undo and commands that need memory, which may wait while old runs are freed.

    setup : the setup that all panels share
    rate : steps per second of every panel; infinity (the default) is full speed
    visitor : the visitor whose computing time the panels share. A command that would exceed the visitor's
        limits raises BadInput and leaves the panels unchanged, but may drop undo data to make room. None: no
        limits, and a separate tenant.
    """

    def __init__(self, setup: S, rate: float = math.inf, visitor: VisitorUsage | None = None) -> None:
        self.setup, self.rate, self._visitor = setup, rate, visitor
        self._page = Page(None if visitor is None else visitor.tenant)
        self.closed_at: float | None = None
        self.panels: tuple[Panel, ...] = ()
        self.running = False
        self.waiting_for_all = False  # running, but panels are not prepared yet
        self._next_key = 0
        self._undo: Undo | None = None
        self.undoable_commands = 0  # number of such commands so far; identifies an offer to undo
        # The unit of comparison; runs without ``step_unit`` are not compared.
        self.cost_unit: CostUnit = getattr(setup, "step_unit", "samples")
        self._chart_point: tuple[float, tuple[CostUnit, float | None]] = -math.inf, (self.cost_unit, None)
        # Held while all panels start or stop together, so that a pause cannot interrupt a common start.
        self._together = threading.RLock()
        # Held only briefly, while panels are opened or closed.
        self._opening = threading.Lock()

    def add(self, algorithm: Any, plan: Any = None, catch_up: bool = True) -> Panel:
        """Add a panel on the right.

        plan : the plan of its run, from step 0 (default: the setup's); catch_up : whether it first
            catches up with the other panels
        """
        plan = plan or self.setup.plan()
        self._check([*self.wanted, (plan, algorithm)])
        worker = Worker(plan, algorithm, rate=self.rate, page=self._page)
        taken = self.slots
        panel = Panel(self._next_key, worker, next(i for i in itertools.count() if i not in taken))
        self._next_key += 1
        with self._together:
            self.panels += (panel,)
            worker.open()
            if self.running and not self.waiting_for_all:
                worker.resume()
        self._fit_undo()
        if catch_up:
            self._catch_up(panel)
        return panel

    def _catch_up(self, panel: Panel) -> None:
        """Let a panel that starts late catch up with the others, within a time limit."""
        others = [other.worker for other in self.panels if other is not panel]
        going = [other for other in others if other.peek().status != "failed"]
        if going:
            panel.worker.catch_up(min(going, key=lambda other: other.peek().n))

    @property
    def slots(self) -> list[int]:
        """The slot of each panel."""
        return [panel.slot for panel in self.panels]

    def _panel(self, key: int) -> Panel | None:
        return next((panel for panel in self.panels if panel.key == key), None)

    def __getitem__(self, key: int) -> Worker[Any]:
        """Return the worker of the panel ``key``; KeyError if there is no such panel."""
        if (panel := self._panel(key)) is None:
            raise KeyError(key)
        return panel.worker

    def remove(self, key: int) -> None:
        """Close a panel and remove it; an unknown key is ignored."""
        before = self.panels
        if (panel := self._panel(key)) is None:
            return
        panel.worker.pause()  # Undo brings it back at this step
        panel.worker.close()
        with self._together:
            self.panels = tuple(other for other in self.panels if other is not panel)
        self._offer_undo(self.setup, before, {})

    def apply_knobs(self, key: int, /, **knobs: Value) -> None:
        """Change knobs of one panel after a slider is released; its run restarts if a knob is not live."""
        if (panel := self._panel(key)) is not None:
            self._check_tuned(panel, **knobs)
            run = panel.worker.peek().run
            panel.worker.apply_knobs(**knobs)
            if panel.worker.peek().run != run:
                self._catch_up(panel)

    def set_live_knobs(self, key: int, /, **knobs: Value) -> None:
        """Change live knobs of one panel while a slider is dragged; the run does not restart.

        Values that the limits refuse are ignored: ``apply_knobs`` says why once the slider is released.
        """
        if (panel := self._panel(key)) is not None:
            panel.worker.with_knobs(**knobs)
            try:
                self._check_tuned(panel, **knobs)
            except BadInput:
                return
            panel.worker.set_live_knobs(**knobs)

    def resume(self) -> None:
        """Start all panels together; see ``_start_together``."""
        with self._together:
            self.running = self.waiting_for_all = True
        self.poll()  # wakes sleeping runs; starts the panels if all are ready

    def pause(self) -> None:
        """Pause all panels; unless at full speed, they stop at the same step."""
        with self._at_one_moment() as now:
            self.running = self.waiting_for_all = False
            workers = [panel.worker for panel in self.panels]
            for worker in workers:
                worker.pause(now)
            # The timetable of a run that is catching up still includes steps that overloaded runs skipped.
            furthest = max(
                (worker.stops_at for worker in workers if not worker.catching_up), default=math.inf
            )
            for worker in workers:
                worker.stop_no_later(furthest)

    @contextlib.contextmanager
    def _at_one_moment(self) -> Iterator[float]:
        """Hold all panels and yield the time; within the block, no panel makes steps due after that time."""
        with self._together, contextlib.ExitStack() as workers:
            for panel in self.panels:
                workers.enter_context(panel.worker.hold_steps())
            yield time.monotonic()

    def step(self, n: int | Sequence[int] = 1) -> None:
        """Make n more steps in every panel (or a number of steps per panel, in order), then pause."""
        with self._together:
            self.pause()
            each = [n] * len(self.panels) if isinstance(n, int) else n
            for panel, steps in zip(self.panels, each, strict=True):
                panel.worker.step(steps)

    def reset(self) -> None:
        """Restart every panel with its own plan."""
        with self._together:
            panels, runs = self.panels, self._set_aside()
            self._begin([panel.worker.plan for panel in panels])
        self._offer_undo(self.setup, panels, runs)

    def change(self, setup: S) -> None:
        """Restart with another setup for all panels; BadInput if it exceeds the visitor's limits."""
        plan = setup.plan()
        self._check([(plan, panel.worker.algorithm) for panel in self.panels])
        before, runs = self.setup, self._set_aside()
        self._take(setup)
        self._begin([plan] * len(self.panels))
        self._offer_undo(before, self.panels, runs)

    def _take(self, setup: S) -> None:
        """Use another setup; if it is for another kind of run, reset the unit of comparison."""
        if type(setup) is not type(self.setup):
            self.cost_unit = getattr(setup, "step_unit", "samples")
        self.setup = setup

    def replace(self, setup: S, algorithms: Sequence[Any], plan: Any = None) -> None:
        """Restart with another setup and other panels; BadInput if they exceed the visitor's limits.

        plan : the plan of each panel (default: the setup's)
        """
        plan = plan or setup.plan()
        self._check([(plan, algorithm) for algorithm in algorithms])
        before, setup_before = self.panels, self.setup
        with self._together:
            running, self.running = self.running, False  # start together once all are added
            for panel in self.panels:
                self.remove(panel.key)
            self._take(setup)
            for algorithm in algorithms:
                self.add(algorithm, plan)
            if running:
                self.resume()
        self._offer_undo(setup_before, before, {}, frozenset(panel.key for panel in self.panels))

    def add_beside(self, key: int, algorithms: Sequence[Any], instead: bool = False) -> None:
        """Add panels to the right of the panel ``key``, and restart all panels together.

        instead : close all other panels, and order the remaining ones by their knobs

        Raises BadInput if the panels would exceed the visitor's limits; then nothing changes.
        """
        panel = self._panel(key)
        if panel is None:
            return
        before, setup, runs = self.panels, self.setup, self._set_aside()
        plan = panel.worker.plan
        stay = [panel] if instead else list(before)
        self._check([*((p.worker.plan, p.worker.algorithm) for p in stay), *((plan, a) for a in algorithms)])
        with self._together:
            running, self.running = self.running, False  # start together once all are added
            for other in before:
                if other not in stay:
                    other.worker.pause()
                    other.worker.close()
            self.panels = tuple(stay)
            self._begin([other.worker.plan for other in stay])
            new = [self.add(algorithm, plan, catch_up=False) for algorithm in algorithms]
            at = stay.index(panel) + 1
            self.panels = (*stay[:at], *new, *stay[at:])
            if instead:
                self.panels = tuple(
                    sorted(self.panels, key=lambda panel: list(values_of(panel.worker.algorithm).values()))
                )
            if running:
                self.resume()
        runs = {other.key: runs[other.key] for other in stay}
        self._offer_undo(setup, before, runs, frozenset(other.key for other in new))

    # Undo

    @property
    def can_undo(self) -> bool:
        """Whether the newest reset, removal or change of setup can still be undone."""
        undo = self._undo  # other threads may drop it
        if undo is not None and time.monotonic() > undo.until:
            self._undo = undo = None
        return undo is not None

    def undo(self) -> bool:
        """Undo the newest reset, removal or change of setup; return False if it is too late.

        Restored runs continue where they were. Panels added since then stay.

        Raises BadInput if the restored runs exceed the visitor's limits.
        """
        undo = self._undo if self.can_undo else None
        if undo is None:
            return False
        keys = {panel.key for panel in undo.panels} | undo.instead
        panels = (*undo.panels, *(panel for panel in self.panels if panel.key not in keys))
        plans = {key: (past.plan, past.algorithm) for key, past in undo.runs.items()}
        self._check([plans.get(key, (worker.plan, worker.algorithm)) for key, worker, _ in panels])
        self._undo = None
        with self._together:
            for panel in self.panels:
                if panel not in panels:
                    panel.worker.close()
            back = [panel for panel in panels if panel.key in undo.runs or panel not in self.panels]
            self._take(undo.setup)
            self.panels = panels
            for key, worker, _ in back:
                if key in undo.runs:
                    worker.put_back(undo.runs[key])
                worker.set_rate(self.rate)
                worker.open()
            if self.running:
                self.resume()
        return True

    def drop_undo(self) -> None:
        """Withdraw the offer to undo the newest command."""
        self._undo = None

    def free_undo(self) -> None:
        """Free the memory of runs kept for undo; undo would rebuild them."""
        undo = self._undo
        if undo is None:
            return
        for panel in undo.panels:
            if panel not in self.panels:
                panel.worker.rest()
                if panel in self.panels and self.closed_at is None:  # undone meanwhile
                    panel.worker.open()
            if panel.key in undo.runs:
                panel.worker.free(undo.runs[panel.key])
        if self._undo_bytes():  # a run without a complete log cannot be freed
            self._undo = None

    def _set_aside(self) -> dict[int, PastRun]:
        return {panel.key: panel.worker.set_aside() for panel in self.panels}

    def _offer_undo(
        self,
        setup: S,
        panels: tuple[Panel, ...],
        runs: dict[int, PastRun],
        instead: frozenset[int] = frozenset(),
    ) -> None:
        self._undo = Undo(time.monotonic() + UNDO_SECONDS, setup, panels, runs, instead)
        self.undoable_commands += 1
        self._fit_undo()

    def _fit_undo(self) -> None:
        if self._undo is not None and self._visitor is not None and not self._visitor.has_room():
            self.free_undo()

    def _undo_bytes(self) -> int:
        undo = self._undo  # other threads may drop it
        if undo is None:
            return 0
        closed = [panel for panel in undo.panels if panel not in self.panels]
        runs = undo.runs.values()
        return sum(panel.worker.bytes() for panel in closed) + sum(past.bytes() for past in runs)

    def _begin(self, plans: list[Plan[Any]]) -> None:
        with self._together:
            for panel, plan in zip(self.panels, plans, strict=True):
                panel.worker.pause()
                panel.worker.begin(plan)
            if self.running:
                self.resume()

    def set_rate(self, rate: float) -> None:
        """Set the steps per second of every panel."""
        with self._at_one_moment() as now:
            self.rate = rate
            for panel in self.panels:
                panel.worker.set_rate(rate, now)

    def poll(self) -> list[tuple[int, Snapshot]]:
        """Return key and newest snapshot of every panel, in order.

        This also renews the panels' leases, starts panels that are waiting for each other once all are ready,
        and drops an expired offer to undo. ``peek`` only reads.
        """
        snapshots = [(panel.key, panel.worker.request_snapshot()) for panel in self.panels]
        if not self.can_undo:
            self.drop_undo()
        if self.waiting_for_all:
            self._start_together()
        return snapshots

    def _start_together(self) -> None:
        """Start all panels at the same time, as soon as none is starting or rebuilding.

        Panels whose kernels are still compiling do not delay the others if they can catch up, which is
        impossible at full speed.
        """
        with self._together:
            late = []
            if math.isfinite(self.rate):
                late = [panel for panel in self.panels if panel.worker.compiling is not None]
            ready = [panel for panel in self.panels if panel not in late] or late
            statuses = [panel.worker.peek().status for panel in ready]
            if self.waiting_for_all and not {"starting", "rebuilding"} & {*statuses}:
                self.waiting_for_all, now = False, time.monotonic()
                for panel in self.panels:
                    panel.worker.resume(now)
                for panel in late:
                    panel.worker.catch_up(ready[0].worker)

    def listening(self, ended: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """Call ``ended`` after each beat in the ``with`` block, on the beat's thread; it must not block."""
        return self._page.listening(ended)

    @property
    def beating(self) -> bool:
        """Whether beats drive all panels, so that between beats only commands change anything."""
        return self._page.drives(len(self.panels))

    @property
    def chart_point(self) -> float | None:
        """The newest chart's point, at which ``at_common_point`` takes scores; None if it is too old."""
        at, (unit, point) = self._chart_point
        fresh = unit == self.cost_unit and time.monotonic() - at < CHART_POINT_SECONDS
        return point if fresh else None

    def at_common_point(
        self, snapshots: list[tuple[int, Any]], newest: bool = False
    ) -> list[tuple[int, Any]]:
        """Return the snapshots of runs, (key, snapshot), with their scores at the common point.

        The common point is the last number of samples, updates, sweeps or seconds (``cost_unit``) that all
        panels have passed. Panels that are catching up or have failed do not hold it back.

        newest : True (for the chart): use the newest common point and keep it for frames until the next chart
            is drawn, so that chart and panels agree; False (the default): use the chart's point, unless it is
            older than CHART_POINT_SECONDS
        """
        workers = {panel.key: panel.worker for panel in self.panels}
        left = {
            key: self._seconds_left(workers[key], snapshot) for key, snapshot in snapshots if key in workers
        }
        runs = at_common_point(
            [(snapshot, left.get(key, 0.0)) for key, snapshot in snapshots],
            self.cost_unit,
            None if newest else self.chart_point,
        )
        if newest and runs:
            point = runs[0].compared.point if runs[0].compared else None
            self._chart_point = time.monotonic(), (self.cost_unit, point)
        return [(key, run) for (key, _), run in zip(snapshots, runs, strict=True)]

    def _seconds_left(self, worker: Worker[Any], snapshot: Any) -> float:
        """Return the approximate seconds until a late panel counts towards the common point.

        0: the panel already counts, or has failed.
        """
        if snapshot.status == "failed":
            return 0.0
        if left := worker.seconds_to_catch_up:
            return left
        # Likelihoods come later than the updates they belong to.
        passed = snapshot.passed(getattr(self.setup, "step_unit", "samples"))
        late = passed is not None and snapshot.scored_from + passed < BEHIND * worker.caught_up_to
        return SCORED_SECONDS if late else 0.0

    def peek(self) -> list[tuple[int, Any]]:
        """Return the result of ``poll``, without its side effects."""
        return [(panel.key, panel.worker.peek()) for panel in self.panels]

    @property
    def wanted(self) -> list[PlannedPanel]:
        """Plan and algorithm of every panel."""
        return [(panel.worker.plan, panel.worker.algorithm) for panel in self.panels]

    def bytes(self) -> int:
        """Return an upper bound on the bytes of all runs and of undo data; freed runs take none."""
        return sum(panel.worker.bytes() for panel in self.panels) + self._undo_bytes()

    @property
    def awake(self) -> int:
        """Number of panels that a visitor may be watching."""
        return sum(panel.worker.awake for panel in self.panels)

    def _check_tuned(self, panel: Panel, /, **knobs: Value) -> None:
        plan, with_knobs = panel.worker.plan, panel.worker.with_knobs(**knobs)
        check_step(plan, with_knobs)
        if plan.bytes(with_knobs) > plan.bytes(panel.worker.algorithm):
            others = [(p.worker.plan, p.worker.algorithm) for p in self.panels if p is not panel]
            self._check([*others, (plan, with_knobs)])

    def _check(self, wanted: list[PlannedPanel]) -> None:
        for plan, algorithm in wanted:
            check_step(plan, algorithm)
        if self._visitor is not None:
            self._visitor.allow(self, wanted)

    def open(self) -> None:
        """Let each panel work, and rebuild freed runs; BadInput if there is no room for them."""
        if any(panel.worker.at_rest for panel in self.panels):
            self._check(self.wanted)
        with self._opening:
            self.closed_at = None
            for panel in self.panels:
                panel.worker.open()

    def rest(self, closed_at: float | None = None) -> None:
        """Free the memory of all runs; ``open`` rebuilds them, and running panels continue in step.

        closed_at : free only if the comparison has been closed since this time, and open it again if the
            visitor returns meanwhile
        """
        if closed_at is not None and self.closed_at != closed_at:
            return
        self.drop_undo()
        with self._at_one_moment() as now:
            if self.running and not self.waiting_for_all:
                for panel in self.panels:
                    panel.worker.pause(now)
                self.waiting_for_all = True
        for panel in self.panels:
            panel.worker.rest()
        with self._opening:
            if closed_at is not None and self.closed_at is None:
                for panel in self.panels:
                    panel.worker.open()

    def close(self) -> None:
        """Stop all runs after their current units, and return at once; ``open`` continues them."""
        with self._opening:
            self.closed_at = time.monotonic()
            for panel in self.panels:
                panel.worker.close()
