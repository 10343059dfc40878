"""The scheduler: shares of tenants, priorities and lanes by a clock that tests move; threads and handles."""

import os
import sys
import threading
import time

import pytest
from waiting import PATIENCE, wait

from rbmviz.samplers import make_sampler
from rbmviz.session import Coupling, CouplingSetup, SamplingPlan, SamplingRun, Worker
from rbmviz.session import scheduler as scheduler_module
from rbmviz.session import worker as worker_module
from rbmviz.session.scheduler import (
    BEAT_SECONDS,
    SAVED_SECONDS,
    Due,
    Lateness,
    Page,
    Priority,
    Scheduler,
    Task,
    Tenant,
)

UNIT_SECONDS, NOTHING = 0.03, bool


def without_threads(n, clock):
    made = Scheduler(n, clock)
    made.paced.most = made.compute.most = made.long.most = 0
    return made


class Served:
    """Tasks that ask again as soon as a unit has ended; each unit takes 30 ms."""

    def __init__(self, scheduler, clock, wanted):
        self.scheduler, self.clock = scheduler, clock
        self.tasks = {Task(tenant, NOTHING): how for tenant, *how in wanted}
        self.units = []
        for task in self.tasks:
            self.ask(task)

    def ask(self, task):
        priority, late = (*self.tasks[task], False)[:2]
        self.scheduler.ask(task, Due(priority, self.clock.now, late=late))

    def serve(self, seconds):
        """Let time pass; return the number of units of each tenant."""
        before, lane = len(self.units), self.scheduler.compute
        for _ in range(round(seconds / UNIT_SECONDS)):
            taken = [task for _ in range(self.scheduler.n) if (task := self.scheduler.take(lane))]
            self.clock.now += UNIT_SECONDS
            for task in taken:
                self.scheduler.end(lane, task, UNIT_SECONDS)
                if task in self.tasks:
                    self.ask(task)
            self.units += taken
        made = [task.tenant for task in self.units[before:]]
        return {task.tenant: made.count(task.tenant) for task in self.tasks}

    def leave(self):
        for task in self.tasks:
            self.scheduler.ask(task, None)


def serve(scheduler, clock, wanted, seconds):
    served = Served(scheduler, clock, wanted)
    units = served.serve(seconds)
    served.leave()
    return units


@pytest.mark.parametrize("n", [1, 2])
def test_twelve_panels_have_no_more_than_two(clock, n):
    many, few = Tenant(), Tenant()
    wanted = [(many, Priority.FULL)] * 12 + [(few, Priority.FULL)] * 2
    counts = serve(without_threads(n, clock), clock, wanted, 30)
    assert sum(counts.values()) == n * 1000
    assert counts[few] == pytest.approx(counts[many], rel=0.01)


def test_within_a_tenant_all_have_units_in_turn(clock):
    tenant = Tenant()
    served = Served(without_threads(1, clock), clock, [(tenant, Priority.FULL)] * 3)
    served.serve(6 * UNIT_SECONDS)
    assert served.units == [*served.tasks] * 2


def test_late_runs_have_every_second_unit_of_their_tenant(clock):
    tenant = Tenant()
    served = Served(without_threads(1, clock), clock, [(tenant, Priority.FULL, i == 8) for i in range(9)])
    served.serve(64 * UNIT_SECONDS)
    counts = [served.units.count(task) for task in served.tasks]
    assert counts == [4] * 8 + [32]


def test_paced_runs_that_cannot_keep_their_pace_leave_units_to_the_background(clock):
    tenant = Tenant()
    wanted = [(tenant, Priority.PACED)] * 3 + [(tenant, Priority.BACKGROUND)]
    served = Served(without_threads(1, clock), clock, wanted)
    served.serve(30)
    *paced, background = (served.units.count(task) for task in served.tasks)
    assert 40 < background < min(paced) / 4


def test_being_away_saves_little_up(clock):
    scheduler, one, other = without_threads(1, clock), Tenant(), Tenant()
    serve(scheduler, clock, [(one, Priority.FULL)], 60)
    both = [(one, Priority.FULL)] * 2 + [(other, Priority.FULL)] * 2
    counts = serve(scheduler, clock, both, 6)
    assert counts[other] == pytest.approx(counts[one], abs=2)
    # The first to leave comes back a minute later, and has a second of it.
    serve(scheduler, clock, [(one, Priority.FULL)], 60)
    counts = serve(scheduler, clock, both, 6)
    assert counts[other] == pytest.approx(counts[one] + SAVED_SECONDS / UNIT_SECONDS, abs=3)


@pytest.mark.parametrize("first", [Priority.START, Priority.PACED])
def test_little_work_that_a_person_waits_for_goes_first(clock, first):
    scheduler, full, newcomer = without_threads(1, clock), Tenant(), Tenant()
    served = Served(scheduler, clock, [(full, Priority.FULL)] * 12)
    served.serve(3)
    task = Task(newcomer, NOTHING)
    for _ in range(20):
        scheduler.ask(task, Due(first, clock.now))
        served.serve(UNIT_SECONDS)
        assert served.units[-1] is task
        served.serve(4 * UNIT_SECONDS)


@pytest.mark.parametrize("priority", [Priority.START, Priority.PACED])
def test_urgent_work_without_end_starves_nobody(clock, priority):
    full, restless = Tenant(), Tenant()
    wanted = [(restless, priority)] * 12 + [(full, Priority.FULL)]
    counts = serve(without_threads(1, clock), clock, wanted, 60)
    assert counts[full] == pytest.approx(counts[restless], abs=priority.value / UNIT_SECONDS + 2)


@pytest.mark.parametrize(("panels", "most"), [(1, 100), (2, 6)])
def test_sweeps_have_what_is_left_over(clock, panels, most):
    sweep, page = Tenant(), Tenant()
    wanted = [(sweep, Priority.SWEEP)] * 3 + [(page, Priority.FULL)] * panels
    counts = serve(without_threads(2, clock), clock, wanted, 3)
    assert counts[sweep] <= most
    assert sum(counts.values()) == 200


def test_sweeps_do_not_starve_on_a_full_server(clock):
    sweep = Tenant()
    wanted = [(Tenant(), Priority.FULL) for _ in range(4)] + [(sweep, Priority.SWEEP)] * 2
    counts = serve(without_threads(2, clock), clock, wanted, 30)
    assert 30 / 0.6 <= counts[sweep] <= 30 / 0.5


def test_sweeps_have_no_account(clock):
    """Else a sweep that had waited for a night would hold the level down, at which new tenants begin."""
    scheduler, sweep, tenant, late = without_threads(1, clock), Tenant(), Tenant(), Tenant()
    serve(scheduler, clock, [(sweep, Priority.SWEEP), (tenant, Priority.FULL)], 30)
    counts = serve(scheduler, clock, [(tenant, Priority.FULL), (late, Priority.FULL)], 3)
    assert counts[late] <= counts[tenant] + 1


def test_work_that_is_not_due_is_not_done_and_background_comes_before_it(clock):
    scheduler = without_threads(1, clock)
    task = Task(Tenant(), NOTHING)
    scheduler.ask(task, Due(Priority.PACED, clock.now + 1, background_at=clock.now + 0.5))
    assert scheduler.take(scheduler.compute) is None
    clock.now += 0.6
    assert scheduler.take(scheduler.compute) is task
    scheduler.end(scheduler.compute, task, 0.0)
    assert scheduler.take(scheduler.compute) is None  # it has not asked again


def test_what_cannot_be_divided_has_a_lane_of_its_own(clock):
    scheduler = without_threads(1, clock)
    start, heavy = Task(Tenant(), NOTHING), Task(Tenant(), NOTHING)
    scheduler.ask(start, Due(Priority.START, clock.now, long=True))
    scheduler.ask(heavy, Due(Priority.FULL, clock.now))
    assert scheduler.take(scheduler.compute) is heavy
    assert scheduler.take(scheduler.compute) is None
    assert scheduler.take(scheduler.long) is start


# With threads


def test_every_request_is_served_by_one_thread_at_a_time():
    scheduler, tenant, asked = Scheduler(4), Tenant(), 200
    made, inside, most = [0] * 8, [0] * 8, [0]

    def work(i):
        inside[i] += 1
        most[0] = max(most[0], inside[i])
        made[i] += 1
        if made[i] < asked:
            scheduler.ask(tasks[i], Due(Priority.FULL, scheduler.clock() + 0.002 * (made[i] % 2)))
        time.sleep(0.0005)
        inside[i] -= 1

    tasks = [Task(tenant, lambda i=i: work(i)) for i in range(8)]
    for task in tasks:
        scheduler.ask(task, Due(Priority.FULL, scheduler.clock()))
    wait(lambda: made == [asked] * 8, "all units")
    assert most == [1]
    assert 1 <= scheduler.compute.threads <= 4


def test_a_task_beside_one_that_is_due_much_later_comes_in_time():
    scheduler, made = Scheduler(2), []

    def work():
        made.append(time.sleep(0.01))  # the other thread waits for the later one meanwhile
        scheduler.ask(soon, Due(Priority.FULL, scheduler.clock() + 0.03))

    soon, later = Task(Tenant(), work), Task(Tenant(), NOTHING)
    scheduler.ask(later, Due(Priority.FULL, scheduler.clock() + 1e6))
    scheduler.ask(soon, Due(Priority.FULL, scheduler.clock()))
    wait(lambda: len(made) > 5, "units")


def test_a_command_during_a_unit_is_served_after_it():
    scheduler, held, go, units = Scheduler(1), threading.Event(), threading.Event(), []
    task = Task(Tenant(), lambda: (units.append(1), held.set(), go.wait(PATIENCE)))
    scheduler.ask(task, Due(Priority.FULL, scheduler.clock()))
    assert held.wait(PATIENCE)
    scheduler.ask(task, Due(Priority.FULL, scheduler.clock()))
    go.set()
    wait(lambda: len(units) == 2, "a second unit")


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no niceness of their own")
def test_paced_work_has_the_priority_of_pages_whoever_asks_for_it():
    scheduler, found = Scheduler(1), {}

    def work(name):
        found[name] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        if name == "compute":
            scheduler.ask(paced, Due(Priority.PACED, scheduler.clock()))

    paced = Task(Tenant(), lambda: work("paced"), paced=True)
    scheduler.ask(Task(Tenant(), lambda: work("compute")), Due(Priority.FULL, scheduler.clock()))
    wait(lambda: len(found) == 2, "both")
    assert found["paced"] == os.getpriority(os.PRIO_PROCESS, 0) < found["compute"]


def test_a_task_that_fails_is_dropped_and_others_go_on(caplog):
    scheduler, made = Scheduler(1), []

    def broken():
        raise ZeroDivisionError("deep inside")

    scheduler.ask(Task(Tenant(), broken), Due(Priority.FULL, scheduler.clock()))
    scheduler.ask(Task(Tenant(), lambda: made.append(1)), Due(Priority.FULL, scheduler.clock()))
    wait(lambda: made, "the other task")
    assert "deep inside" in caplog.text


def test_one_panel_beside_six_of_somebody_else_makes_as_many_chunks(model, monkeypatch):
    scheduler = Scheduler(1)
    many, few = Page(scheduler=scheduler), Page(scheduler=scheduler)
    chunks, counting, enough, real = {0: 0, 1: 0}, threading.Event(), threading.Event(), SamplingRun.advance

    def counted(run, n):
        alone = run.plan.seed  # 1: the one panel of a visitor
        if alone:
            counting.set()
        elif counting.is_set() and not enough.is_set():
            time.sleep(0.002)  # no chunk of theirs is shorter than another
        chunks[alone] += counting.is_set()
        if sum(chunks.values()) >= 200:
            enough.set()
        return real(run, min(n, 10))

    monkeypatch.setattr(SamplingRun, "advance", counted)
    monkeypatch.setattr(worker_module, "CHUNK_SECONDS", 0.0)  # one chunk a unit
    seeds = (0, 0, 0, 0, 0, 0, 1)
    workers = [
        Worker(SamplingPlan(model, seed=seed), make_sampler("gibbs"), page=few if seed else many)
        for seed in seeds
    ]
    try:
        for worker in workers:
            worker.open()
            worker.resume()
        wait(lambda: [worker.request_snapshot() for worker in workers] and enough.is_set(), "200 chunks")
    finally:
        for worker in workers:
            worker.close()
        for worker in workers:
            worker.join(PATIENCE)
    # By panels it would have a seventh of them.
    assert chunks[1] > 200 / 3


def test_a_paused_page_has_no_work(open_worker, model):
    worker = open_worker(SamplingPlan(model), make_sampler("gibbs"), rate=200.0)
    worker.resume()
    wait(lambda: worker.request_snapshot().n > 5, "samples")
    worker.pause()
    wait(lambda: worker.request_snapshot().status == "paused", "a pause")
    wait(lambda: not worker._page.drives(1) and worker._page._task.due is None, "an end of beats")
    assert worker._next_work() is None


def test_unwatched_full_speed_gives_way(open_worker, model, monkeypatch):
    worker = open_worker(SamplingPlan(model), make_sampler("gibbs"))
    worker.resume()
    wait(lambda: worker.request_snapshot().n > 5, "samples")
    for seconds, priority in ((1e6, Priority.FULL), (-1.0, Priority.BACKGROUND)):
        monkeypatch.setattr(worker_module, "WATCHED_SECONDS", seconds)
        with worker._lock:
            assert worker._next_work().priority is priority


def test_a_full_compute_lane_does_not_stop_steps_of_light_runs(model, toy):
    scheduler, go, held = Scheduler(1), threading.Event(), threading.Event()
    blocks = Task(Tenant(), lambda: (held.set(), go.wait(PATIENCE)))
    worker = Worker(SamplingPlan(model), make_sampler("gibbs"), rate=200.0, page=Page(scheduler=scheduler))
    try:
        worker.open()
        worker.resume()
        wait(lambda: worker.request_snapshot() and worker._page.drives(1), "beats")
        scheduler.ask(blocks, Due(Priority.FULL, scheduler.clock()))
        assert held.wait(PATIENCE)
        n = worker.request_snapshot().n
        wait(lambda: worker.request_snapshot().n > n + 20, "steps")
    finally:
        go.set()
        worker.close()
        worker.join(PATIENCE)


def test_steps_come_before_background_work_of_the_same_run(open_worker, model):
    worker = open_worker(CouplingSetup(model.rbm), Coupling(), rate=100)
    worker.resume()
    wait(lambda: worker.request_snapshot().n > 5, "steps")
    with worker._lock:
        work = worker._next_work()
    assert (work.priority, work.background_at < work.at) == (Priority.PACED, True)
    n = worker.request_snapshot().n
    wait(lambda: worker.request_snapshot().n > n + 20, "steps")


# Lateness, and beats


@pytest.fixture
def lateness(clock):
    return Lateness(clock)


def beat_for(lateness, clock, seconds, late_share):
    """Let 16 beats a second end, the given share of them late."""
    for i in range(16 * seconds):
        clock.now += 1 / 16
        lateness.note_beat(clock.now, late=(i % 16) < 16 * late_share)


def test_late_beats_slow_down_at_most_tenfold_and_beats_in_time_bring_all_back(lateness, clock):
    beat_for(lateness, clock, 10, 0.0)
    assert lateness.factor == 1
    beat_for(lateness, clock, 3, 1.0)
    assert 1.5 < lateness.factor < 4
    beat_for(lateness, clock, 20, 1.0)
    assert lateness.factor == Lateness.MAX_FACTOR
    beat_for(lateness, clock, 3, 0.0)
    assert 3 < lateness.factor < Lateness.MAX_FACTOR  # slowly: the load may come back
    beat_for(lateness, clock, 40, 0.0)
    assert lateness.factor == 1


def test_in_between_nothing_changes(lateness, clock):
    beat_for(lateness, clock, 5, 1.0)
    beat_for(lateness, clock, 2, between := 3 / 16)
    before = lateness.factor
    beat_for(lateness, clock, 30, between)
    assert lateness.factor == before > 1


def test_without_beats_all_comes_back(lateness, clock):
    beat_for(lateness, clock, 20, 1.0)
    clock.now += 60
    assert lateness.factor == 1
    lateness.note_beat(clock.now, late=True)  # the first beat for a minute says nothing of the share
    assert lateness.factor == 1
    beat_for(lateness, clock, 2, 1.0)
    assert lateness.factor > 1


def test_beats_that_end_seconds_after_they_were_due_slow_down_most(lateness, clock):
    for _ in range(10):
        due, clock.now = clock.now, clock.now + 3
        lateness.note_beat(due, late=True)
    assert lateness.factor == Lateness.MAX_FACTOR


class Light:
    """A light run with a step every 10 ms."""

    watched = True

    def __init__(self, page, clock):
        self.page, self.clock, self.made = page, clock, []

    def work(self):
        self.made.append(self.clock.now)
        self.page.drive(self, self.clock.now + 0.01)


def beats_for(scheduler, clock, seconds):
    """Let time pass, and do the beats that are due."""
    for _ in range(round(seconds / 0.005)):
        while task := scheduler.take(scheduler.paced):
            scheduler.do_unit(scheduler.paced, task)
        clock.now += 0.005


def test_runs_of_a_page_work_together_once_a_beat(clock):
    scheduler = without_threads(1, clock)
    page = Page(scheduler=scheduler)
    runs = [Light(page, clock) for _ in range(3)]
    for run in runs:
        page.drive(run, clock.now, now=True)
    beats_for(scheduler, clock, 1.02)
    assert runs[0].made == runs[1].made == runs[2].made
    assert len(runs[0].made) == pytest.approx(1 / BEAT_SECONDS, abs=1)
    # After a command the next step comes when it is due, not a whole interval later.
    made = len(runs[0].made)
    page.drive(runs[0], clock.now, now=True)
    beats_for(scheduler, clock, 0.005)
    assert len(runs[0].made) == made + 1


def test_beats_are_rarer_while_nobody_watches_and_on_a_slow_server(clock, open_worker, model, monkeypatch):
    scheduler = without_threads(1, clock)
    page = Page(scheduler=scheduler)
    run = Light(page, clock)
    run.watched = False
    page.drive(run, clock.now)
    beats_for(scheduler, clock, 1.0)
    assert len(run.made) == pytest.approx(1 / scheduler_module.UNWATCHED_SECONDS, abs=1)
    beat_for(scheduler.lateness, clock, 20, 1.0)
    assert page.seconds == Lateness.MAX_FACTOR * BEAT_SECONDS
    # There, rare requests count as watching.
    worker = open_worker(SamplingPlan(model), make_sampler("gibbs"))
    worker.request_snapshot()
    worker._asked_at -= 2 * worker_module.WATCHED_SECONDS
    assert not worker.watched
    monkeypatch.setattr(worker, "_page", page)
    assert worker.watched
    monkeypatch.undo()


def test_beats_that_end_late_are_noted(clock):
    scheduler = without_threads(1, clock)
    page = Page(scheduler=scheduler)
    run = Light(page, clock)
    page.drive(run, clock.now)
    for _ in range(40):
        clock.now += 0.5  # nobody has taken the beat
        scheduler.do_unit(scheduler.paced, scheduler.take(scheduler.paced))
    assert scheduler.slowdown > 5
