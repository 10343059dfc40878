"""Kinds of input that are attacked: for each kind, a function that makes damaged input, and one that uses it.

``make(rng, folder)`` writes the input into the folder and returns the argument of ``use``. ``use`` returns
the error messages, or raises BadInput, or accepts the input. It then works with accepted input, because
damage may show later.
"""

import contextlib
import hashlib
import io
import json
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from safetensors.numpy import load

from rbmviz import RBM, BadInput, Model, make_sampler, make_trainer, sample
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.samplers import list_samplers
from rbmviz.sweeps import Budget, CellRun, Store, SweepPlan, cells, compare
from rbmviz.sweeps.plan import MAX_SWEEP_CELLS
from rbmviz.trainers import list_trainers
from rbmviz.trainers.checkpoint import MAGIC, load_checkpoint, save_checkpoint
from rbmviz_app import outside
from tests.attack import mutate
from tests.attack.mutate import Rng, pick

Refusals = list[str]


@dataclass(frozen=True)
class Family:
    """One kind of input: how it is made and used; ``weight`` is its share of the cases."""

    name: str
    make: Callable[[Rng, Path], Any]
    use: Callable[[Any], Refusals | int | None]
    weight: int = 1
    command: bool = False  # whether this is a command line, which has an exit status and can be interrupted


# Valid inputs, which are then damaged


def bits(seed: int, n: int, width: int) -> np.ndarray:
    """Return rows of random bits."""
    return np.random.default_rng(seed).integers(0, 2, (n, width), dtype=np.uint8)


@cache
def small_model() -> Model:
    """Return a model with rates and metadata of all kinds."""
    g = np.random.default_rng(3)
    rbm = RBM(g.normal(0, 0.5, (20, 7)), g.normal(0, 1, 20), g.normal(0, 1, 7))
    meta: dict[str, Any] = {"dataset": "digits", "scored_on": "digits", "binarisation": "at one half"}
    meta |= {"image_shape": [4, 5], "trainer": "pcd", "knobs": {"k": 1, "learning_rate": 0.1}, "seed": 0}
    meta |= {"scores": {"isl_10000": {"gibbs": -20.5}, "log_likelihood": -10.0}, "command": "rbmviz train"}
    meta |= {"reference": {"binary": {"isl": -18.0, "beta": 0.9, "n": 100}}, "updates": 100}
    return Model(rbm, rbm.rates(bits(1, 30, 20)), meta)


def arrays_of(model: Model) -> dict[str, np.ndarray]:
    """Return the arrays of a model file."""
    arrays = {name: getattr(model.rbm, name) for name in "Wbc"}
    if model.rates is not None:
        arrays |= {f"rates.{name}": getattr(model.rates, name) for name in "Wbc"}
    return arrays


ZEROS = {"b": ((12_000,), "<f4"), "c": ((10_000,), "<f4")}
BOMBS: dict[str, dict[str, tuple[tuple[int, ...], str]]] = {
    "model": {"W": ((12_000, 10_000), "<f4"), **ZEROS},
    "thin model": {"W": ((40_000_000, 1), "|u1"), "b": ((40_000_000,), "<f4"), "c": ((1,), "<f4")},
    "another member": {"X": ((400_000, 1000), "|u1"), "x": ((10, 5), "|u1")},
    "data": {"x": ((400_000, 1000), "|u1")},
}


@cache
def bomb(name: str) -> bytes:
    """Return an archive of half a megabyte that unpacks to some hundred megabytes."""
    return mutate.bomb(**BOMBS[name])


# Model files


def damaged_arrays(rng: Rng, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with one of them damaged, missing, or renamed."""
    arrays = dict(arrays)
    name = pick(rng, list(arrays))
    array, how = arrays.pop(name), rng.random()
    if how > 0.25:
        arrays[name] = mutate.array(rng, array)
    elif how > 0.12:
        arrays[pick(rng, ("X", "", "W.b", "json", "state", "../W"))] = array
    return arrays


def make_model(rng: Rng, folder: Path) -> Path:
    """Write a damaged model file."""
    model, suffix = small_model(), pick(rng, (".safetensors", ".npz"))
    arrays, meta, lies, how = arrays_of(model), json.dumps({"schema": 1, **model.meta}), None, rng.random()
    if how < 0.2:
        meta = json.dumps(mutate.json_value(rng, json.loads(meta)))
    elif how < 0.3:
        odd = ("", "{", "[1,2", '"', "\x00", "NaN", '{"a": 1e999}', '{"schema": 99}', mutate.deep(100_000))
        meta = pick(rng, odd)
    elif how < 0.5:
        arrays = damaged_arrays(rng, arrays)
    elif how < 0.75:
        lies = rng
    if suffix == ".safetensors":
        content = mutate.safetensors(lies, arrays, {"rbmviz": meta})
    elif how > 0.9:
        content = bomb(pick(rng, ("model", "thin model", "another member")))
    else:
        arrays["rbmviz"] = np.array(meta.replace("\x00", " "))
        content = _npz(lies, arrays)
    path = folder / f"model{suffix}"
    path.write_bytes(mutate.raw(rng, content) if 0.75 <= how <= 0.9 else content)
    return path


def _npz(rng: Rng | None, arrays: dict[str, np.ndarray]) -> bytes:
    """Return an archive of arrays; with rng, with a false header of one of them, or of the archive."""
    lying = None if rng is None or rng.random() < 0.3 else pick(rng, list(arrays))
    members = {f"{name}.npy": mutate.npy(rng if name == lying else None, a) for name, a in arrays.items()}
    return mutate.zipped(None if lying else rng, members)


def use_model(path: Path) -> None:
    """Load a model file as an upload, and sample from the model."""
    work_with(outside.read_model(path.read_bytes(), path.name))


def work_with(model: Model) -> None:
    """Use a loaded model: its energy, its metadata, and each sampler."""
    model.rbm.free_energy(np.zeros((2, model.rbm.n_visible), np.uint8))
    json.dumps(dict(model.meta))
    for sampler in map(make_sampler, list_samplers()):
        if model.rates is not None or not sampler.needs_rates:
            v = sample(model, sampler, 3).v
            assert v.shape == (3, model.rbm.n_visible), "samples of another shape"
            assert v.max() <= 1, "samples that are not bits"


# Data files


def make_data(rng: Rng, folder: Path) -> tuple[Path, str | None, bool]:
    """Write a damaged data file; return its path, the binarisation rule, and whether it is an upload."""
    suffix, content = pick(rng, (_npz_data, _npz_data, _csv_data, _txt_data, _zip_data, _zip_data))(rng)
    path = folder / f"data{suffix}"
    path.write_bytes(content)
    rules = ("0.5", "0.3", "bernoulli", "median", "-1", "nan", "x", "1e9", "", "@")
    rule = pick(rng, rules) if rng.random() < 0.4 else None
    # Bombs go through the door: a file of one's own may take the memory that it needs.
    return path, rule, suffix == ".zip" or len(content) > 30_000 or rng.random() < 0.5


def _npz_data(rng: Rng) -> tuple[str, bytes]:
    how = rng.random()
    if how < 0.08:
        return ".npz", bomb(pick(rng, ("data", "another member")))
    g = np.random.default_rng(1)
    arrays: dict[str, np.ndarray] = {"x": bits(0, 20, 8)}
    if rng.random() < 0.7:
        arrays = {f"x_{part}": g.integers(0, 256, (n, 6, 5), np.uint8) for part, n in PARTS}
        arrays |= {f"y_{part}": g.integers(0, 3, n) for part, n in PARTS}
    if how < 0.5:
        return ".npz", _npz(None, damaged_arrays(rng, arrays))
    return ".npz", _npz(rng, arrays) if how < 0.85 else mutate.raw(rng, _npz(None, arrays))


PARTS = ("train", 30), ("test", 9)


def _csv_data(rng: Rng) -> tuple[str, bytes]:
    rows = np.random.default_rng(2).integers(0, pick(rng, (2, 256)), (12, 6))
    content, how = "\n".join(",".join(map(str, row)) for row in rows), rng.random()
    if how < 0.06:
        return ".csv", pick(rng, (b"0," * 3_000_000 + b"1\n", b"0,1\n" * 4_000_000))
    return ".csv", mutate.raw(rng, content.encode()) if how < 0.15 else mutate.text(rng, content)


def _txt_data(rng: Rng) -> tuple[str, bytes]:
    words, how = "alpha beta gamma delta river mountain sampling chains mixing energy".split(), rng.random()
    if how < 0.05:
        return ".txt", b"\n".join(b"w%d " % i * 20 for i in range(200_000))
    if how < 0.1:
        return ".txt", "".join(chr(int(c)) for c in rng.integers(1, 0xD7FF, 5000)).encode()
    content = "\n".join(" ".join(pick(rng, words) for _ in range(12)) for _ in range(20))
    return ".txt", mutate.raw(rng, content.encode()) if how < 0.25 else mutate.text(rng, content)


@cache
def picture(mode: str, size: tuple[int, int], form: str = "PNG") -> bytes:
    """Return an image file; of one pixel repeated, small with very many of them."""
    out = io.BytesIO()
    Image.new(mode, size).save(out, form)
    return out.getvalue()


ODD_NAMES = ("../../x.png", "/etc/x.png", "a\\b.png", "é" * 90 + ".png", ".png", "a//b.png", "\n.png")


def _zip_data(rng: Rng) -> tuple[str, bytes]:
    kinds = [(mode, "PNG") for mode in ("1", "L", "RGB", "RGBA")] + [("L", "JPEG"), ("CMYK", "JPEG")]
    files = {
        f"{'ab'[i % 2]}/{i}.{form.lower()}": picture(mode, (8, 6), form)
        for i in range(8)
        for mode, form in [pick(rng, kinds)]
    }
    name, how = pick(rng, list(files)), rng.random()
    if how < 0.4:
        files[name] = mutate.raw(rng, files[name])
    elif how < 0.5:
        files[name] = picture("1", pick(rng, ((20_000, 20_000), (9000, 9000), (3000, 5), (1, 5))))
    elif how < 0.55:
        files = {f"{i}.png": picture("1", (6000, 6000)) for i in range(12)}
    elif how < 0.6:
        files = {f"{i}.png": b"" for i in range(30_000)}
    elif how < 0.7:
        files[pick(rng, ODD_NAMES)] = files.pop(name)
    elif how < 0.75:
        return ".zip", bomb("data").replace(b"x.npy", b"x.png")
    if rng.random() < 0.5:
        return ".zip", mutate.zipped(rng, files)
    return ".zip", mutate.raw(rng, mutate.zipped(None, files))


def use_data(made: tuple[Path, str | None, bool]) -> None:
    """Read a data file as an upload or by its path, and train on it for a few updates."""
    path, rule, uploaded = made
    if uploaded:
        options = {} if rule is None or path.suffix == ".txt" else {"binarise": rule}
        dataset = outside.read_data(path.read_bytes(), path.name, options)
    else:
        dataset = load_dataset(str(path) if rule is None else f"{path}@{rule}")
    check_dataset(dataset)


def check_dataset(dataset: Dataset) -> None:
    """Check the properties that every data set must have, and train on it if it is small."""
    for part in (dataset.train, dataset.validation, dataset.test):
        assert part.dtype == np.uint8, "parts that are not bytes"
        assert part.ndim == 2, "parts that are no tables"
        assert part.shape[1] == dataset.n_visible, "parts of two widths"
        assert not part.size or part.max() <= 1, "parts that are not bits"
    if dataset.n_visible <= 1000 and len(dataset.train) < 100_000:
        trainer = make_trainer("pcd", batch_size=2)
        rbm = RBM(np.zeros((dataset.n_visible, 3)), np.zeros(dataset.n_visible), np.zeros(3))
        trainer.step(trainer.init(rbm, dataset.train, 0), 2)


# Checkpoints


@cache
def checkpoint(name: str) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """Return the data of a training, and the arrays and the JSON of its checkpoint."""
    data = bits(4, 40, 70)
    n_hidden = 4 if name == "exact" else 65
    W = np.random.default_rng(0).normal(0, 0.1, (70, n_hidden))
    trainer = make_trainer(name, batch_size=5)
    state = trainer.init(RBM(W, np.zeros(70), np.zeros(n_hidden)), data, 0)
    trainer.step(state, 2)
    arrays = load(save_checkpoint(trainer, state)[len(MAGIC) + 32 :])
    return data, arrays, json.loads(arrays.pop("json").tobytes())


def signed(rng: Rng | None, arrays: dict[str, np.ndarray], written: str) -> bytes:
    """Return a checkpoint with a valid checksum; with rng, with a false header."""
    text = np.frombuffer(written.encode("utf-8", "surrogatepass"), np.uint8)
    content = mutate.safetensors(rng, {**arrays, "json": text})
    return MAGIC + hashlib.sha256(content).digest() + content


def make_checkpoint(rng: Rng, folder: Path) -> tuple[bytes, np.ndarray]:
    """Write a damaged checkpoint with a valid checksum."""
    data, arrays, written = checkpoint(pick(rng, list_trainers()))
    how, lies = rng.random(), None
    if how < 0.4:
        for _ in range(int(rng.integers(1, 3))):
            arrays = damaged_arrays(rng, arrays)
    elif how < 0.75:
        part = "state" if how < 0.6 else "knobs"
        written = {**written, part: mutate.json_value(rng, written[part])}
    elif how < 0.85:
        written = mutate.json_value(rng, written)
    else:
        lies = rng
    content = signed(lies, arrays, json.dumps(written) if how > 0.03 else mutate.deep(100_000))
    (folder / "damaged.checkpoint").write_bytes(content)
    return content, data


def use_checkpoint(made: tuple[bytes, np.ndarray]) -> None:
    """Resume a checkpoint for a few updates, and save it again."""
    content, data = made
    found = load_checkpoint(content, data)
    progress = found.trainer.step(found.state, 3)
    assert np.isfinite(progress.rbm.W).all(), "a training that goes on without finite parameters"
    save_checkpoint(found.trainer, found.state)


# Results of a sweep


@cache
def swept() -> bytes:
    """Return the file of a small sweep."""
    plan = SweepPlan(algorithms=("gibbs",), models=("bas_pcd",), seeds=(0, 1), budget=Budget("samples", 30))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        store.prepare(plan)
        for cell in cells(plan):
            store.write(CellRun(cell).finish())
        store.close()
        return store.file.read_bytes()


def make_results(rng: Rng, folder: Path) -> Path:
    """Damage the file of a sweep, or the plan in it; return its folder."""
    file = folder / "sweep.sqlite"
    file.write_bytes(swept())
    if rng.random() < 0.5:
        file.write_bytes(mutate.raw(rng, swept()))
    else:
        with contextlib.closing(sqlite3.connect(file)) as db, db:
            [plan] = db.execute("select json from plan").fetchone()
            plan = json.dumps(mutate.json_value(rng, json.loads(plan)))
            db.execute("update plan set json = ?", (plan,))
    return folder


def use_results(folder: Path) -> Refusals:
    """Read the folder, and choose among its settings."""
    refused = []
    try:
        assert Store(folder).plan().size <= MAX_SWEEP_CELLS, "a plan that is too large"
    except BadInput as error:
        refused.append(str(error))
    try:
        compare(Store(folder).read())
    except BadInput as error:
        refused.append(str(error))
    return refused


READERS = [
    Family("model file", make_model, use_model, 4),
    Family("data file", make_data, use_data, 4),
    Family("checkpoint", make_checkpoint, use_checkpoint, 5),
    Family("results of a sweep", make_results, use_results, 3),
]


def prepare() -> None:
    """Import and compile everything that the cases need, once, before the first case."""
    for name in list_trainers():
        data, arrays, written = checkpoint(name)
        use_checkpoint((signed(None, arrays, json.dumps(written)), data))
    swept()
    work_with(small_model())
    for name in BOMBS:
        bomb(name)
