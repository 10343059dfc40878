"""``python -m rbmviz.browser.build``: compile the kernels to ``kernels.wasm``, and write ``kernels.json``.

It needs wasm-ld and wasm-opt (Debian's packages lld and binaryen), and about half a minute. Run it after
changing a kernel that browsers run, and commit the module: a test rebuilds it and compares.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz import browser, kernels, rng
from rbmviz.browser.chains import kind_of, leaves
from rbmviz.browser.pairs import pair_arguments
from rbmviz.errors import BadInput
from rbmviz.rbm import RBM

MAX_BYTES = 150_000
"""Maximum size of the module: it is in every page and in the wheel."""

STACK_BYTES = 262_144

IMPORTED = {"exp", "log"}
"""Functions that the module imports from the browser."""

EXAMPLE_UNITS = 70, 40
"""Numbers of units of the example whose arrays determine the types."""


def exports() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the kernels of the module by name, each with arguments of the types it is compiled for."""
    m, n = EXAMPLE_UNITS
    zeros = np.zeros
    weights = np.zeros((m, n), np.float32)
    up, down = (kernels.layers.make_preactivation(x, x[0]) for x in (weights, weights.T.copy()))
    v, h = zeros(m, np.uint8), zeros(n, np.uint8)
    stream = rng.kernel_state(0, "chain")
    chain = kernels.fast_weights.make_chain(v, stream, (up, down), (up, down), 0.0)
    flips = {"v_flips": kernels.layers.make_flips(m), "h_flips": kernels.layers.make_flips(n)}
    out_v, out_p, norm = zeros((1, m), np.uint8), zeros((1, m), np.float32), zeros(1)
    gibbs = {"up": up, "down": down, "v": v, "h": h, **flips, "stream": stream, "sweeps": zeros(1, np.int64)}
    gibbs |= {"inverse_temperature": np.float32(1.0), "k": 1, "mean_h": zeros(n, np.float32)}
    state = dict(zip(("v", "h", "up", "down"), chain[:4], strict=True))
    rows = state | {"rows_regime": True, "history": None}
    in_history = state | {"rows_regime": None, "history": chain.history}
    end = {"scalars": chain.scalars, "stream": stream, "eps": 0.1, "alpha": 0.9}
    driven = end | {"mean_statistics": False, "k": 1, "out_v": out_v, "out_p": out_p, "out_fast_norm": norm}
    climb = end | {"max_sweeps": 1, "out_v": out_v, "out_sweeps": zeros(1, np.int64), "out_fast_norm": norm}
    blocks = kernels.hamming.pack_blocks(out_v)
    distances = zeros(kernels.hamming.BLOCK_SAMPLES, np.uint32)
    points = {"points": kernels.hamming.pack(out_v)}
    histograms = zeros((1, m + 1), np.uint32)
    work = {"powers": zeros((1, m + 1, 8)), "weights": zeros(m + 1), "total": zeros(8), "out": zeros((1, 2))}
    nearest = {"index": zeros(1, np.int64), "distance": zeros(1, np.int64), "out": distances}
    prepared = {"chain": chain, "eps": 0.1, "alpha": 0.9, "mean_statistics": False}
    layers = kernels.chains.make_layers(weights, weights[:, 0].copy(), weights[0].copy())
    ends = np.linspace(1, 0, 2, dtype=np.float32), weights[:, 0].copy(), np.stack([stream] * 3)
    tempering = {"ladder": kernels.tempering.start(layers, v, *ends, 0), "k": 1}
    sample, regime = kernels.fast_weights.sample, kernels.fast_weights.regime
    coupling = pair_arguments(RBM(weights, weights[:, 0], weights[0]), out_v, np.stack([stream]))
    return {
        "gibbs": (kernels.gibbs.gibbs, gibbs | {"out_v": out_v, "out_p": out_p}),
        "tempering": (kernels.tempering.sample, tempering | {"out_v": out_v, "out_p": out_p}),
        "driven_rows": (sample.driven_gibbs, rows | driven),
        "driven_history": (sample.driven_gibbs, in_history | driven),
        "herding_rows": (sample.herding, rows | climb),
        "herding_history": (sample.herding, in_history | climb),
        "prepare": (regime.prepare, prepared),
        "count_all": (
            kernels.hamming.count_all,
            points | {"blocks": blocks, "n": 1, "histograms": histograms, "out": distances},
        ),
        "mix": (kernels.hamming.mix, {"histograms": histograms, "log_odds": zeros(2)} | work),
        "find_nearest": (kernels.hamming.find_nearest, points | {"block": blocks[0]} | nearest),
        "run_pairs": (kernels.coupling.run_pairs, coupling),
    }


def described(arguments: dict[str, Any], records: dict[str, Any]) -> list[list[Any]]:
    """Return path, dtype and number of axes of each array; numbers have -1 axes, None has no dtype."""
    table = []
    flat: dict[str, Any] = {}
    for name, argument in arguments.items():
        flat |= leaves(name, argument)
    for path, value in flat.items():
        if value is None:
            table.append([path, None, -1])
        elif isinstance(value, np.ndarray):
            if value.dtype.fields:
                fields = {field: [at[0].name, at[1]] for field, at in value.dtype.fields.items()}
                records[kind_of(value)] = {"itemsize": value.itemsize, "fields": fields}
            table.append([path, kind_of(value), value.ndim])
        else:
            table.append([path, np.asarray(value).dtype.name, -1])
    return table


def slots_of(axes: int) -> int:
    """Return the slots for a number (-1 axes) or an array: seven words with one axis, nine with two."""
    return 5 + 2 * axes if axes >= 0 else 1


def build(folder: Path) -> None:
    """Write ``kernels.wasm`` and ``kernels.json`` to a folder."""
    for tool, package in (("wasm-ld", "lld"), ("wasm-opt", "binaryen")):
        if shutil.which(tool) is None:
            raise BadInput(f"{tool} is not installed: it is in Debian's package {package}.")
    exported = exports()  # runs kernels, in the processor's form
    kernels.webassembly.begin()
    regime = kernels.fast_weights.regime
    kernels.webassembly.compile_functions(regime)
    exported["prepare"] = regime.prepare, exported["prepare"][1]
    records: dict[str, Any] = {}
    table: dict[str, Any] = {"functions": {}, "records": records}
    with tempfile.TemporaryDirectory() as work:
        objects = []
        for name, (kernel, arguments) in exported.items():
            code, slots = kernels.webassembly.object_code(kernel, tuple(arguments.values()), name)
            leaf_table = described(arguments, records)
            taken = 2 + sum(slots_of(axes) for _, _, axes in leaf_table)
            if taken != len(slots):
                raise RuntimeError(f"{name}: {len(slots)} slots, and the table says {taken}")
            table["functions"][name] = leaf_table
            objects.append(Path(work, f"{name}.o"))
            objects[-1].write_bytes(code)
        linked, small = Path(work, "linked.wasm"), folder / "kernels.wasm"
        _link(objects, list(table["functions"]), linked)
        features = ("simd", "bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals")
        flags = [f"--enable-{feature}" for feature in features]
        subprocess.run(["wasm-opt", "-O2", *flags, str(linked), "-o", str(small)], check=True)
    (folder / "kernels.json").write_text(json.dumps(table, separators=(",", ":")) + "\n", "utf-8")
    if small.stat().st_size > MAX_BYTES:
        raise RuntimeError(f"the module has {small.stat().st_size:,} bytes, more than {MAX_BYTES:,}")


def _link(objects: list[Path], exported: list[str], out: Path) -> None:
    command = ["wasm-ld", "--no-entry", "--import-memory", "--initial-memory=2097152"]
    command += [
        "--max-memory=2147483648",
        "--strip-all",
        "--export=__heap_base",
        "-z",
        f"stack-size={STACK_BYTES}",
    ]
    command += ["--stack-first", *(f"--export={name}" for name in exported)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as allowed:
        allowed.write("\n".join(sorted(IMPORTED)))
        allowed.flush()
        command += [f"--allow-undefined-file={allowed.name}", *map(str, objects), "-o", str(out)]
        subprocess.run(command, check=True)


def main() -> None:
    """Build into the package, or another folder."""
    parser = argparse.ArgumentParser(prog="python -m rbmviz.browser.build", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=browser.KERNELS_FOLDER, help="folder (default: the package's)"
    )
    build(parser.parse_args().out)


if __name__ == "__main__":
    main()
