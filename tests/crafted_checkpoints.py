"""Crafted checkpoints: real ones with changed content and a valid checksum, as an attacker could send."""

import hashlib
import json

import numpy as np
from safetensors.numpy import load, save

from rbmviz import RBM, make_trainer, save_checkpoint
from rbmviz.knobs import knobs_of
from rbmviz.trainers.checkpoint import MAGIC, START

DATA = np.random.default_rng(0).integers(0, 2, (30, 6), dtype=np.uint8)
KNOBS = {"n_chains": 4, "n_temperatures": 3, "batch_size": 7, "momentum": 0.5, "average": True}


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
