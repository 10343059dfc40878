"""Scheduling of runs on the cores, with a clock that the tests move."""

import threading

import pytest
from waiting import wait

from rbmviz.samplers import make_sampler
from rbmviz.session import Coupling, CouplingSetup, SamplingPlan, SamplingRun, Worker
from rbmviz.session import worker as worker_module
from rbmviz.session.slots import SAVED, Group, Kind, Slots, Turn


def serve(slots, clock, wanted, seconds):
    """Let time pass; each turn takes 30 ms and is asked for again at once. Return the turns of each group.

    At the end nobody wants one any more.

    wanted : (group, kind) of every run
    """
    turns = [slots.ask(*want) for want in wanted]
    counts = {group: 0 for group, _ in wanted}
    for _ in range(round(seconds / 0.03)):
        clock.now += 0.03
        for i in [i for i, turn in enumerate(turns) if turn.granted.is_set()]:
            counts[turns[i].group] += 1
            slots.end(turns[i])
            turns[i] = slots.ask(turns[i].group, turns[i].kind)
    while turns:
        for turn in [turn for turn in turns if turn.granted.is_set()]:
            slots.end(turn)
            turns.remove(turn)
    return counts


def test_no_more_than_n_turns_at_once_in_the_order_of_arrival(clock):
    slots, group = Slots(2, clock), Group()
    turns = [slots.ask(group, Kind.FULL) for _ in range(4)]
    assert [turn.granted.is_set() for turn in turns] == [True, True, False, False]
    slots.end(turns[1])
    assert [turn.granted.is_set() for turn in turns] == [True, True, True, False]


def test_a_turn_that_does_not_come_in_time_is_withdrawn(clock):
    slots, one, other = Slots(1, clock), Group(), Group()
    held = slots.ask(one, Kind.FULL)
    clock.now += 1
    with slots.turn(other, Kind.FULL, patience=0.01) as granted:
        assert not granted
    late = slots.ask(other, Kind.FULL)
    behind = slots.ask(Group(), Kind.BACKGROUND)
    slots.end(held)
    assert (late.granted.is_set(), behind.granted.is_set()) == (True, False)
    assert not slots.withdraw(late)  # it has been granted
    slots.end(late)
    slots.end(behind)
    with slots.turn(one, Kind.FULL, patience=0) as granted:  # nothing is left of the turns above
        assert granted


@pytest.mark.parametrize("n", [1, 2])
def test_twelve_panels_have_no_more_than_two(clock, n):
    slots, many, few = Slots(n, clock), Group(), Group()
    counts = serve(slots, clock, [(many, Kind.FULL)] * 12 + [(few, Kind.FULL)] * 2, 30)
    assert sum(counts.values()) == n * 1000
    assert counts[few] == pytest.approx(counts[many], rel=0.01)


def test_within_a_group_everybody_has_turns(clock):
    slots, group = Slots(1, clock), Group()
    turns = [slots.ask(group, Kind.FULL) for _ in range(3)]
    for _ in range(2):
        for i in range(3):
            assert [turn.granted.is_set() for turn in turns] == [j == i for j in range(3)]
            clock.now += 0.03
            slots.end(turns[i])
            turns[i] = slots.ask(group, Kind.FULL)


def test_late_runs_have_every_second_turn_of_their_group(clock):
    slots, group = Slots(1, clock), Group()
    turns = [slots.ask(group, Kind.FULL, late=i == 8) for i in range(9)]
    made = []
    for _ in range(64):
        [i] = [i for i, turn in enumerate(turns) if turn.granted.is_set()]
        made.append(i)
        clock.now += 0.03
        slots.end(turns[i])
        turns[i] = slots.ask(group, Kind.FULL, late=i == 8)
    assert made.count(8) == 32
    assert {made.count(i) for i in range(8)} == {4}


def test_paced_work_of_a_group_leaves_turns_to_its_other_work(clock):
    """Three paced panels that cannot keep their pace, and a fourth that waits with work of its background."""
    slots, group = Slots(1, clock), Group()
    paced = [slots.ask(group, Kind.PACED) for _ in range(3)]
    other = slots.ask(group, Kind.FULL)
    for i in range(3):
        assert not other.granted.is_set()
        clock.now += 0.03
        slots.end(paced[i])
        paced[i] = slots.ask(group, Kind.PACED)
    assert other.granted.is_set()


def test_being_away_saves_little_up(clock):
    slots, one, other = Slots(1, clock), Group(), Group()
    serve(slots, clock, [(one, Kind.FULL)], 60)
    both = [(one, Kind.FULL)] * 2 + [(other, Kind.FULL)] * 2
    counts = serve(slots, clock, both, 6)
    assert counts[other] == pytest.approx(counts[one], abs=2)
    # The first to leave comes back a minute later, and has a second of it.
    serve(slots, clock, [(one, Kind.FULL)], 60)
    counts = serve(slots, clock, both, 6)
    assert counts[other] == pytest.approx(counts[one] + SAVED / 0.03, abs=3)


def test_little_work_that_shall_come_in_time_goes_first(clock):
    slots, full, paced = Slots(1, clock), Group(), Group()
    running = slots.ask(full, Kind.FULL)
    waiting = slots.ask(full, Kind.FULL)
    for _ in range(100):  # 10 ms each time, of every 40: less than its share
        turn = slots.ask(paced, Kind.PACED)
        assert not turn.granted.is_set()
        clock.now += 0.03
        slots.end(running)
        assert turn.granted.is_set()
        clock.now += 0.01
        slots.end(turn)
        assert waiting.granted.is_set()
        running, waiting = waiting, slots.ask(full, Kind.FULL)


def test_a_pace_that_cannot_be_kept_starves_nobody(clock):
    slots, full, paced = Slots(1, clock), Group(), Group()
    counts = serve(slots, clock, [(paced, Kind.PACED)] * 12 + [(full, Kind.FULL)], 60)
    assert counts[full] == pytest.approx(counts[paced], abs=Kind.PACED.value / 0.03 + 2)


def test_a_newcomer_is_not_stuck_behind_long_turns(clock):
    slots, old, new = Slots(2, clock), Group(), Group()
    long = [slots.ask(old, Kind.START) for _ in range(3)]
    queued = slots.ask(old, Kind.FULL)
    assert [turn.granted.is_set() for turn in long] == [True, True, False]
    turns = [slots.ask(new, Kind.START) for _ in range(2)]
    clock.now += 0.03
    # One beyond the number; its second waits as everybody does, but goes before all that the others want.
    assert [turn.granted.is_set() for turn in turns] == [True, False]
    slots.end(long[0])
    assert not turns[1].granted.is_set()  # there are still as many turns as slots
    slots.end(long[1])
    assert turns[1].granted.is_set()
    assert not queued.granted.is_set()


def test_newcomers_together_have_twice_the_slots_at_most(clock):
    slots = Slots(2, clock)
    turns = [slots.ask(Group(), Kind.START) for _ in range(10)]
    assert sum(turn.granted.is_set() for turn in turns) == 4


def test_beginning_anew_all_the_time_starves_nobody(clock):
    slots, full, restless = Slots(1, clock), Group(), Group()
    counts = serve(slots, clock, [(restless, Kind.START)] * 4 + [(full, Kind.FULL)], 60)
    assert counts[full] > 800


def test_a_turn_that_fails_is_given_back(clock):
    slots, group = Slots(1, clock), Group()
    with pytest.raises(ValueError, match="no"), slots.turn(group, Kind.FULL):
        raise ValueError("no")
    assert slots.ask(group, Kind.FULL).granted.is_set()


def test_one_panel_beside_six_of_somebody_else_makes_as_many_chunks(model, monkeypatch):
    slots, many, few = Slots(1), Group(), Group()
    monkeypatch.setattr(worker_module, "SLOTS", slots)
    chunks, counting, enough, real = {0: 0, 1: 0}, threading.Event(), threading.Event(), SamplingRun.advance

    def counted(run, n):
        alone = run.plan.seed  # 1: the one panel of a visitor
        if alone:
            counting.set()
        elif counting.is_set() and not enough.is_set():
            wait(lambda: few.waiting, "the one panel wants its next turn")  # else nobody is kept waiting
        chunks[alone] += counting.is_set()
        if sum(chunks.values()) >= 200:
            enough.set()
        return real(run, min(n, 10))  # no chunk of theirs is longer than another

    monkeypatch.setattr(SamplingRun, "advance", counted)
    seeds = (0, 0, 0, 0, 0, 0, 1)
    workers = [
        Worker(SamplingPlan(model, seed=seed), make_sampler("gibbs"), group=few if seed else many)
        for seed in seeds
    ]
    try:
        for worker in workers:
            worker.open()
            worker.resume()
        wait(enough.is_set, "200 chunks")
    finally:
        for worker in workers:
            worker.close()
        for worker in workers:
            worker.join()
    # By threads it would have a seventh of them.
    assert chunks[1] > 200 / 3


def test_a_paced_sampler_waits_for_no_turn_in_which_it_has_nothing_to_do(model, monkeypatch):
    asked = set()

    class Seen(Slots):
        def ask(self, group, kind, late=False):
            asked.add(kind)
            return super().ask(group, kind, late)

    monkeypatch.setattr(worker_module, "SLOTS", Seen(1))
    worker = Worker(SamplingPlan(model), make_sampler("gibbs"), rate=200)
    try:
        worker.open()
        worker.resume()
        wait(lambda: worker.request_snapshot().n > 20, "samples")
    finally:
        worker.close()
        worker.join()
    assert asked == {Kind.START, Kind.PACED}


def test_steps_do_not_wait_for_a_turn_of_the_runs_own_background_work(model, monkeypatch):
    asked = set()

    class Full(Slots):
        """A server on which no turn for more than the steps that are due ever comes."""

        def ask(self, group, kind, late=False):
            asked.add(kind)
            return Turn(group, kind, late) if kind is Kind.FULL else super().ask(group, kind, late)

        def withdraw(self, turn):
            return True

    monkeypatch.setattr(worker_module, "SLOTS", Full(1))
    worker = Worker(CouplingSetup(model.rbm), Coupling(), rate=100)
    try:
        worker.open()
        worker.resume()
        wait(lambda: worker.request_snapshot() and Kind.FULL in asked, "a turn for the background is wanted")
        n = worker.request_snapshot().n
        wait(lambda: worker.request_snapshot().n > n + 20, "steps")
    finally:
        worker.close()
        worker.join()


def test_the_background_has_what_is_left_over(clock):
    slots, group = Slots(2, clock), Group()
    behind = [slots.ask(Group(), Kind.BACKGROUND) for _ in range(3)]
    assert [turn.granted.is_set() for turn in behind] == [True, True, False]
    watched = [slots.ask(group, Kind.FULL) for _ in range(3)]
    assert [turn.granted.is_set() for turn in watched] == [True, True, False]  # they do not wait for slices
    slots.end(behind[0])
    slots.end(behind[1])
    assert not behind[2].granted.is_set()
    for turn in watched:
        slots.end(turn)
    assert behind[2].granted.is_set()


def test_the_background_does_not_starve_on_a_full_server(clock):
    slots = Slots(2, clock)
    counts = serve(slots, clock, [(Group(), Kind.FULL)] * 4 + [(behind := Group(), Kind.BACKGROUND)] * 2, 30)
    assert 30 / 0.6 <= counts[behind] <= 30 / 0.5


def test_the_background_has_no_account(clock):
    """Else a sweep that had waited for a night would hold the level down, at which new groups begin."""
    slots, behind, group = Slots(1, clock), Group(), Group()
    serve(slots, clock, [(behind, Kind.BACKGROUND), (group, Kind.FULL)], 30)
    late = Group()
    counts = serve(slots, clock, [(group, Kind.FULL), (late, Kind.FULL)], 3)
    assert counts[late] <= counts[group] + 1
