"""Checkpoints changed by an attacker, with a valid checksum: refused in one sentence, or harmless."""

import functools
import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import load, save

from rbmviz import RBM, BadInput, list_trainers, load_checkpoint, make_trainer, save_checkpoint
from rbmviz.knobs import knobs_of
from rbmviz.trainers.checkpoint import MAGIC, START

DATA = np.random.default_rng(0).integers(0, 2, (30, 6), dtype=np.uint8)
KNOBS = {"n_chains": 4, "n_temperatures": 3, "batch_size": 7, "momentum": 0.5, "average": True}


@functools.cache
def real(name: str) -> bytes:
    """Return a real checkpoint whose state uses every optional part."""
    known = knobs_of(make_trainer(name))
    trainer = make_trainer(name, **{key: value for key, value in KNOBS.items() if key in known})
    g = np.random.default_rng(1)
    rbm = RBM(g.normal(0, 0.1, (6, 3)), g.normal(0, 0.1, 6), g.normal(0, 0.1, 3))
    state = trainer.init(rbm, DATA, 0)
    trainer.step(state, 3)
    return save_checkpoint(trainer, state)


def sign(content: bytes) -> bytes:
    """Return a checkpoint with this content and a valid checksum."""
    return MAGIC + hashlib.sha256(content).digest() + content


def take_apart(content: bytes) -> tuple[dict, dict]:
    """Return the arrays and the JSON value of a checkpoint."""
    arrays = {name: x.copy() for name, x in load(content[START:]).items()}
    return arrays, json.loads(arrays.pop("json").tobytes())


def put_together(arrays: dict, written, text: bytes | None = None) -> bytes:
    text = json.dumps(written).encode() if text is None else text
    return sign(save({**arrays, "json": np.frombuffer(text, np.uint8)}))


def refused(content: bytes, change="") -> str:
    """Return the refusal of a checkpoint in which ``change`` has been made."""
    with pytest.raises(BadInput) as caught:
        load_checkpoint(content, DATA)
    assert "\n" not in str(caught.value), change
    return str(caught.value)


@pytest.mark.parametrize("name", list_trainers())
def test_every_array_is_compared_with_that_of_the_trainer(name):
    """Kernels check no indices: another shape or type would be read beyond its end."""
    arrays, written = take_apart(real(name))
    assert {"state.theta.W", "state.batches.order", "state.stream", "state.velocity.W"} <= set(arrays)
    load_checkpoint(put_together(arrays, written), DATA)
    for key, x in arrays.items():
        others = {other: y for other, y in arrays.items() if other != key}
        refused(put_together(others, written), f"{key} removed")
        wider = [] if x.ndim == 1 and key.endswith(("order", "log_weights")) else [x[..., :-1]]
        for bad in (x[None], x.astype("complex64"), *wider):
            refused(put_together({**arrays, key: bad}, written), (key, bad))


def test_values_that_do_not_fit_each_other():
    arrays, written = take_apart(real("cd"))
    for change in ({"averaged": 4}, {"update": -1}, {"seconds": float("inf")}, {"sweeps": 10**300}):
        state = {**written["state"], **change}
        refused(put_together(arrays, {**written, "state": state}), change)
    for knobs in ({**written["knobs"], "k": -1}, {**written["knobs"], "more": 0}, {"k": 1}):
        refused(put_together(arrays, {**written, "knobs": knobs}), knobs)
    arrays["state.batches.order"] = np.array([len(DATA)])
    assert "other rows than the data have" in refused(put_together(arrays, written))


@pytest.mark.parametrize("text", [b"", b"[" * 90_000, b"null", b"\xff\xfe"], ids=lambda text: repr(text[:4]))
def test_malformed_checkpoints_are_refused(text):
    arrays, _ = take_apart(real("cd"))
    refused(put_together(arrays, None, text))
    refused(sign(text))


def test_a_state_too_large_is_refused_before_it_is_made(monkeypatch):
    arrays, written = take_apart(real("pt"))
    written["knobs"] |= {"n_chains": 10_000, "n_temperatures": 100}
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "20")
    monkeypatch.setattr("rbmviz.trainers.pt.PT.init", None)  # would be the bomb
    assert "GB of memory" in refused(put_together(arrays, written))
