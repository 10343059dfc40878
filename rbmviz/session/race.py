"""The runs of one page, side by side on one setup, and the one job that makes their steps.

The pace belongs to the page: one job at a time advances every panel to the page's clock, each by
chunks until 15 ms have passed, so that panels are in step by construction. A late panel makes more steps a
turn. On a busy server, jobs come less often and make more steps each time, so that pictures slow down before
samples do.

Only a long step, or a preparation, has a job of its own, one at a time in each pool (``pools``).

Locks: ``Race.lock`` guards the panels and the clock, and is held only briefly, never during a step;
``Panel.lock`` is held during a chunk of steps. Code that holds the first never waits for the second.
"""

import contextlib
import functools
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from rbmviz.errors import BadInput
from rbmviz.knobs import Value, knobs_of, values_of
from rbmviz.session.compiling import COMPILING
from rbmviz.session.equal_points import BEHIND, CostUnit, at_one_point
from rbmviz.session.limits import RELEASE_SECONDS, check_panels
from rbmviz.session.memory import check_room
from rbmviz.session.panel import Panel
from rbmviz.session.pools import FULL_SPEED, JOB_SECONDS, LATENESS, LONG, MAX_SLOWDOWN, PACED, Pool
from rbmviz.session.run import CHUNK_SECONDS, check_step
from rbmviz.session.snapshot import Snapshot
from rbmviz.support.blas import one_blas_thread_for_good

LEASE_SECONDS = 30.0
"""Seconds after which a page whose snapshots nobody takes sleeps; the next request wakes it."""

WATCHED_SECONDS = 1.0
"""A page is watched if its snapshots were taken within this time."""

UNWATCHED_JOB_SECONDS = 0.1
"""Seconds between two jobs of a page that nobody watches."""

COMPILING_SECONDS = 0.1
"""Seconds until a page asks again whether its kernels are compiled."""

LIGHT_SECONDS = 0.015
"""Processor seconds of a page's last job, up to which its next one is done in the pool PACED."""

IDLE_SECONDS = 0.5
"""Seconds until runs are asked again for background work: another thread may have ended a computation."""

UNDO_SECONDS = 10.0
"""Seconds for which a command that restarts runs or closes panels can be undone; style.css repeats them."""

SCORED_SECONDS = 1.0
"""Approximate seconds until a panel that has caught up is scored."""


class Setup(Protocol):
    """The setup that all panels of a page share."""

    def plan(self) -> Any:
        """Return each run's plan, with ``run(number, algorithm)`` and ``seconds_of_step(algorithm)``."""


log = logging.getLogger(__name__)

S = TypeVar("S", bound=Setup)


class Undo(NamedTuple):
    """What a page was before a command.

    until : time.monotonic() at which the offer to undo it expires; setup, panels, n : as in ``Race``;
    instead : keys of the panels that the command has added
    """

    until: float
    setup: Any
    panels: tuple[Panel, ...]
    n: int
    instead: frozenset[int] = frozenset()


class Race(Generic[S]):
    """The panels of one page.

    Commands return at once. ``resume``, ``pause``, ``step``, ``reset``, ``set_rate`` and ``set_live_knobs``
    may come from any thread, all others only from the page's.

    setup : the setup that all panels share
    rate : steps per second of every panel; infinity (the default) is full speed
    limited : whether a command that would exceed the server's limits raises BadInput and changes nothing
    n : steps of the page's clock when it last started or stopped
    seen : whether anybody has taken its snapshots yet
    """

    def __init__(self, setup: S, rate: float = math.inf, limited: bool = False) -> None:
        # Each run must use one thread, because BLAS threads of several runs would compete for the cores.
        one_blas_thread_for_good()
        self.setup, self.rate, self._limited = setup, rate, limited
        self.panels: tuple[Panel, ...] = ()
        self.running = False
        self.waiting_for_all = False  # running, but not all panels are ready
        self.closed_at: float | None = None
        self._left_at: float | None = None  # when a page of trainings, which is still open, was left
        self.lost = False  # whether trainings were dropped since the page was last opened
        self.n, self._since = 0, 0.0
        self.lock = threading.RLock()
        self._keys, self._numbers = 0, dict[int, int]()  # the next key, and the newest run of each key
        self._undo: Undo | None = None
        self.undoable_commands = 0  # number of such commands so far; identifies an offer to undo
        # The unit of comparison; runs without ``step_unit`` are not compared.
        self.cost_unit: CostUnit = getattr(setup, "step_unit", "samples")
        self._compared: tuple[Any, ...] = ()
        self._asked_at, self.seen = time.monotonic(), False
        self._queued = self._again = False  # whether a job waits or works, and whether another is to follow
        self._queued_at = math.inf
        self._turn = 0
        self._used = 0.0  # processor seconds of the last job
        self._due_at = 0.0
        self._aside: dict[Pool, Panel | None] = {FULL_SPEED: None, LONG: None}  # who has a job of its own
        self._listeners: tuple[Callable[[], None], ...] = ()

    # The clock

    def target(self) -> float:
        """Return the number of steps that the page's clock has reached."""
        with self.lock:
            if not self.goes_on:
                return self.n
            if math.isinf(self.rate):
                return math.inf
            return self.n + math.floor(self.rate * (time.monotonic() - self._since))

    @property
    def goes_on(self) -> bool:
        """Whether the clock runs."""
        return self.running and not self.waiting_for_all

    def _stop_clock(self) -> None:
        """Let the clock stand where it is: at full speed, every panel stays where it is."""
        target = self.target()
        if math.isinf(target):
            self.n = int(max((max(panel.run.n, panel.catch_up_to) for panel in self.panels), default=0))
            for panel in self.panels:
                if panel.catches_up:
                    panel.ahead = panel.catch_up_to - self.n
                else:
                    panel.settles_at = self.n
        else:
            self.n = int(target)
        self._since = time.monotonic()

    def _start_if_ready(self) -> None:
        """Start the clock as soon as all panels are ready.

        Panels whose kernels are still compiling do not delay the others if they can catch up, which is
        impossible at full speed.
        """
        with self.lock:
            if not self.waiting_for_all:
                return
            late = [panel for panel in self.panels if panel.compiling] if math.isfinite(self.rate) else []
            if all(
                panel.is_ready for panel in self.panels if len(late) == len(self.panels) or panel not in late
            ):
                self.waiting_for_all, self._since = False, time.monotonic()
                for panel in late:
                    self._start_late(panel)

    def _start_late(self, panel: Panel) -> None:
        """Let a panel that starts late make up for its missed steps, or start from here."""
        others = [other for other in self.panels if other is not panel and other.error is None]
        n, target = panel.run.n, self.target()
        ahead = min((other.ahead for other in others), default=0.0)
        goal = min((other.run.n for other in others), default=0) if math.isinf(target) else target + ahead
        if others and panel.run.catches_up and goal > n:
            panel.ahead = ahead
            panel.start_late(goal)
        elif math.isfinite(target):
            panel.ahead = n - target

    # Commands

    def _panel(self, key: int) -> Panel | None:
        return next((panel for panel in self.panels if panel.key == key), None)

    def __getitem__(self, key: int) -> Panel:
        """Return the panel ``key``; KeyError if there is no such panel."""
        if (panel := self._panel(key)) is None:
            raise KeyError(key)
        return panel

    def _new(self, plan: Any, algorithm: Any, key: int | None = None, taken: Sequence[int] = ()) -> Panel:
        """Return a panel; key : that of the panel that it replaces; taken : slots of the others."""
        old = None if key is None else self._panel(key)
        taken = taken if old is None else range(old.slot)
        if key is None:
            key, self._keys = self._keys, self._keys + 1
        number = self._numbers[key] = self._numbers.get(key, 0) + 1
        panel = Panel(key, plan, algorithm, number, next(i for i in itertools.count() if i not in taken))
        panel.is_left = functools.partial(self._is_left, panel)
        panel.needs_room = self._limited and number == 1
        return panel

    def _is_left(self, panel: Panel) -> bool:
        """Return whether nobody waits for a long step of this panel."""
        return self.closed_at is not None or panel not in self.panels

    def add(self, algorithm: Any, plan: Any = None) -> Panel:
        """Add a panel on the right, which first catches up with the others.

        plan : the plan of its run (default: the setup's)
        """
        plan = plan or self.setup.plan()
        self._check([*self.wanted, (plan, algorithm)])
        with self.lock:
            panel = self._new(plan, algorithm, taken=self.slots)
            self.panels += (panel,)
            self._start_late(panel)
        self.open()
        return panel

    def remove(self, key: int) -> None:
        """Close a panel; an unknown key is ignored."""
        with self.lock:
            before = self.panels
            self.panels = tuple(panel for panel in before if panel.key != key)
            if self.panels != before:
                self._offer_undo(self.setup, before)
        self.wake()

    def apply_knobs(self, key: int, /, **knobs: Value) -> None:
        """Change knobs of one panel after a slider is released; its run restarts if a knob is not live."""
        if (panel := self._panel(key)) is None:
            return
        algorithm = panel.with_knobs(**knobs)
        self._check([(p.plan, algorithm if p is panel else p.algorithm) for p in self.panels])
        with self.lock:
            if panel.restarts_with(knobs):
                new = self._new(panel.plan, algorithm, key)
                self.panels = tuple(new if other is panel else other for other in self.panels)
                self._start_late(new)
            else:
                panel.algorithm = algorithm
        self.wake()

    def set_live_knobs(self, key: int, /, **knobs: Value) -> None:
        """Change live knobs of one panel while a slider is dragged; the run does not restart.

        Values that the limits refuse are ignored: ``apply_knobs`` says why once the slider is released.

        Raises BadInput if a knob is unknown, not live, or out of range.
        """
        if (panel := self._panel(key)) is None:
            return
        algorithm = panel.with_knobs(**knobs)
        declared = knobs_of(algorithm)
        if fixed := [name for name in knobs if not declared[name].live]:
            raise BadInput(f"{type(algorithm).name}: {fixed[0]} is not live: release it to start again.")
        with contextlib.suppress(BadInput):
            self._check([(panel.plan, algorithm)])
            panel.algorithm = algorithm
            self.wake()

    def resume(self) -> None:
        """Start all panels together, as soon as all are ready."""
        with self.lock:
            if not self.running:
                self.running = self.waiting_for_all = True
        self._start_if_ready()
        self.wake()

    def pause(self) -> None:
        """Pause all panels; unless at full speed, they stop at the same step."""
        with self.lock:
            was_running = self.running
            self._stop_clock()
            self.running = self.waiting_for_all = False
            for panel in self.panels if was_running else ():
                panel.skip(self.n)
        self.wake()

    def step(self, n: int | Sequence[int] = 1) -> None:
        """Make n more steps in every panel (or a number of steps per panel, in order), then pause."""
        with self.lock:
            self.pause()
            each = [n] * len(self.panels) if isinstance(n, int) else n
            most = max(each, default=0)
            for panel, steps in zip(self.panels, each, strict=True):
                panel.ahead += steps - most
            self.n += most
        self.wake()

    def set_rate(self, rate: float) -> None:
        """Set the steps per second of every panel."""
        with self.lock:
            self._stop_clock()
            self.rate = rate
        self.wake()

    def reset(self) -> None:
        """Restart every panel with its own plan."""
        with self.lock:  # another thread may close a panel
            self._restart(self.setup, self._same_again())

    def _same_again(self) -> list[tuple[Any, Any, int | None]]:
        return [(panel.plan, panel.algorithm, panel.key) for panel in self.panels]

    def change(self, setup: S) -> None:
        """Restart with another setup for all panels; BadInput if it exceeds the limits."""
        plan = setup.plan()
        self._check([(plan, panel.algorithm) for panel in self.panels], new=True)
        self._restart(setup, [(plan, panel.algorithm, panel.key) for panel in self.panels])

    def replace(self, setup: S, algorithms: Sequence[Any], plan: Any = None) -> None:
        """Restart with another setup and other panels; BadInput if they exceed the limits.

        plan : the plan of each panel (default: the setup's)
        """
        plan = plan or setup.plan()
        self._check([(plan, algorithm) for algorithm in algorithms], new=True)
        self._restart(setup, [(plan, algorithm, None) for algorithm in algorithms])

    def add_beside(self, key: int, algorithms: Sequence[Any], instead: bool = False) -> None:
        """Add panels to the right of the panel ``key``, and restart all panels together.

        instead : close all other panels, and order the remaining ones by their knobs

        Raises BadInput if the panels would exceed the limits; then nothing changes.
        """
        if (panel := self._panel(key)) is None:
            return
        new = [(panel.plan, algorithm, None) for algorithm in algorithms]
        wanted: list[tuple[Any, Any, int | None]] = []
        for other in [panel] if instead else self.panels:
            wanted.append((other.plan, other.algorithm, other.key))
            wanted += new if other is panel else []
        if instead:
            wanted.sort(key=lambda one: list(values_of(one[1]).values()))
        self._check([(plan, algorithm) for plan, algorithm, _ in wanted])
        self._restart(self.setup, wanted)

    def _restart(self, setup: S, wanted: Sequence[tuple[Any, Any, int | None]]) -> None:
        """Restart with new panels, given plan, algorithm and, if it stays on the page, key of each."""
        with self.lock:
            before, setup_before = self.panels, self.setup
            self._stop_clock()
            undone = self.n
            self._take(setup)
            self._renew(wanted)
            stay = {panel.key for panel in before}
            added = frozenset(panel.key for panel in self.panels if panel.key not in stay)
            self._offer_undo(setup_before, before, undone, added)
        self.open()

    def _renew(self, wanted: Sequence[tuple[Any, Any, int | None]]) -> None:
        """Replace all panels by new ones, and put the clock at 0; the lock is held."""
        new: list[Panel] = []
        slots = [self[key].slot for _, _, key in wanted if key is not None]
        for one in wanted:
            new.append(self._new(*one, slots))
            slots.append(new[-1].slot)
        self.panels = tuple(new)
        self.n, self._since, self.waiting_for_all = 0, time.monotonic(), self.running
        for panel in self.panels:
            panel.ahead = panel.run.n

    def _take(self, setup: S) -> None:
        """Use another setup; if it is for another kind of run, reset the unit of comparison."""
        if type(setup) is not type(self.setup):
            self.cost_unit = getattr(setup, "step_unit", "samples")
        self.setup = setup

    def _check(self, wanted: list[tuple[Any, Any]], new: bool = False) -> None:
        """Raise BadInput if the limits refuse these panels; new : whether they take more memory."""
        for plan, algorithm in wanted:
            check_step(plan, algorithm)
        if self._limited and len(wanted) > len(self.panels):
            check_panels(len(wanted))
        if self._limited and (new or len(wanted) > len(self.panels)):
            check_room()

    @property
    def slots(self) -> list[int]:
        """The slot of each panel."""
        return [panel.slot for panel in self.panels]

    @property
    def wanted(self) -> list[tuple[Any, Any]]:
        """Plan and algorithm of every panel."""
        return [(panel.plan, panel.algorithm) for panel in self.panels]

    # Undo

    def _offer_undo(
        self, setup: S, panels: tuple[Panel, ...], n: int | None = None, instead: frozenset[int] = frozenset()
    ) -> None:
        until = time.monotonic() + UNDO_SECONDS
        self._undo = Undo(until, setup, panels, self.n if n is None else n, instead)
        self.undoable_commands += 1
        FULL_SPEED.submit(functools.partial(_drop_late_undo, self._undo, self), until)

    @property
    def can_undo(self) -> bool:
        """Whether the newest reset, removal or change of setup can still be undone."""
        undo = self._undo
        return undo is not None and time.monotonic() <= undo.until

    def undo(self) -> bool:
        """Undo the newest reset, removal or change of setup; return False if it is too late.

        Restored runs continue where they were. Panels added since then stay.

        Raises BadInput if the restored runs exceed the limits.
        """
        undo = self._undo if self.can_undo else None
        if undo is None:
            return False
        keys = {panel.key for panel in undo.panels} | undo.instead
        added = tuple(panel for panel in self.panels if panel.key not in keys)
        self._check([(panel.plan, panel.algorithm) for panel in (*undo.panels, *added)])
        with self.lock:
            self._undo = None
            restarted = not any(panel in self.panels for panel in undo.panels)
            self._stop_clock()
            if restarted:
                self.n = undo.n
            back = [panel for panel in (*undo.panels, *added) if panel not in self.panels or panel in added]
            self._take(undo.setup)
            self.panels = (*undo.panels, *added)
            for panel in back:
                panel.ahead = panel.run.n - self.n
            self.waiting_for_all = self.running
        self.open()
        return True

    def drop_undo(self) -> None:
        """Withdraw the offer to undo the newest command."""
        self._undo = None

    # Snapshots

    def poll(self) -> list[tuple[int, Snapshot]]:
        """Return key and newest snapshot of every panel, in order, and keep the page awake."""
        before, self._asked_at, self.seen = self._asked_at, time.monotonic(), True
        away = self._asked_at - before
        if away > LEASE_SECONDS / 2 and self.closed_at is None:  # a job may find the page asleep just now
            with self.lock:
                if away > LEASE_SECONDS and math.isfinite(self.rate):
                    self._since = self._asked_at
            self.wake()
        return self.peek()

    def peek(self) -> list[tuple[int, Snapshot]]:
        """Return the result of ``poll``, without its side effects."""
        return [(panel.key, panel.snapshot) for panel in self.panels]

    @property
    def is_watched(self) -> bool:
        """Whether somebody has taken the snapshots lately."""
        return time.monotonic() - self._asked_at <= WATCHED_SECONDS * LATENESS.slowdown

    @property
    def works(self) -> bool:
        """Whether a thread is working for the page now."""
        return self._queued or any(panel.at_work for panel in self.panels)

    def at_common_point(self, snapshots: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
        """Return snapshots, (key, snapshot), with their scores at the common point.

        The common point is the last number of samples, updates, sweeps or seconds (``cost_unit``) that all
        panels have passed. Panels that are catching up or have failed do not hold it back.
        """
        asked = self.cost_unit, [snapshot for _, snapshot in snapshots]
        known = self._compared
        if not known or known[0] != asked:
            panels = {panel.key: panel for panel in self.panels}
            runs = [(shown, self._seconds_left(panels.get(key), shown)) for key, shown in snapshots]
            self._compared = known = asked, at_one_point(runs, self.cost_unit)
        return [(key, shown) for (key, _), shown in zip(snapshots, known[1], strict=True)]

    def _seconds_left(self, panel: Panel | None, snapshot: Any) -> float:
        """Return the approximate seconds until a late panel counts towards the common point; 0: it does."""
        if panel is None or snapshot.status == "failed":
            return 0.0
        if left := panel.seconds_to_catch_up:
            return left
        # Likelihoods come later than the updates they belong to.
        passed = snapshot.passed(getattr(self.setup, "step_unit", "samples"))
        late = passed is not None and snapshot.scored_from + passed < BEHIND * panel.catch_up_to
        return SCORED_SECONDS if late else 0.0

    @contextlib.contextmanager
    def listening(self, ended: Callable[[], None]) -> Iterator[None]:
        """Call ``ended`` after each job in the ``with`` block, on the job's thread; it must not block."""
        with self.lock:
            self._listeners += (ended,)
        try:
            yield
        finally:
            with self.lock:
                self._listeners = tuple(other for other in self._listeners if other is not ended)

    # Memory

    def open(self) -> None:
        """Let the panels work; the steps of freed runs are repeated."""
        with self.lock:
            self.closed_at = self._left_at = None
            self._asked_at = time.monotonic()
        self.wake()

    @property
    def is_open(self) -> bool:
        """Whether somebody is there: the page was neither closed nor left."""
        return self.closed_at is None and self._left_at is None

    def leave(self) -> None:
        """Close the page, because its browser has gone; trainings go on for ten seconds, across a reload."""
        if not getattr(self.setup, "kept_seconds", 0.0):
            self.close()
            return
        with self.lock:
            if self.is_open:
                self._left_at = left_at = time.monotonic()
                FULL_SPEED.submit(functools.partial(_close_if_left, self, left_at), left_at + RELEASE_SECONDS)

    def close(self) -> None:
        """Stop all runs after their current chunks, and free their memory after a while unless it is opened.

        Trainings, which would take long to repeat, are kept for ten minutes, and then dropped.
        """
        with self.lock:
            self.closed_at, self._left_at = (closed_at := time.monotonic()), None
            self._stop_clock()
            self.waiting_for_all = self.running
            kept = getattr(self.setup, "kept_seconds", 0.0)
        FULL_SPEED.submit(
            functools.partial(_free_if_closed, self, closed_at), closed_at + RELEASE_SECONDS + kept
        )

    def free(self) -> None:
        """Free the memory of all runs; while the page is open, their steps are repeated at once."""
        with self.lock:
            self._stop_clock()
            self.waiting_for_all = self.running
            for panel in self.panels:
                panel.free()
        self.wake()

    # Jobs

    @property
    def is_awake(self) -> bool:
        """Whether its runs may work: the page is open, and somebody has taken the snapshots lately."""
        return self.closed_at is None and time.monotonic() - self._asked_at <= LEASE_SECONDS

    def wake(self) -> None:
        """Let a job follow a command at once."""
        self._queue(time.monotonic())

    def _queue(self, at: float) -> None:
        """Let the page's job begin at a time, unless it is waiting for an earlier one."""
        with self.lock:
            if self.closed_at is not None or at >= self._queued_at:
                return
            pool = PACED if self._used <= LIGHT_SECONDS else FULL_SPEED
            pool.submit(functools.partial(self._work, at), at)
            self._queued_at = at

    def _work(self, at: float) -> None:
        """Do the page's job, if it is the one that was queued last and no other is being done."""
        with self.lock:
            if at != self._queued_at:
                return  # a command has queued an earlier one
            self._queued_at = math.inf
            if self._queued:
                self._again = True
                return
            self._queued = True
        used, paced, next_in = time.thread_time(), self._used <= LIGHT_SECONDS, None
        try:
            next_in = self._job() if self.is_awake else None
        except Exception:  # the page goes on: it has no other job that would queue the next one
            log.exception("the job of a page has failed")
            next_in = IDLE_SECONDS
        self._used = time.thread_time() - used
        with self.lock:
            self._queued = False
            again, self._again = self._again, False
        for ended in self._listeners:
            ended()
        now = time.monotonic()
        if again:
            self.wake()
        elif next_in is not None:
            late = now - at
            if paced:
                LATENESS.note(late)
            # Jobs keep their rhythm, even if single ones are late; on a busy server they come less often.
            pause = min(late / 2, MAX_SLOWDOWN * JOB_SECONDS)  # also after a job that waited for long
            self._queue(now if not next_in else at + next_in if late < next_in else now + pause)

    def _job(self) -> float | None:
        """Advance all panels; return the seconds until the next job, 0: at once, None: when it is woken."""
        self._start_if_ready()
        target, panels, watched = self.target(), self.panels, self.is_watched
        running, left, waits = self.goes_on, False, False
        for panel in panels:
            if panel.at_work or panel.error is not None:
                continue
            if running and panel.is_ready:
                panel.skip(target, self.rate)  # a second's steps
            if not panel.run.prepared:
                waits = not self._prepare(panel) or waits
            elif panel.run.is_long and (panel.is_freed or panel.due(target)):
                self._set_aside(panel, LONG, functools.partial(self._advance_aside, panel))
            else:
                left = panel.advance(target, CHUNK_SECONDS / 2, watched) or left
                if not panel.is_ready and panel.error is None:
                    left = True  # its knobs need a new state, or its steps are being repeated
        worked, open_ = self._work_in_background(panels)
        for panel in panels:
            if not panel.at_work:
                panel.publish(running, target)
        self._start_if_ready()
        if left or worked or any(panel.due(self.target()) for panel in panels if self._can_step(panel)):
            return 0.0 if left or worked or math.isinf(target) else JOB_SECONDS
        if waits:
            return COMPILING_SECONDS
        if self.running and not all(panel.run.over for panel in panels):
            return JOB_SECONDS if watched else UNWATCHED_JOB_SECONDS
        return IDLE_SECONDS if open_ else None

    def _can_step(self, panel: Panel) -> bool:
        return not panel.at_work and panel.is_ready and panel.error is None and not panel.run.over

    def _work_in_background(self, panels: tuple[Panel, ...]) -> tuple[bool, bool]:
        """Do a slice of a panel's background work; return whether there was any, and may be more."""
        able = [panel for panel in panels if self._can_work(panel)]
        for i in range(len(able)):
            panel = able[(self._turn + i) % len(able)]
            if panel.work_in_background(not self.running):
                self._turn += i + 1
                return True, True
        return False, bool(able)

    def _can_work(self, panel: Panel) -> bool:
        ready = not panel.at_work and panel.is_ready and panel.error is None
        return ready and panel.run.has_background_work and not (self.running and math.isinf(self.rate))

    def _prepare(self, panel: Panel) -> bool:
        """Prepare a run on a thread of its own; return False while its kernels compile elsewhere."""
        if not COMPILING.request(panel.run.jobs()):
            return False
        alone = panel.run.is_long or panel.compiling is not None
        self._set_aside(panel, LONG if alone else FULL_SPEED, panel.prepare)
        return True

    def _advance_aside(self, panel: Panel) -> None:
        panel.advance(self.target(), 0.0, self.is_watched)

    def _set_aside(self, panel: Panel, pool: Pool, work: Callable[[], object]) -> None:
        """Let a panel do a piece of work on a thread of this pool, if no other panel of the page does."""
        with self.lock:
            if self._aside[pool] is not None:
                return
            self._aside[pool], panel.at_work = panel, True
        pool.submit(functools.partial(self._work_aside, panel, pool, work))

    def _work_aside(self, panel: Panel, pool: Pool, work: Callable[[], object]) -> None:
        try:
            if not panel.is_left():
                work()
        finally:
            with self.lock:
                self._aside[pool], panel.at_work = None, False
            try:
                panel.publish(self.goes_on, self.target())
            finally:
                self.wake()


def _drop_late_undo(undo: Undo, race: Race[Any]) -> None:
    if race._undo is undo:
        race.drop_undo()


def _close_if_left(race: Race[Any], left_at: float) -> None:
    with race.lock:
        if race._left_at == left_at:
            race.close()


def _free_if_closed(race: Race[Any], closed_at: float) -> None:
    with race.lock:
        if race.closed_at != closed_at:
            return
        if getattr(race.setup, "kept_seconds", 0.0):
            race.lost = race.lost or any(panel.run.n for panel in race.panels)
            race._renew(race._same_again())
        race.drop_undo()
    race.free()
