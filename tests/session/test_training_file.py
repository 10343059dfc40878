"""Trainings that are written go on elsewhere to the same bits; what was not written here is refused."""

import dataclasses
import io
import json

import numpy as np
import pytest
from waiting import wait, wait_for_pause

from rbmviz import BadInput, make_trainer
from rbmviz.datasets import load_bytes
from rbmviz.session import TrainingRun, TrainingSetup
from rbmviz.session.training_file import read_training_file, write_trainings


@pytest.fixture
def lesson(open_comparison, toy):
    """Twenty updates of two trainers with a turned knob, and of a branch."""
    comparison = open_comparison(TrainingSetup(toy, 3, 1, 2), make_trainer("ucd"), make_trainer("cd"))
    comparison.apply_knobs(comparison.panels[0].key, learning_rate=0.2)  # before the first update
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
    wait_for_pause(comparison)


def weights(comparison):
    return [[model.W for model in shown.models] for _, shown in comparison.poll()]


def opened(open_comparison, content, setup):
    comparison = open_comparison(setup)
    for plan, changes, n, kept in read_training_file(content).panels(setup):
        panel = comparison.add(changes[-1].algorithm, plan)
        if kept is not None:
            panel.worker.continue_from(n, changes, kept)
    return comparison


def test_written_trainings_go_on_to_the_same_bits(open_comparison, lesson):
    known = [{point.update for point in shown.likelihoods} for _, shown in lesson.poll()]
    again = opened(open_comparison, write_trainings(lesson, {}), lesson.setup)
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
    content, setup = write_trainings(lesson, {}), lesson.setup
    with pytest.raises(BadInput, match="other settings"):
        read_training_file(content).panels(setup._replace(n_hidden=4))
    other = dataclasses.replace(setup.dataset, train=1 - setup.dataset.train)
    with pytest.raises(BadInput, match="other training data"):
        read_training_file(content).panels(setup._replace(dataset=other))
    refused = refuser(content, setup)
    arrays = arrays_of(content)
    for name, before, after in (
        ("0.json", '"ucd"', '"exec"'),
        ("0.json", '"n_chains": 100', '"n_chains": 10'),
        ("1.json", '"n": 20', '"n": 21'),
        ("0.json", '"replicates": 2', '"replicates": 1000000000'),
        ("2.json", '"stride": 1', '"stride": 0'),
        ("json", '"n_panels": 3', '"n_panels": 4'),
        ("json", '"n_panels": 3', '"n_panels": 1e9'),
        ("json", '"models": []', '"models": ["a model"]'),
        ("json", '"models": []', '"models": 3'),
        ("json", '"data": null', '"data": {}'),
        ("json", str(arrays["json"]), "[" * 10_000),
        ("json", str(arrays["json"]), "[1, 2]"),
    ):
        assert before in str(arrays[name])
        refused(**{name: np.array(str(arrays[name]).replace(before, after))})
    for name, x in arrays.items():
        refused(**{name: None})
        if not name.endswith("json"):
            refused(**{name: x[:-1]} if "likelihoods" not in name else {name: x[:, :-2]})
    for damaged in (b"", b"\x80\x04pickled", content[:-100]):
        with pytest.raises(BadInput):
            read_training_file(damaged)


def arrays_of(content):
    with np.load(io.BytesIO(content)) as archive:
        return dict(archive)


def refuser(content, setup):
    """Return a function that asserts that the file is refused in one sentence with other arrays in it."""
    arrays = arrays_of(content)

    def refused(**changed):
        file = io.BytesIO()
        np.savez(file, **{name: x for name, x in (arrays | changed).items() if x is not None})
        with pytest.raises(BadInput):
            read_training_file(file.getvalue()).panels(setup)

    return refused


def test_a_file_that_lacks_statistics_is_refused(lesson):
    content = write_trainings(lesson, {})
    arrays = arrays_of(content)
    said = json.loads(str(arrays["0.json"]))
    known = [not name.startswith("variance_") for name in said["state"]["names"]]
    assert known.count(False) == 3
    said["state"]["names"] = [name for name in said["state"]["names"] if not name.startswith("variance_")]
    arrays["0.stats"] = arrays["0.stats"][:, known]
    arrays["0.json"] = np.array(json.dumps(said))
    file = io.BytesIO()
    np.savez(file, **arrays)
    assert read_training_file(content).panels(lesson.setup)[0].kept.names
    with pytest.raises(BadInput):
        read_training_file(file.getvalue()).panels(lesson.setup)


@pytest.fixture
def uploads():
    """Data of uploads: labelled pictures with drawn bits, words, and rows under a misleading name."""
    rng = np.random.default_rng(4)
    grey, y = rng.random((40, 3, 5)), rng.integers(0, 3, 40)
    npz = io.BytesIO()
    np.savez(npz, x=grey, y=y)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    lines = "\n".join(" ".join(rng.choice(words, 6, replace=False)) for _ in range(30))
    rows = "\n".join(",".join(map(str, row)) for row in rng.integers(0, 2, (30, 9)))
    return [
        load_bytes(npz.getvalue(), "grey.npz", binarise="bernoulli"),
        load_bytes(lines.encode(), "words.txt"),
        load_bytes(rows.encode(), "bas@3.CSV"),
    ]


def test_the_data_of_an_upload_are_in_the_file(open_comparison, uploads):
    for dataset in uploads:
        comparison = open_comparison(TrainingSetup(dataset, 3))
        comparison.add(make_trainer("cd"))
        to(comparison, 4)
        file = read_training_file(write_trainings(comparison, {}))
        for field in dataclasses.fields(dataset):
            np.testing.assert_array_equal(getattr(file.dataset, field.name), getattr(dataset, field.name))
        again = opened(open_comparison, write_trainings(comparison, {}), TrainingSetup(file.dataset, 3))
        wait(lambda c=again: [s.status for _, s in c.poll()] == ["paused"], "a training")
        to(comparison, 3)
        to(again, 3)
        np.testing.assert_array_equal(weights(again), weights(comparison))


def test_hostile_data_are_refused(open_comparison, uploads):
    comparison = open_comparison(TrainingSetup(uploads[0], 3))
    content = write_trainings(comparison, {})
    refused, arrays = refuser(content, comparison.setup), arrays_of(content)
    for before, after in (
        ('"n_visible": 15', '"n_visible": 17'),
        ('"n_visible": 15', '"n_visible": 10000000000'),
        ('"image_shape": [3, 5]', '"image_shape": [5, 5]'),
        ('"image_shape": [3, 5]', '"image_shape": [-3, -5]'),
        ('"name": "grey.npz@bernoulli"', '"name": "mnist"'),
        ('"name": "grey.npz@bernoulli"', '"name": null'),
        ('"classes": ["0", ', '"classes": [["0"], '),
    ):
        assert before in str(arrays["json"])
        refused(json=np.array(str(arrays["json"]).replace(before, after)))
    refused(**{"data.train": arrays["data.train"][:, :1]})
    refused(**{"data.train": arrays["data.train"].astype(np.int64)})
    refused(**{"data.test_labels": arrays["data.test_labels"].astype(float)})
    refused(**{"data.test": None})
    for labels in (arrays["data.train_labels"][:-1], arrays["data.train_labels"] - 5):
        file = io.BytesIO()
        np.savez(file, **arrays | {"data.train_labels": labels})
        with pytest.raises(BadInput, match="index into the 3 classes"):
            read_training_file(file.getvalue())


def test_sent_models_are_in_the_file(open_comparison, toy, lesson):
    model = lesson.panels[1].worker.read(TrainingRun.model)
    content = write_trainings(lesson, {"CD on toy, 20 updates": model})
    [(title, again)] = read_training_file(content).models.items()
    assert title == "CD on toy, 20 updates"
    assert again.meta["updates"] == 20
    np.testing.assert_array_equal(again.rbm.W, model.rbm.W)
    refused = refuser(content, lesson.setup)
    refused(**{"model.0": np.frombuffer(b"\x80\x04pickled", np.uint8)})
    refused(**{"model.0": arrays_of(content)["model.0"][:-1]})
