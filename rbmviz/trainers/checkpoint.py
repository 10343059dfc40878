"""Checkpoints: a training as bytes; resumed from them it ends with the same bits as without interruption.

A checkpoint consists of a line that names the format, the SHA-256 of the rest, and a safetensors file: the
arrays of the state, and an array ``json`` with everything else. The state is written field by field, so that
a new trainer needs no code here: its own state may consist of dataclasses, arrays, Parameters, numpy
Generators and plain numbers, from 0 up unless their fields are ``stored(signed=True)``.

The checksum detects damage, not malice: anybody who writes a file can compute it. The content is therefore
compared, field by field, with the state that the trainer's own ``init`` makes (see ``Stored``). Kernels do
not check indices, so only arrays with the shapes, dtypes and ranges they rely on are accepted.
"""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rbmviz import rng
from rbmviz.budget import check_memory
from rbmviz.errors import MAX_SHOWN, BadInput
from rbmviz.knobs import knobs_of, values_of
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.trainers import Trainer, check_data, make_trainer
from rbmviz.trainers.batches import Batches
from rbmviz.trainers.parameters import Parameters
from rbmviz.trainers.stored import Stored
from rbmviz.trainers.training import TrainingState

MAGIC = b"rbmviz checkpoint 2\n"
START = len(MAGIC) + hashlib.sha256().digest_size
"""Offset of the safetensors content."""

MAX_JSON = 100_000
"""Most characters of the JSON; a usual one has a few thousand."""
LARGEST_COUNT = 2**53
"""Largest integer in a state: float64 does not represent all larger ones."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A training that was read: the trainer with its knobs, its state, and the seed (see ``seed_name``)."""

    trainer: Trainer
    state: TrainingState
    seed: Any


def save_checkpoint(trainer: Trainer, state: TrainingState, seed: rng.Seed = 0) -> bytes:
    """Return a training as bytes; not to be called while ``step`` runs in another thread.

    The training data are not saved, only their fingerprint. ``seed`` is saved so that ``train`` can compare
    it when it resumes.
    """
    arrays: dict[str, np.ndarray] = {}
    written = {
        "trainer": trainer.name,
        "knobs": values_of(trainer),
        "data": state.batches.fingerprint,
        "seed": seed_name(seed),
        "state": _pack(state, "state", arrays),
    }
    arrays["json"] = np.frombuffer(json.dumps(written).encode(), np.uint8)
    content = save(arrays)
    return MAGIC + hashlib.sha256(content).digest() + content


def load_checkpoint(content: bytes, data: np.ndarray) -> Checkpoint:
    """Return the training that ``save_checkpoint`` wrote.

    Parameters
    ----------
    content : bytes
        What ``save_checkpoint`` returned.
    data : uint8 (n, n_visible)
        The training data with which it was made.

    Raises
    ------
    BadInput
        If the bytes are not a checkpoint or are damaged, the data are different, the trainer would not write
        this content, or the state would not fit into ``budget.memory_budget()``.
    """
    data = check_data(data)
    if not isinstance(content, bytes) or not content.startswith(MAGIC):
        raise BadInput(
            "This is not a checkpoint of this version of rbmviz: give the file that training wrote."
        )
    if content[len(MAGIC) : START] != hashlib.sha256(content[START:]).digest():
        raise BadInput("The checkpoint is damaged (its checksum is wrong): start again, or use an older one.")
    check_memory("The checkpoint", 3 * len(content), "train with fewer chains")
    arrays, written = _read(content[START:])
    if written["data"] != Batches(data, np.random.default_rng(0)).fingerprint:
        raise BadInput(
            "The checkpoint was made with other training data: give the data set it was made with."
        )
    trainer = _trainer(written["trainer"], written["knobs"])
    _check_seed(written["seed"])
    begin = _theta(arrays, data.shape[1])
    needed = trainer.state_bytes(begin.n_visible, begin.n_hidden) + 3 * len(content)
    check_memory("The training in the checkpoint", needed, "train with fewer chains")
    reader = _Reader(arrays, {"n_visible": begin.n_visible, "n_hidden": begin.n_hidden, "data": len(data)})
    state = reader.value(written["state"], trainer.init(begin, data, 0), "state", Stored(), {})
    if arrays:
        raise _wrong(min(arrays), "belongs to no such training")
    if state.averaged > state.update or (state.mean is None) != (state.averaged == 0):
        raise _wrong("state.averaged", f"does not fit {state.update} updates")
    return Checkpoint(trainer, state, written["seed"])


def _wrong(name: str, problem: str) -> BadInput:
    return BadInput(
        f"The checkpoint is not one that rbmviz wrote ({name[:MAX_SHOWN]} {problem}): "
        "start again, or use another."
    )


def _read(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays by name, and the entries of the JSON; exactly the written entries must be there."""
    try:
        arrays = load(content)
        text = arrays.pop("json")
    except (SafetensorError, KeyError, TypeError, ValueError, OverflowError):
        raise _wrong("its content", "cannot be read") from None
    if text.dtype != np.uint8 or text.ndim != 1 or len(text) > MAX_JSON:
        raise _wrong("json", "is not a text of the usual length")
    try:
        written = json.loads(text.tobytes())
    except (ValueError, RecursionError):
        raise _wrong("json", "cannot be read") from None
    return arrays, _entries(written, ("trainer", "knobs", "data", "seed", "state"), "json")


def _entries(written: Any, names: Any, where: str) -> dict[str, Any]:
    """Return a dictionary that has these entries, no fewer and no more."""
    if not isinstance(written, dict) or set(written) != set(names):
        raise _wrong(where, f"does not hold just {', '.join(names)}")
    return written


def _trainer(name: Any, knobs: Any) -> Trainer:
    if not isinstance(name, str):
        raise _wrong("trainer", "is not a name")
    return make_trainer(name, **_entries(knobs, knobs_of(trainers[name]), "knobs"))


def _check_seed(seed: Any) -> None:
    match seed:
        case None:
            return
        case [entropy, list(spawn_key)]:
            numbers = [*(entropy if isinstance(entropy, list) else [entropy]), *spawn_key]
            if all(type(x) is int and x >= 0 for x in numbers):
                return
    raise _wrong("seed", "is not a seed")


def _theta(arrays: dict[str, np.ndarray], n_visible: int) -> RBM:
    """Return the parameters of the state, after checking that their shapes fit each other and the data."""
    try:
        W, b, c = (arrays[f"state.theta.{name}"] for name in Parameters._fields)
    except KeyError as missing:
        raise _wrong(str(missing.args[0]), "is missing") from None
    if W.ndim != 2 or len(W) != n_visible or any(x.dtype != np.float32 for x in (W, b, c)):
        raise _wrong("state.theta", f"holds no float32 parameters of {n_visible} visible units")
    return RBM(W, b, c)


@dataclass
class _Reader:
    """Reads a state, and compares it with a fresh one, field by field.

    Attributes
    ----------
    arrays : dict of arrays
        Arrays of the file that have not been read yet.
    sizes : dict of int
        Values of "n_visible", "n_hidden" and "data" (the number of training rows).
    """

    arrays: dict[str, np.ndarray]
    sizes: dict[str, int]

    def value(self, written: Any, fresh: Any, name: str, legal: Stored, of: dict[str, int]) -> Any:
        """Return the value that was written for the fresh one; ``of``: the record's sizes so far, by name."""
        if written is None and (fresh is None or legal.like):
            return None
        if isinstance(fresh, Parameters):
            return self._parameters(written, fresh, name, legal)
        if isinstance(fresh, np.ndarray) or (fresh is None and legal.shape):
            return self._array(written, fresh, name, legal, of)
        if isinstance(fresh, np.random.Generator):
            return _generator(written, fresh, name)
        if dataclasses.is_dataclass(fresh):
            return self._record(written, fresh, name)
        return _number(written, fresh, name, legal)

    def _record(self, written: Any, fresh: Any, name: str) -> Any:
        legal = {field.name: field.metadata.get("stored", Stored()) for field in _saved(fresh)}
        entries = _entries(written, legal, name)
        values: dict[str, Any] = {}
        of: dict[str, int] = {}
        for key, each in legal.items():
            like = getattr(fresh, each.like or key)
            values[key] = self.value(entries[key], like, f"{name}.{key}", each, of)
        return dataclasses.replace(fresh, **values)

    def _parameters(self, written: Any, fresh: Parameters, name: str, legal: Stored) -> Parameters:
        each = _entries(written, ["$parameters"], name)["$parameters"]
        if not isinstance(each, list) or len(each) != len(fresh):
            raise _wrong(name, "holds no parameters")
        legal = dataclasses.replace(legal, like="")
        names = zip(each, fresh, fresh._fields, strict=True)
        return Parameters(*(self._array(x, like, f"{name}.{key}", legal, {}) for x, like, key in names))

    def _array(
        self, written: Any, fresh: np.ndarray | None, name: str, legal: Stored, of: dict[str, int]
    ) -> np.ndarray:
        if written != {"$array": name} or name not in self.arrays:
            raise _wrong(name, "is missing")
        x = self.arrays.pop(name)
        shape = self._shape(x, legal, of) if legal.shape or fresh is None else fresh.shape
        dtypes = legal.dtypes or (() if fresh is None else (fresh.dtype.name,))
        if x.shape != shape or x.dtype.name not in dtypes:
            raise _wrong(name, f"is {x.dtype} {x.shape}, not {' or '.join(dtypes)} {shape}")
        if not self._legal(x, fresh, legal):
            raise _wrong(name, "holds values that cannot be")
        return x.copy()

    def _shape(self, x: np.ndarray, legal: Stored, of: dict[str, int]) -> tuple[int, ...]:
        """Return the shape that x must have; the first array that uses a free size fixes it."""
        shape = []
        for at, size in enumerate(legal.shape):
            if isinstance(size, str) and size not in self.sizes:
                own = x.shape[at] if at < x.ndim else 0
                size = of.setdefault(size, own if legal.rows else max(own, 1))
            shape.append(self.sizes[size] if isinstance(size, str) else size)
        return tuple(shape)

    def _legal(self, x: np.ndarray, fresh: np.ndarray | None, legal: Stored) -> bool:
        """Return whether an array of the right shape and dtype has values that a training can have."""
        if legal.bits:
            return bool(((x == 0) | (x == 1)).all())
        if legal.lanes:
            return bool(x.any(axis=-2).all())
        if legal.rows:
            return bool(((0 <= x) & (x < self.sizes["data"])).all()) and len(np.unique(x)) == len(x)
        if x.dtype.kind != "f":
            least, most = _range_of(legal)
            return bool((x >= least).all() and (x <= most).all())
        blank = fresh is not None and fresh.dtype.kind == "f" and bool(np.isnan(fresh).all())
        if blank and np.isnan(x).all():  # nothing seen yet
            return True
        return bool(np.isfinite(x).all()) and not (legal.share and (np.abs(x - 0.5) > 0.501).any())


def _saved(record: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(record) if field.metadata.get("saved", True)]


def _range_of(legal: Stored) -> tuple[int, int]:
    """Return the least and the largest of the numbers that a field may hold."""
    return -LARGEST_COUNT if legal.signed else 0, LARGEST_COUNT if legal.most is None else legal.most


def _number(written: Any, fresh: Any, name: str, legal: Stored) -> Any:
    if type(written) is not type(fresh) or not isinstance(fresh, int | float):
        raise _wrong(name, f"is not a {type(fresh).__name__}")
    unknown = isinstance(fresh, float) and math.isnan(fresh) and math.isnan(written)
    least, most = _range_of(legal)
    if not (least <= written <= most or unknown):
        raise _wrong(name, "is out of range")
    return written


def _generator(written: Any, fresh: np.random.Generator, name: str) -> np.random.Generator:
    """Return a Generator of the fresh one's kind (PCG64), in the state that was written."""
    state = _entries(written, ["$generator"], name)["$generator"]
    generator = np.random.Generator(type(fresh.bit_generator)())
    try:
        generator.bit_generator.state = state
        # numpy leaves out what it does not know, and takes True for 1. The increment of a PCG64 is odd.
        kept, read = (json.dumps(x, sort_keys=True) for x in (generator.bit_generator.state, state))
        if kept == read and state["state"]["inc"] % 2 and state["has_uint32"] in (0, 1):
            return generator
    except (ValueError, TypeError, KeyError, OverflowError):
        pass
    raise _wrong(name, "is not a state of a random stream")


def seed_name(seed: rng.Seed) -> Any:
    """Return a seed as JSON, or None for a Generator, whose original state is not known."""
    if isinstance(seed, np.random.Generator):
        return None
    sequence = rng.seed_sequence(seed)
    return [sequence.entropy, list(sequence.spawn_key)]


def _pack(x: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return x as JSON; arrays in it are added to ``arrays`` under their names, which begin with ``name``."""
    if isinstance(x, np.ndarray):
        arrays[name] = x
        return {"$array": name}
    if isinstance(x, np.random.Generator):
        return {"$generator": x.bit_generator.state}
    if isinstance(x, Parameters):
        return {"$parameters": [_pack(part, f"{name}.{key}", arrays) for key, part in x._asdict().items()]}
    if dataclasses.is_dataclass(x):
        return {
            field.name: _pack(getattr(x, field.name), f"{name}.{field.name}", arrays) for field in _saved(x)
        }
    if x is None or isinstance(x, int | float):
        return x
    raise BadInput(
        f"No checkpoint contains {name}, a {type(x).__name__}: use an array, Parameters, a Generator, a "
        "dataclass or a number of Python."
    )
