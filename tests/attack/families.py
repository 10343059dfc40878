"""Kinds of input that are attacked: for each kind, a function that makes damaged input, and one that uses it.

``make(rng, folder)`` writes the input into the folder and returns the argument of ``use``. ``use`` returns
the error messages, or raises BadInput, or accepts the input. It then works with accepted input, because
damage may show later.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from rbmviz import RBM, BadInput, Model, make_sampler, make_trainer, metrics, sample
from rbmviz.coupling import couple
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.rbm import Statistics
from rbmviz.rbm.files import model_bytes
from rbmviz.samplers import list_samplers
from rbmviz.session import RunLog, replay
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
    use: Callable[[Any], Refusals | None]
    weight: int = 1
    command: bool = False  # whether this is a command line, which has an exit status and can be interrupted


# Valid inputs, which are then damaged


def bits(seed: int, n: int, width: int) -> np.ndarray:
    """Return rows of random bits."""
    return np.random.default_rng(seed).integers(0, 2, (n, width), dtype=np.uint8)


@cache
def small_model(n_visible: int = 20, n_hidden: int = 7) -> Model:
    """Return a model with rates and every key of the metadata."""
    g = np.random.default_rng(3)
    rbm = RBM(g.normal(0, 0.5, (n_visible, n_hidden)), g.normal(0, 1, n_visible), g.normal(0, 1, n_hidden))
    meta = {
        "dataset": "digits",
        "scored_on": "digits",
        "binarisation": "at one half",
        "source": "nowhere",
        "image_shape": [4, n_visible // 4],
        "trainer": "pcd",
        "knobs": {"k": 1, "learning_rate": 0.1},
        "seed": 0,
        "updates": 100,
        "scores": {"isl_10000": {"gibbs": -20.5}, "log_likelihood": -10.0},
        "reference": {
            "binary": {"isl": -18.0, "beta": 0.9, "n": 100},
            "mean": {"isl": 1.0, "beta": 0.9, "n": 9},
        },
        "command": "rbmviz train",
    }
    return Model(rbm, rbm.rates(bits(1, 30, n_visible)), meta)


def arrays_of(model: Model) -> dict[str, np.ndarray]:
    """Return the arrays of a model file."""
    arrays = {name: getattr(model.rbm, name) for name in "Wbc"}
    if model.rates is not None:
        arrays |= {f"rates.{name}": getattr(model.rates, name) for name in "Wbc"}
    return arrays


BOMBS = {"W": (12_000, 10_000), "x": (400_000, 1000), "v": (500_000, 800)}


@cache
def bomb(name: str, dtype: str) -> tuple[bytes, int, int]:
    """Return a member of an archive of half a megabyte that unpacks to about half a gigabyte."""
    return mutate.bomb_member(BOMBS[name], dtype)


@cache
def zero_row(length: int) -> tuple[bytes, int, int]:
    """Return a small member of zeros."""
    return mutate.bomb_member((length,), "<f4")


# Model files


def damaged_arrays(rng: Rng, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with one of them damaged, missing, renamed or doubled."""
    arrays = dict(arrays)
    name = pick(rng, list(arrays))
    match int(rng.integers(8)):
        case 0:
            del arrays[name]
        case 1:
            arrays[pick(rng, ("X", "", "W.b", "json", "state", "../W"))] = arrays.pop(name)
        case _:
            arrays[name] = mutate.array(rng, arrays[name])
    return arrays


def header_text(rng: Rng, meta: Any) -> str:
    """Return the damaged JSON of a model's metadata."""
    choice = rng.random()
    if choice < 0.1:
        return mutate.deep(int(pick(rng, (500, 100_000))))
    if choice < 0.2:
        return str(pick(rng, ("", "{", "nul", "[1,2", '"', "\x00", "NaN", '{"a": 1e999}', '{"schema": 99}')))
    return json.dumps(mutate.json_value(rng, meta))


def make_model(rng: Rng, folder: Path) -> Path:
    """Write a damaged model file."""
    model, suffix = small_model(), pick(rng, (".safetensors", ".npz"))
    arrays, meta = arrays_of(model), json.dumps({"schema": 1, **model.meta})
    path, how = folder / f"model{suffix}", rng.random()
    if how < 0.25:
        content = mutate.raw(rng, model_bytes(model, suffix))
    elif how < 0.5:
        meta = header_text(rng, {"schema": 1, **model.meta})
        content = _model_file(suffix, None, arrays, meta)
    elif how < 0.7:
        content = _model_file(suffix, None, damaged_arrays(rng, arrays), meta)
    elif how < 0.73 and suffix == ".npz":
        dtype = pick(rng, ("<f4", "<f8", "|u1"))
        members = {"W": bomb("W", dtype), "b": zero_row(12_000), "c": zero_row(10_000)}
        if rng.random() < 0.5:  # as a member that nobody needs
            members = {"X": members["W"]}
        content = mutate.bomb(members)
    elif how < 0.76 and suffix == ".npz":
        thin = {"W": mutate.bomb_member((40_000_000, 1), "|u1"), "b": zero_row(40_000_000), "c": zero_row(1)}
        content = mutate.bomb(thin)
    else:
        content = _model_file(suffix, rng, arrays, meta)
    path.write_bytes(content)
    return path


def _model_file(suffix: str, rng: Rng | None, arrays: dict[str, np.ndarray], meta: str) -> bytes:
    if suffix == ".safetensors":
        return mutate.safetensors(rng, arrays, {"rbmviz": meta})
    members = {f"{name}.npy": mutate.npy(None, np.asarray(a)) for name, a in arrays.items()}
    members["rbmviz.npy"] = mutate.npy(None, np.array(meta.replace("\x00", " ")))
    if rng is not None and rng.random() < 0.6:
        name = pick(rng, list(arrays))
        members[f"{name}.npy"] = mutate.npy(rng, arrays[name])
        return mutate.zipped(None, members)
    return mutate.zipped(rng, members)


def use_model(path: Path) -> None:
    """Load a model file as an upload, and sample from the model."""
    work_with(outside.read_model(path.read_bytes(), path.name))


def work_with(model: Model) -> None:
    """Use a loaded model: sample, score and save it."""
    v = np.zeros((2, model.rbm.n_visible), np.uint8)
    model.rbm.free_energy(v)
    json.dumps(dict(model.meta))
    for name in list_samplers():
        sampler = make_sampler(name)
        if model.rates is None and sampler.needs_rates:
            continue
        samples = sample(model, sampler, 3)
        assert samples.v.shape == (3, model.rbm.n_visible), "samples of another shape"
        assert samples.v.max() <= 1, "samples that are not bits"


# Data files


def make_data(rng: Rng, folder: Path) -> tuple[Path, str | None, bool]:
    """Write a damaged data file; return its path, the binarisation rule, and whether it is an upload."""
    kind = pick(rng, (_npz_data, _npz_data, _csv_data, _txt_data, _zip_data, _zip_data))
    suffix, content = kind(rng)
    path = folder / f"data{suffix}"
    path.write_bytes(content)
    rules = (None, "0.5", "0.3", "bernoulli", "median", "-1", "nan", "x", "1e9", "", "300", "@")
    rule, by_path = pick(rng, rules) if rng.random() < 0.4 else None, rng.random() < 0.5
    # Bombs go through the door: a file of one's own may take the memory that it needs.
    return path, rule, suffix == ".zip" or len(content) > 30_000 or not by_path


def _npz_data(rng: Rng) -> tuple[str, bytes]:
    g = np.random.default_rng(1)
    arrays: dict[str, np.ndarray] = {"x_train": g.integers(0, 256, (30, 6, 5)).astype(np.uint8)}
    arrays |= {"y_train": g.integers(0, 3, 30), "x_test": g.integers(0, 256, (9, 6, 5)).astype(np.uint8)}
    arrays |= {"y_test": g.integers(0, 3, 9)}
    if rng.random() < 0.3:
        arrays = {
            "x_train": bits(0, 20, 2),
            "n_features": np.array(12),
            "stems": np.array(list("abcdefghijkl")),
        }
    elif rng.random() < 0.3:
        arrays = {"x": bits(0, 20, 8)}
    how = rng.random()
    if how < 0.05:
        return ".npz", mutate.bomb({"x": bomb("x", pick(rng, ("|u1", "<f4", "|b1")))})
    if how < 0.08:
        return ".npz", mutate.bomb({"junk": bomb("x", "|u1"), "x": mutate.bomb_member((10, 5), "|u1")})
    if how < 0.5:
        members = {f"{k}.npy": mutate.npy(None, v) for k, v in damaged_arrays(rng, arrays).items()}
        return ".npz", mutate.zipped(None, members)
    members = {f"{name}.npy": mutate.npy(None, a) for name, a in arrays.items()}
    if how < 0.75:
        name = pick(rng, list(arrays))
        members[f"{name}.npy"] = mutate.npy(rng, arrays[name])
        return ".npz", mutate.zipped(None, members)
    if how < 0.85:
        return ".npz", mutate.zipped(rng, members)
    return ".npz", mutate.raw(rng, mutate.zipped(None, members))


def _csv_data(rng: Rng) -> tuple[str, bytes]:
    rows = np.random.default_rng(2).integers(0, pick(rng, (2, 256)), (12, 6))
    content = "\n".join(",".join(map(str, row)) for row in rows)
    how = rng.random()
    if how < 0.03:
        return ".csv", b"0," * 3_000_000 + b"1\n"
    if how < 0.06:
        return ".csv", (b"0,1\n" * 4_000_000)
    if how < 0.15:
        return ".csv", mutate.raw(rng, content.encode())
    return ".csv", mutate.text(rng, content)


def _txt_data(rng: Rng) -> tuple[str, bytes]:
    words = (
        "alpha beta gamma delta river mountain sampling chains mixing energy visible hidden weights".split()
    )
    lines = [" ".join(pick(rng, words) for _ in range(12)) for _ in range(20)]
    how = rng.random()
    if how < 0.05:
        return ".txt", b"\n".join(b"w%d " % i * 20 for i in range(200_000))
    if how < 0.1:
        return ".txt", "".join(chr(int(c)) for c in rng.integers(1, 0xD7FF, 5000)).encode()
    if how < 0.25:
        return ".txt", mutate.raw(rng, "\n".join(lines).encode())
    return ".txt", mutate.text(rng, pick(rng, ("\n", "\n\n", "\r\n")).join(lines))


def _picture(rng: Rng, mode: str, size: tuple[int, int], form: str) -> bytes:
    out = io.BytesIO()
    grey = np.frombuffer(rng.bytes(size[0] * size[1]), np.uint8).reshape(size[::-1])
    Image.fromarray(grey).convert(mode).save(out, form)
    return out.getvalue()


@cache
def wide_picture(side: int) -> bytes:
    """Return a small image file with very many pixels."""
    out = io.BytesIO()
    Image.new("1", (side, side)).save(out, "PNG")
    return out.getvalue()


def _zip_data(rng: Rng) -> tuple[str, bytes]:
    files: dict[str, bytes] = {}
    for i in range(8):
        form = pick(rng, ("PNG", "PNG", "JPEG"))
        mode = pick(
            rng, ("L", "L", "RGB", "CMYK" if form == "JPEG" else "RGBA", "1" if form == "PNG" else "L")
        )
        files[f"{'ab'[i % 2]}/{i}.{form.lower()}"] = _picture(rng, mode, (8, 6), form)
    name = pick(rng, list(files))
    how = rng.random()
    if how < 0.4:
        files[name] = mutate.raw(rng, files[name])
    elif how < 0.45:
        files[name] = wide_picture(int(pick(rng, (6000, 9000, 20_000))))
    elif how < 0.5:
        files = {f"{i}.png": wide_picture(6000) for i in range(12)}
    elif how < 0.6:
        odd = (
            "../../x.png",
            "/etc/x.png",
            "a\\b.png",
            "é" * 90 + ".png",
            ".png",
            "a//b.png",
            "a/b/c/d/e.png",
            "\n.png",
        )
        files[pick(rng, odd)] = files.pop(name)
    elif how < 0.65:
        files[name] = _picture(rng, "L", (int(pick(rng, (1, 64, 65, 3000))), 5), "PNG")
    elif how < 0.7:
        files = {f"{i}.png": b"" for i in range(30_000)}
    elif how < 0.75:
        return ".zip", mutate.bomb({"a/1.png": bomb("x", "|u1")}).replace(b"a/1.png.npy", b"a/1.picture")
    if rng.random() < 0.5:
        return ".zip", mutate.zipped(rng, files)
    return ".zip", mutate.raw(rng, mutate.zipped(None, files)) if rng.random() < 0.5 else mutate.zipped(
        None, files
    )


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
def checkpoint(name: str, large: bool) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """Return the data of a training, and the arrays and the JSON of its checkpoint."""
    from safetensors.numpy import load

    data = bits(4, 60 if large else 40, 70 if large else 5)
    n_hidden = 65 if large else 3
    rbm = RBM(
        np.random.default_rng(0).normal(0, 0.1, (data.shape[1], n_hidden)),
        np.zeros(data.shape[1]),
        np.zeros(n_hidden),
    )
    trainer = make_trainer(name, batch_size=5)
    if name == "exact" and large:
        rbm = RBM(rbm.W[:, :4], rbm.b, rbm.c[:4])
    state = trainer.init(rbm, data, 0)
    trainer.step(state, 2)
    content = save_checkpoint(trainer, state)
    arrays = load(content[len(MAGIC) + 32 :])
    return data, arrays, json.loads(arrays.pop("json").tobytes())


def signed(content: bytes) -> bytes:
    """Return a checkpoint with a valid checksum."""
    return MAGIC + hashlib.sha256(content).digest() + content


def make_checkpoint(rng: Rng, folder: Path) -> tuple[bytes, np.ndarray]:
    """Write a damaged checkpoint with a valid checksum."""
    data, arrays, written = checkpoint(pick(rng, list_trainers()), rng.random() < 0.5)
    how, lies = rng.random(), None
    if how < 0.4:
        for _ in range(int(rng.integers(1, 3))):
            arrays = damaged_arrays(rng, arrays)
    elif how < 0.6:
        written = {**written, "state": mutate.json_value(rng, written["state"])}
    elif how < 0.75:
        written = {**written, "knobs": mutate.json_value(rng, written["knobs"])}
    elif how < 0.85:
        written = mutate.json_value(rng, written)
    else:
        lies = rng
    text = json.dumps(written).encode("utf-8", "surrogatepass")
    if rng.random() < 0.03:
        text = mutate.deep(100_000).encode()
    whole = {**arrays, "json": np.frombuffer(text, np.uint8)}
    content = signed(mutate.safetensors(lies, whole))
    (folder / "damaged.checkpoint").write_bytes(content)
    return content, data


def use_checkpoint(made: tuple[bytes, np.ndarray]) -> None:
    """Resume a checkpoint for a few updates, and save it again."""
    content, data = made
    found = load_checkpoint(content, data)
    progress = found.trainer.step(found.state, 3)
    assert np.isfinite(progress.rbm.W).all(), "a training that goes on without finite parameters"
    save_checkpoint(found.trainer, found.state)


# Replay logs


def make_log(rng: Rng, folder: Path) -> Any:
    """Write the damaged log of a run."""
    name = pick(rng, list_samplers())
    sampler = make_sampler(name)
    knobs = {field.name: getattr(sampler, field.name) for field in dataclasses.fields(sampler)}  # type: ignore[arg-type]
    start = pick(rng, (None, [0, 1] * 10, [1] * 20))
    log = {
        "sampler": name,
        "seed": 5,
        "start": start,
        "changes": [{"n": 0, "knobs": knobs}, {"n": 4, "knobs": knobs}],
    }
    log = mutate.json_value(rng, log)
    (folder / "log.json").write_text(json.dumps(log), encoding="utf-8", errors="surrogatepass")
    return log


def use_log(log: Any) -> None:
    """Replay a log on a small model."""
    if not isinstance(log, dict):
        return
    start = log.get("start")
    try:
        rows = None if start is None else np.array(start)
        changes = tuple((change["n"], change["knobs"]) for change in log["changes"])
        record = RunLog(log["sampler"], log["seed"], rows, changes)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"This harness cannot make a log of it ({type(error).__name__}).") from None
    for samples in replay(record, small_model(), 12):
        assert samples.v.max() <= 1, "samples that are not bits"


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


def make_results(rng: Rng, folder: Path) -> bytes:
    """Damage the file of a sweep, or the plan in it."""
    if rng.random() < 0.5:
        return mutate.raw(rng, swept())
    file = folder / "damaged.sqlite"
    file.write_bytes(swept())
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        [plan] = db.execute("select json from plan").fetchone()
        db.execute("update plan set json = ?", (json.dumps(mutate.json_value(rng, json.loads(plan))),))
    return file.read_bytes()


def use_results(content: bytes) -> Refusals:
    """Read the folder, and choose among its settings."""
    refused = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sweep.sqlite").write_bytes(content)
        try:
            assert Store(folder).plan().size <= MAX_SWEEP_CELLS, "a plan that is too large"
        except BadInput as error:
            refused.append(str(error))
        try:
            compare(Store(folder).read().columns)
        except BadInput as error:
            refused.append(str(error))
    return refused


# The Python interface


def make_call(rng: Rng, folder: Path) -> tuple[str, dict[str, np.ndarray]]:
    """Choose a function and damage one of its arrays."""
    v, means = bits(7, 30, 20), np.random.default_rng(8).random((30, 20)).astype(np.float32)
    arguments: dict[str, dict[str, np.ndarray]] = {
        "RBM": arrays_of(Model(small_model().rbm)),
        "Statistics": arrays_of(Model(small_model().rbm)),
        "free_energy": {"v": v},
        "rates": {"v": v},
        "isl": {"v": v, "test": bits(8, 12, 20), "validation": bits(9, 12, 20)},
        "isl mean": {"v": means, "test": bits(8, 12, 20), "validation": bits(9, 12, 20)},
        "log_likelihood": {"v": v},
        "couple": {"v0": v},
        **{f"sampler {name}": {"v0": v[0]} for name in list_samplers()},
        **{f"trainer {name}": {"data": v} for name in list_trainers()},
    }
    name = pick(rng, list(arguments))
    arrays = dict(arguments[name])
    damaged = pick(rng, list(arrays))
    arrays[damaged] = mutate.array(rng, arrays[damaged])
    np.savez(folder / "arguments.npz", **arrays)  # type: ignore[arg-type]
    (folder / "call.txt").write_text(name)
    return name, arrays


def use_call(made: tuple[str, dict[str, np.ndarray]]) -> None:
    """Call the function."""
    (what, _, name), a = made[0].partition(" "), made[1]
    model = small_model()
    match what:
        case "RBM":
            work_with(Model(RBM(a["W"], a["b"], a["c"])))
        case "Statistics":
            work_with(Model(model.rbm, Statistics(a["W"], a["b"], a["c"])))
        case "free_energy":
            model.rbm.free_energy(a["v"])
        case "rates":
            work_with(Model(model.rbm, model.rbm.rates(a["v"])))
        case "isl":
            kernel: Any = "mean" if name else "binary"
            metrics.isl(a["v"], a["test"], a["validation"], kernel=kernel)
        case "log_likelihood":
            metrics.log_likelihood(model.rbm, a["v"])
        case "couple":
            couple(model.rbm, a["v0"], "rbm", 20, 1, 0)
        case "sampler":
            sampler = make_sampler(name)
            state = sampler.init(model, 0, a["v0"])
            assert sampler.step(state, 5).v.max() <= 1, "samples that are not bits"
        case "trainer":
            trainer = make_trainer(name, batch_size=5)
            rbm = RBM(np.zeros((20, 3)), np.zeros(20), np.zeros(3))
            trainer.step(trainer.init(rbm, a["data"], 0), 2)


READERS = [
    Family("model file", make_model, use_model, 4),
    Family("data file", make_data, use_data, 4),
    Family("checkpoint", make_checkpoint, use_checkpoint, 5),
    Family("replay log", make_log, use_log, 2),
    Family("results of a sweep", make_results, use_results, 3),
    Family("Python call", make_call, use_call, 2),
]


def prepare() -> None:
    """Import and compile everything that the cases need, once, before the first case."""
    work_with(small_model())
    for name in list_trainers():
        for large in (False, True):
            data, arrays, written = checkpoint(name, large)
            text = np.frombuffer(json.dumps(written).encode(), np.uint8)
            use_checkpoint((signed(mutate.safetensors(None, {**arrays, "json": text})), data))
    metrics.isl(bits(7, 30, 20), bits(8, 12, 20), bits(9, 12, 20))
    use_results(swept())
    couple(small_model().rbm, bits(1, 4, 20), "rbm", 5, 1, 0)
    for name in BOMBS:
        bomb(name, "|u1")
    wide_picture(6000)
    with zipfile.ZipFile(io.BytesIO(), "w", zipfile.ZIP_LZMA) as archive:  # loads the packers
        archive.writestr("x", b"x")
