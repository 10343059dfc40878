"""Checkpoints changed by an attacker, with a valid checksum: refused in one sentence, or harmless."""

import functools

import numpy as np
import pytest

from rbmviz import BadInput, list_trainers, load_checkpoint
from tests import crafted_checkpoints as crafted

real = functools.cache(crafted.checkpoint)


def refused(content: bytes, change="") -> str:
    """Return the refusal of a checkpoint in which ``change`` has been made."""
    with pytest.raises(BadInput) as caught:
        load_checkpoint(content, crafted.DATA)
    assert "\n" not in str(caught.value), change
    return str(caught.value)


@pytest.mark.parametrize("name", list_trainers())
def test_every_array_is_compared_with_that_of_the_trainer(name):
    """Kernels check no indices: another shape or type would be read beyond its end."""
    arrays, written = crafted.take_apart(real(name))
    assert {"state.theta.W", "state.batches.order", "state.stream", "state.velocity.W"} <= set(arrays)
    load_checkpoint(crafted.put_together(arrays, written), crafted.DATA)
    for key, x in arrays.items():
        others = {other: y for other, y in arrays.items() if other != key}
        refused(crafted.put_together(others, written), f"{key} removed")
        wider = [] if x.ndim == 1 and key.endswith(("order", "log_weights")) else [x[..., :-1]]
        for bad in (x[None], x.astype("complex64"), *wider):
            refused(crafted.put_together({**arrays, key: bad}, written), (key, bad))


def test_values_that_do_not_fit_each_other():
    arrays, written = crafted.take_apart(real("cd"))
    for change in ({"averaged": 4}, {"update": -1}, {"seconds": float("inf")}, {"sweeps": 10**300}):
        state = {**written["state"], **change}
        refused(crafted.put_together(arrays, {**written, "state": state}), change)
    for knobs in ({**written["knobs"], "k": -1}, {**written["knobs"], "more": 0}, {"k": 1}):
        refused(crafted.put_together(arrays, {**written, "knobs": knobs}), knobs)
    arrays["state.batches.order"] = np.array([len(crafted.DATA)])
    assert "other rows than the data have" in refused(crafted.put_together(arrays, written))


@pytest.mark.parametrize("text", [b"", b"[" * 90_000, b"null", b"\xff\xfe"], ids=lambda text: repr(text[:4]))
def test_malformed_checkpoints_are_refused(text):
    arrays, _ = crafted.take_apart(real("cd"))
    refused(crafted.put_together(arrays, None, text))
    refused(crafted.sign(text))


def test_a_state_too_large_is_refused_before_it_is_made(monkeypatch):
    arrays, written = crafted.take_apart(real("pt"))
    written["knobs"] |= {"n_chains": 10_000, "n_temperatures": 100}
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "20")
    monkeypatch.setattr("rbmviz.trainers.pt.PT.init", None)  # would be the bomb
    assert "GB of memory" in refused(crafted.put_together(arrays, written))
