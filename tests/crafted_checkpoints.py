"""Crafted checkpoints: real ones with changed content and a valid checksum, as an attacker could send.

The program ``python tests/crafted_checkpoints.py SEED N`` makes N random ones, continues the training of
those that are accepted, and prints the results as JSON. It is a process of its own, because a crash would end
it.
"""

import collections
import faulthandler
import hashlib
import json
import sys
import traceback

import numpy as np
from safetensors.numpy import load, save

from rbmviz import RBM, BadInput, list_trainers, load_checkpoint, make_trainer, save_checkpoint
from rbmviz.knobs import knobs_of
from rbmviz.trainers.checkpoint import MAGIC, START

DATA = np.random.default_rng(0).integers(0, 2, (30, 6), dtype=np.uint8)
KNOBS = {"n_chains": 4, "n_temperatures": 3, "batch_size": 7, "momentum": 0.5, "average": True}
NASTY = [None, True, -1, 1, 2**31, 2**53 + 1, 2**64, 10**300, 0.5, float("nan"), float("inf"), "", "x", "1"]
NASTY += [[], [0], {}, {"$array": "state.stream"}, {"$generator": {}}, {"$parameters": []}]
DTYPES = ["float64", "float32", "float16", "int64", "int32", "uint32", "uint8", "bool", "complex64"]


def checkpoint(name: str, updates: int = 3) -> bytes:
    """Return a real checkpoint whose state uses every optional part."""
    known = knobs_of(make_trainer(name))
    trainer = make_trainer(name, **{key: value for key, value in KNOBS.items() if key in known})
    g = np.random.default_rng(1)
    rbm = RBM(g.normal(0, 0.1, (6, 3)), g.normal(0, 0.1, 6), g.normal(0, 0.1, 3))
    state = trainer.init(rbm, DATA, 0)
    trainer.step(state, updates)
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


def mutate(content: bytes, g: np.random.Generator) -> bytes:
    """Return a checkpoint with one to three things changed."""
    if g.random() < 0.15:
        body = bytearray(content[START:])
        for at in g.integers(0, len(body), g.integers(1, 4)):
            body[at] = g.integers(256)
        return sign(bytes(body))
    arrays, written = take_apart(content)
    for _ in range(g.integers(1, 4)):
        name = str(g.choice(sorted(arrays)))
        x = arrays[name]
        match g.integers(8):
            case 0:
                arrays[name] = x.astype(str(g.choice(DTYPES)))
            case 1:
                arrays[name] = np.resize(x, tuple(g.integers(0, 9, g.integers(0, 4))))
            case 2:
                flat = np.frombuffer(bytearray(g.bytes(x.nbytes)), x.dtype)
                arrays[name] = flat.reshape(x.shape)
            case 3:
                if x.size:
                    x.flat[g.integers(x.size)] = g.choice([0, 1, 2, 127, 255])
            case 4:
                del arrays[name]
                if not arrays:
                    break
            case 5:
                arrays[f"{name}x"] = x
            case 6 | 7:
                holder = written
                while True:
                    key = list(holder)[g.integers(len(holder))]
                    if not isinstance(holder[key], dict) or not holder[key] or g.random() < 0.2:
                        break
                    holder = holder[key]
                if g.random() < 0.2:
                    del holder[key]
                else:
                    holder[key] = NASTY[g.integers(len(NASTY))]
    return put_together(arrays, written)


def main(seed: int, n: int) -> None:
    g, ended = np.random.default_rng(seed), collections.Counter()
    real, defects = [checkpoint(name, updates) for name in list_trainers() for updates in (0, 3)], []
    for case in range(n):
        content = mutate(real[g.integers(len(real))], g)
        faulthandler.dump_traceback_later(20, exit=True)  # a case of more than 20 s hangs
        try:
            found = load_checkpoint(content, DATA)
            ended["accepted"] += 1
            found.trainer.step(found.state, 3)
            save_checkpoint(found.trainer, found.state)
        except BadInput as error:
            ended["refused"] += 1
            if "\n" in str(error) or len(str(error)) > 400:
                defects.append(f"case {case}: a refusal of {len(str(error))} characters: {str(error)[:200]}")
        except Exception:
            defects.append(f"case {case}: {traceback.format_exc()}")
        faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(json.dumps({**ended, "defects": defects}))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(*map(int, sys.argv[1:]))
