"""Trainings that are kept as bytes go on elsewhere to the same bits; what was not written here is refused."""

import io
import json
import re

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz import BadInput, make_trainer
from rbmviz.session import Comparison, TrainingRun, TrainingSetup
from rbmviz.session.kept_training import read_trainings, write_trainings


@pytest.fixture
def compare():
    made = []

    def make(setup):
        made.append(Comparison(setup))
        return made[-1]

    yield make
    for comparison in made:
        comparison.close()
        for panel in comparison.panels:
            panel.worker.join(PATIENCE)


@pytest.fixture
def lesson(compare, toy):
    """Twenty updates of two trainers with a turned knob, and of a branch."""
    comparison = compare(TrainingSetup(toy, 3, 1, 2))
    comparison.add(make_trainer("ucd"))
    comparison.add(make_trainer("cd"))
    to(comparison, 10)
    comparison.apply_knobs(comparison.panels[1].key, learning_rate=0.5)
    origin = comparison.panels[0].worker.read(TrainingRun.origin)
    comparison.add(make_trainer("pcd"), comparison.setup.plan()._replace(origin=origin))
    to(comparison, 10)
    return comparison


def to(comparison, n):
    """Make n more steps in every panel."""
    there = [shown.n + n for _, shown in comparison.poll()]
    comparison.step(n)
    wait(lambda: [shown.n for _, shown in comparison.poll()] == there, "steps")
    wait(lambda: all(shown.status == "paused" for _, shown in comparison.poll()), "a pause")


def weights(comparison):
    return [[model.W for model in shown.models] for _, shown in comparison.poll()]


def opened(compare, content, setup):
    comparison = compare(setup)
    for plan, changes, n, kept in read_trainings(content, setup):
        panel = comparison.add(changes[-1].algorithm, plan)
        if kept is not None:
            panel.worker.continue_from(n, changes, kept)
    return comparison


def test_kept_trainings_go_on_to_the_same_bits(compare, lesson):
    known = [{point.update for point in shown.likelihoods} for _, shown in lesson.poll()]
    again = opened(compare, write_trainings(lesson), lesson.setup)
    wait(lambda: [s.status for _, s in again.poll()] == ["paused"] * 3, "three trainings")
    assert [s.n for _, s in again.poll()] == [20, 20, 20]
    for (_, now), (_, was), points in zip(again.poll(), lesson.poll(), known, strict=True):
        assert now.algorithm == was.algorithm
        assert [trace.update for trace in now.traces] == [trace.update for trace in was.traces]
        assert points <= {point.update for point in now.likelihoods}
    to(lesson, 5)
    to(again, 5)
    np.testing.assert_array_equal(weights(again), weights(lesson))
    # Put to rest they come back, and a reset goes to where they began, as at first.
    again.rest()
    again.open()
    wait(lambda: [s.status for _, s in again.poll()] == ["paused"] * 3, "three trainings")
    np.testing.assert_array_equal(weights(again), weights(lesson))
    for comparison in (again, lesson):
        comparison.reset()
        wait(lambda c=comparison: [s.status for _, s in c.poll()] == ["paused"] * 3, "a reset")
        to(comparison, 3)
    assert [s.n for _, s in again.poll()] == [3, 3, 13]
    np.testing.assert_array_equal(weights(again), weights(lesson))


def test_other_settings_and_damage_are_one_sentence(lesson):
    content, setup = write_trainings(lesson), lesson.setup
    with pytest.raises(BadInput, match="other settings"):
        read_trainings(content, setup._replace(n_hidden=4))
    other = 1 - setup.dataset.train
    with pytest.raises(BadInput, match="other training data"):
        read_trainings(
            content,
            setup._replace(
                dataset=setup.dataset.__class__(
                    "toy", other, setup.dataset.validation, setup.dataset.test, "bits", "none"
                )
            ),
        )
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)

    def refused(**changed):
        file = io.BytesIO()
        np.savez(file, **{name: x for name, x in (arrays | changed).items() if x is not None})
        with pytest.raises(BadInput):
            read_trainings(file.getvalue(), setup)

    text = str(arrays["json"])
    for before, after in (
        ('"ucd"', '"exec"'),
        ('"n_chains": 100', '"n_chains": 10'),
        ('"n": 20', '"n": 21'),
        ('"replicates": 2', '"replicates": 1000000000'),
        ('"stride": 1', '"stride": 0'),
        ('"panels"', '"pannels"'),
        (text, "[" * 10_000),
    ):
        assert before in text
        refused(json=np.array(text.replace(before, after)))
    for name, x in arrays.items():
        if name != "json":
            refused(**{name: None})
            refused(**{name: x[:-1]} if "likelihoods" not in name else {name: x[:, :-2]})
    file = io.BytesIO()  # as it was written before sweeps were counted, and before variances were computed
    earlier = {
        name: x[:, :-1] if name.endswith(("likelihoods", "clocks")) else x for name, x in arrays.items()
    }
    for i, panel in enumerate(json.loads(text)["panels"]):
        known = [not name.startswith("variance_") for name in panel["state"]["names"]]
        assert known.count(False) == 3
        earlier[f"{i}.stats"] = arrays[f"{i}.stats"][:, known]
    without = re.sub(r', "variance_[Wbc]"|"variance_[Wbc]", ', "", text)
    earlier["json"] = np.array(re.sub(r', "sweeps": [0-9.]+', "", without))
    np.savez(file, **earlier)
    for now, (*_, was) in zip(
        read_trainings(content, setup), read_trainings(file.getvalue(), setup), strict=True
    ):
        assert [p.update for p in now.kept.likelihoods] == [p.update for p in was.likelihoods]
        assert {p.sweeps for p in was.likelihoods} == {0}
        assert set(was.names) == set(now.kept.names)
        assert np.isnan(was.stats[:, -3:]).all()
        assert [(update, 0, seconds) for update, _, seconds in now.kept.clocks] == list(was.clocks)
    for damaged in (b"", b"\x80\x04pickled", content[:-100]):
        with pytest.raises(BadInput):
            read_trainings(damaged, setup)
