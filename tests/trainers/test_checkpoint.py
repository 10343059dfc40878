"""Crafted checkpoints: every field of every trainer damaged in every way, and hundreds damaged at random."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbmviz import BadInput, list_trainers, load_checkpoint
from tests import crafted_checkpoints as crafted

NAMES = list_trainers()
real = functools.cache(crafted.checkpoint)


def refused(content: bytes, change="") -> str:
    """Return the refusal of a checkpoint in which ``change`` has been made."""
    try:
        load_checkpoint(content, crafted.DATA)
    except BadInput as error:
        text = str(error)
    else:
        pytest.fail(f"accepted: {change}")
    assert "\n" not in text
    return text


def broken_arrays(name: str, x: np.ndarray):
    """Yield arrays that no training has in the place of x."""
    yield x[None]
    if not name.endswith("order"):  # which may be of any length
        yield x[..., :-1]
        yield x[:0]
    for dtype in crafted.DTYPES:
        if dtype != x.dtype and not (name.endswith(("tau", "counts")) and dtype in ("int64", "float64")):
            with np.errstate(invalid="ignore", over="ignore"):
                yield x.astype(dtype)
    bad = x.copy()
    if name.endswith(("stream", "streams")):
        bad[..., 0] = 0  # a lane that stays at 0 for ever
    elif x.dtype.kind == "f":
        bad.flat[0] = np.inf
        yield bad.copy()
        bad.flat[0] = np.nan
        if np.isin(x, (0, 1)).all():
            yield bad.copy()
            bad.flat[0] = 0.5
    else:
        bad.flat[0] = -1
    yield bad
    if name.endswith("order"):
        for value in (len(crafted.DATA), x[1]):
            bad.flat[0] = value
            yield bad


@pytest.mark.parametrize("name", NAMES)
def test_every_array_is_checked(name):
    arrays, written = crafted.take_apart(real(name))
    assert {
        "state.theta.W",
        "state.batches.order",
        "state.stream",
        "state.velocity.W",
        "state.mean.b",
    } <= set(arrays)
    load_checkpoint(crafted.put_together(arrays, written), crafted.DATA)
    for key, x in arrays.items():
        if not x.size:
            continue
        others = {other: y for other, y in arrays.items() if other != key}
        assert key in refused(crafted.put_together(others, written)) or "state.theta" in key
        for bad in broken_arrays(key, x):
            refused(crafted.put_together({**arrays, key: bad}, written), (key, bad))
        refused(crafted.put_together({**arrays, f"{key}2": x}, written), f"{key}2")


def legal(path: tuple, x) -> bool:
    """Whether a value that is wrong at most places of the JSON may stand at this one."""
    if path[0] == "seed":
        return path == ("seed", 0) and (x == [] or x == 10**300)
    if path[0] == "knobs":
        return path[-1] in ("average", "leave_one_out") and x is True
    return x == 1.5 and path[-1] in ("seconds", "gradient_norm", "recent", "highest")


@pytest.mark.parametrize("name", NAMES)
def test_everything_else_is_checked(name):
    """Each entry removed, of another type, out of range; and a dictionary with one entry more."""
    arrays, written = crafted.take_apart(real(name))
    for path in crafted.nodes(written):
        for x in [{}, "?", -1, 10**300, float("inf"), True, *([1.5, []] if path[0] != "knobs" else [])]:
            if not legal(path, x):
                whole, holder = crafted.parent(written, path)
                if holder[path[-1]] != x:
                    holder[path[-1]] = x
                    refused(crafted.put_together(arrays, whole), (path, x))
        whole, holder = crafted.parent(written, path)
        value = holder.pop(path[-1])
        refused(crafted.put_together(arrays, whole), (path, "removed"))
        if isinstance(value, dict):
            value["more"] = 0
            whole, holder = crafted.parent(written, path)
            holder[path[-1]] = value
            refused(crafted.put_together(arrays, whole), (path, "more"))
    refused(crafted.put_together(arrays, {**written, "more": 0}))


@pytest.mark.parametrize(
    "text",
    [b"", b"[" * 90_000, b"9" * 90_000, b"null", b"[]", b"\xff\xfe", b"{" + b" " * 200_000 + b"}"],
    ids=lambda text: repr(text[:4]),
)
def test_text_that_is_no_checkpoint(text):
    arrays, _ = crafted.take_apart(real("cd"))
    refused(crafted.put_together(arrays, None, text))


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, b"\x00" * 8, b"\x02" + b"\0" * 7 + b"{}"])
def test_content_that_is_no_safetensors(content):
    refused(crafted.sign(content))


@pytest.mark.parametrize("dtype", ["F8_E4M3", "BF16", "F99"])
def test_types_that_numpy_has_not(dtype):
    header = {"json": {"dtype": dtype, "shape": [2], "data_offsets": [0, 4]}}
    text = json.dumps(header).encode()
    refused(crafted.sign(len(text).to_bytes(8, "little") + text + bytes(4)))


def test_a_state_too_large_is_refused_before_it_is_made(monkeypatch):
    arrays, written = crafted.take_apart(real("pt"))
    written["knobs"] |= {"n_chains": 10_000, "n_temperatures": 100}
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "20")
    monkeypatch.setattr("rbmviz.trainers.pt.PT.init", None)  # would be the bomb
    assert "needs 0.02 GB of memory" in refused(crafted.put_together(arrays, written))


def test_counts_that_do_not_fit_each_other():
    arrays, written = crafted.take_apart(real("cd"))
    written["state"]["averaged"] = 4
    assert "does not fit 3 updates" in refused(crafted.put_together(arrays, written))


def test_random_ones_are_accepted_or_refused():
    """In a process of its own, which a corrupted heap would end; what is accepted is trained on."""
    program = Path(crafted.__file__)
    done = subprocess.run([sys.executable, program, "1", "600"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout)
    assert result["defects"] == []
    assert result["accepted"] > 20
    assert result["refused"] > 200
