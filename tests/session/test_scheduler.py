"""The scheduler: shares of tenants, priorities and lanes by a clock that tests move; threads and handles."""

import pytest

from rbmviz.session.scheduler import (
    SAVED_SECONDS,
    Due,
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
