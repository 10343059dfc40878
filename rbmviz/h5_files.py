"""Models in HDF5: the archives of rbms (PyTorch), and the files of RestrictedBoltzmannMachinesHDF5.jl.

An HDF5 file can refer to other files, and declare far more than it holds: the app reads those of strangers
in a process with limits (``outside``).
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rbmviz.array_files import Content, Damaged, damaged, is_file, printable
from rbmviz.errors import BadInput, brought_by

Layout = Literal["rbms", "julia"]

JULIA_HEADER = "rbm_hdf5_file_format_version"


def _array(file: Any, path: str) -> Any:
    """Return the value at a path, None if there is none; nothing outside of the file is read."""
    if path not in file:
        return None
    at = file[path]
    if not hasattr(at, "dtype") or at.file != file or at.is_virtual or at.external:
        raise Damaged(f"{path} is not an array in this file")
    return at[()]


def _numbers(file: Any, path: str) -> np.ndarray | None:
    array = _array(file, path)
    if array is not None and (not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf"):
        raise Damaged(f"{path} holds no array of numbers")
    return array


def _text(file: Any, path: str) -> str:
    value = _array(file, path)
    text = value.decode(errors="replace") if isinstance(value, bytes) else "" if value is None else str(value)
    return printable(text)[:100]


@contextmanager
def _opened(content: Content, what: str) -> Iterator[Any]:
    with brought_by("models", f"Reading {what}"):
        import h5py
    with damaged():
        if isinstance(content, Path) and not is_file(content):
            raise Damaged("it is not a regular file")
        with h5py.File(content if isinstance(content, Path) else io.BytesIO(content), "r") as file:
            yield file


def read_h5(
    content: Content, what: str, update: int | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays W, b, c of a model in HDF5, and its metadata.

    what : name of the file in error messages
    update : number of an update in an archive of rbms (default: the last one)

    Raises BadInput if h5py is not installed, or if the file holds another kind of model, or has no such
    update; Damaged if it is not an HDF5 file of one of these layouts.
    """
    with _opened(content, what) as file:
        if JULIA_HEADER in (names := list(file)):
            if update is not None:
                raise BadInput(f"{what} holds one model: leave update = {update} out.")
            return _read_julia(file, what)
        updates = _updates(names)
        if not updates:
            raise Damaged("it is neither an archive of rbms nor a file of RestrictedBoltzmannMachinesHDF5.jl")
        if (kind := _text(file, "model_type") or "BBRBM") != "BBRBM":
            raise BadInput(
                f"{what} holds a model of the type {kind}: only BBRBM, binary units 0 and 1, is read."
            )
        n = updates[-1] if update is None else update
        if n not in updates:
            some = updates if len(updates) < 8 else [*updates[:3], "...", *updates[-3:]]
            raise BadInput(f"{what} has no update {n}; it has {', '.join(map(str, some))}.")
        arrays = {}
        for name, theirs in (("W", "weight_matrix"), ("b", "vbias"), ("c", "hbias")):
            array = _numbers(file, f"update_{n}/params/{theirs}")
            array = _numbers(file, f"update_{n}/{theirs}") if array is None else array
            if array is None:
                raise Damaged(f"update {n} has no {theirs}")
            arrays[name] = array
        return arrays, {"trainer": "rbms", "updates": n}


def _updates(names: list[str]) -> list[int]:
    return sorted(int(n[1]) for name in names if (n := re.fullmatch(r"update_(\d{1,15})", name)))


def read_chains(content: Content, what: str) -> np.ndarray | None:
    """Return the chains of an archive of rbms, (chains, n_visible); None if it has none."""
    with _opened(content, what) as file:
        return _numbers(file, "parallel_chains")


def _read_julia(file: Any, what: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the layout of version 1.0.0; Julia's arrays have their first axis last in the file.

    Layers may have several axes; a visible layer with two axes is a picture.
    """
    kinds = [_text(file, name) for name in ("rbm_type", "visible_type", "hidden_type")]
    if _text(file, JULIA_HEADER) != "1.0.0" or kinds != ["RBM", "Binary", "Binary"]:
        raise BadInput(f"{what} holds {' / '.join(kinds)}: only an RBM with two Binary layers is read.")
    arrays = {name: _numbers(file, name) for name in ("weights", "visible_par", "hidden_par")}
    weights, b, c = (None if x is None else x.transpose() for x in arrays.values())
    if weights is None or b is None or c is None or b.shape[:1] != (1,) or c.shape[:1] != (1,):
        raise Damaged("weights, visible_par or hidden_par is missing, or is not of one parameter a unit")
    if weights.shape != b.shape[1:] + c.shape[1:]:
        raise Damaged(f"the weights have shape {weights.shape}, the layers {b.shape[1:]} and {c.shape[1:]}")
    meta: dict[str, Any] = {"trainer": "RestrictedBoltzmannMachines.jl"}
    if b.ndim == 3:
        meta["image_shape"] = list(b.shape[1:])
    return {"W": weights.reshape(b.size, c.size), "b": b.ravel(), "c": c.ravel()}, meta


def h5_bytes(W: np.ndarray, b: np.ndarray, c: np.ndarray, updates: int, layout: Layout) -> bytes:
    """Return the bytes of a model file for rbms or for RestrictedBoltzmannMachinesHDF5.jl.

    An archive of rbms has chains; here there are 100, with bits drawn from the visible biases alone.
    """
    with brought_by("models", "Writing HDF5"):
        import h5py
    if layout not in ("rbms", "julia"):
        raise BadInput(f"layout = '{layout}' is not a layout of HDF5: give 'rbms' or 'julia'.")
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        if layout == "julia":
            texts = {
                JULIA_HEADER: "1.0.0",
                "rbm_type": "RBM",
                "visible_type": "Binary",
                "hidden_type": "Binary",
            }
            arrays = {"weights": W.T, "visible_par": b[:, None], "hidden_par": c[:, None]}
            for name, value in (texts | arrays).items():
                file[name] = value
        else:
            at = f"update_{updates}"
            for name, array in (("weight_matrix", W), ("vbias", b), ("hbias", c)):
                file[f"{at}/params/{name}"] = array
            drawn = np.random.default_rng(0).random((100, len(b)), np.float32)
            file["parallel_chains"] = (drawn < 0.5 * (1 + np.tanh(0.5 * b))).astype(np.float32)
            file[f"{at}/time"], file["model_type"] = 0.0, "BBRBM"
    return content.getvalue()
