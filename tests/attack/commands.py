"""Attack on the command line: every command with random options and values, in a folder of its own."""

import inspect
import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.cli import COMMANDS as NAMES
from rbmviz.cli import main
from rbmviz.cli.options import app_of
from rbmviz.knobs import knobs_of
from rbmviz.models import load_model
from rbmviz.rbm.files import model_bytes
from rbmviz.registry import samplers, trainers
from tests.attack import mutate
from tests.attack.families import Family, bits, make_data, make_model, small_model
from tests.attack.mutate import Rng, pick

NUMBERS = [*"0 1 2 3 5 10 20 -1 1e3 nan inf x 0.5 -0 007 1_0 2147483648 4294967296".split(), "9" * 23]
HOSTILE = ["", " ", "-", "--", "é", "a\nb", "x" * 300, "../x", "\x01", "%s", "~", "*", "no/such/file", "."]
KNOBS = sorted({name for table in (samplers, trainers) for each in table for name in knobs_of(table[each])})

VALUES = {
    "out": "out.npz out.safetensors sub/out.npz ./sub/../out.safetensors link.safetensors out out.txt "
    f"file/out.npz {'y' * 260}.npz",
    "history": "history.csv out.safetensors ./out.safetensors sub/h.csv link.safetensors",
    "random": "5x4:1 3x2:0.5 0x3:1 5x:1",
    "rows": "gibbs* x * ,",
    "sampler": " ".join(samplers),
    "trainer": " ".join(trainers),
    "model": "model.safetensors model.npz bas_pcd modes_cd1 no_model empty.npz file sub",
    "dataset": "data.npz data.csv bas modes digits empty.npz sub mnist x data.npz@0.3",
    "samples": f"{'samples.npz ' * 12} data.npz empty.npz file sub none.npz",
    "name": "mnist bas letters x reviews",
}
"""What options of these names are given, apart from numbers and nonsense."""


def _value(rng: Rng, option: Any, values: dict[str, list[str]]) -> str:
    if rng.random() < 0.03:
        return str(pick(rng, HOSTILE + NUMBERS))
    if choices := option.get_choices():
        return str(pick(rng, list(choices)))
    if option.hint is int:
        return str(pick(rng, NUMBERS if rng.random() < 0.12 else ("1", "2", "3", "8", "20")))
    name = {"warm_start": "model", "file": "samples"}.get(option.field_info.name, option.field_info.name)
    return str(pick(rng, values.get(name) or [*NUMBERS, *HOSTILE]))


def _samples(rng: Rng) -> bytes:
    """Return a file of samples, now and then damaged."""
    meta: Any = {
        "model_meta": {"dataset": "data.npz"},
        "model": "model.npz",
        "knobs": {"n_chains": 1},
        "n": 30,
    }
    if rng.random() < 0.4:
        meta = mutate.json_value(rng, meta)
    arrays = {"v": bits(2, 60, 20), "p": np.random.default_rng(0).random((60, 20)).astype(np.float32)}
    if rng.random() < 0.4:
        name = pick(rng, list(arrays))
        arrays[name] = mutate.array(rng, arrays[name])
    arrays["meta"] = np.array(json.dumps(meta).replace("\x00", " "))
    return mutate.zipped(
        rng if rng.random() < 0.1 else None,
        {f"{name}.npy": mutate.npy(rng if rng.random() < 0.1 else None, a) for name, a in arrays.items()},
    )


def make_command(rng: Rng, folder: Path) -> tuple[list[str], Path]:
    """Write honest and damaged files, and choose a command line over them."""
    for name in ("sub", "bad"):
        (folder / name).mkdir()
    (folder / "file").write_text("x")
    (folder / "empty.npz").write_bytes(b"")
    (folder / "model.safetensors").write_bytes(model_bytes(small_model()))
    (folder / "model.npz").write_bytes(model_bytes(small_model(), ".npz"))
    (folder / "link.safetensors").symlink_to("out.safetensors")
    np.savez(folder / "data.npz", x=bits(1, 30, 20))
    (folder / "data.csv").write_text("\n".join("0,1,1,0,1" if i % 3 else "1,0,1,1,0" for i in range(20)))
    (folder / "samples.npz").write_bytes(_samples(rng))
    values = {name: text.split() for name, text in VALUES.items()}
    if rng.random() < 0.3:
        values["model"] += [str(make_model(rng, folder / "bad").relative_to(folder))] * 8
    if rng.random() < 0.3:
        values["dataset"] += [str(make_data(rng, folder / "bad")[0].relative_to(folder))] * 8
    weights = {"app": 0, "warmup": 1, "data": 2}  # a server ends by a signal only
    command = str(pick(rng, [name for name in NAMES for _ in range(weights.get(name, 6))]))
    words = [command]
    for option in app_of(command).assemble_argument_collection():  # as cyclopts sees them
        record = option.children or option.field_info.kind is inspect.Parameter.VAR_KEYWORD
        if record or rng.random() > 0.35:
            continue
        if option.field_info.is_keyword:
            words.append(max(option.names, key=len, default=""))
        if not option.field_info.is_keyword or option.hint is not bool:
            words.append(_value(rng, option, values))
    while rng.random() < 0.3 and command in ("sample", "train", "gradient", "weights"):
        words += [
            f"--{pick(rng, KNOBS)}".replace("_", "-"),
            pick(rng, [*NUMBERS, "mean", "linear", "visible"]),
        ]
    if rng.random() < 0.03:
        odd = pick(rng, ("--help", "--nothing", "", "-n", "--json"))
        words.insert(int(rng.integers(len(words) + 1)), odd)
    words = [word.replace("\x00", " ") for word in words]
    (folder / "command.json").write_text(json.dumps(words))
    return words, folder


def use_command(made: tuple[list[str], Path]) -> int:
    """Run it in its folder and return its status, having looked at what it left."""
    words, folder = made
    os.chdir(folder)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    try:
        status = main(words)
    except SystemExit as end:  # --help
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    hidden = [path.name for path in Path().rglob(".*") if path.name != "."]
    assert not hidden, f"left half a file: {hidden}"
    pairs = itertools.pairwise(words)
    named = {Path(after).resolve() for word, after in pairs if word in ("--out", "--history")}
    for path, content in before.items():
        if path.resolve() not in named and path.suffix != ".checkpoint":
            assert path.read_bytes() == content, f"changed its input {path}"
    if words[0] == "train" and status == 0 and "--out" in words and "--help" not in words:
        load_model(words[words.index("--out") + 1])
    return status


COMMANDS = [Family("command line", make_command, use_command, 6, command=True)]
