"""A web folder of published data for tests: what a download finds instead of the public hosts."""

import dataclasses
import gzip
import hashlib
import io

import numpy as np
from scipy.io import savemat
from scipy.sparse import csc_matrix

from rbmviz import registry


def publish(www, name, files, monkeypatch, *, shapes=None, **more):
    """Put files on the server, and replace the published checksums by theirs.

    Shapes are those of the published data, or of these arrays.
    """
    if shapes is not None:
        more["shapes"] = {array: x.shape for array, x in shapes.items()}
    (www / name).mkdir()
    checksums = {}
    for file, content in files.items():
        (www / name / file).write_bytes(content)
        checksums[file] = "md5:" + hashlib.md5(content).hexdigest()
    assert set(files) == set(registry.datasets[name].published.files)
    republish(name, monkeypatch, files=checksums, **more)


def republish(name, monkeypatch, **fields):
    """Replace some fields of a publication."""
    entry = registry.datasets[name]
    monkeypatch.setattr(entry, "published", dataclasses.replace(entry.published, **fields))


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    return gzip.compress(head + array.tobytes())


def mnist_files() -> tuple[dict[str, np.ndarray], dict[str, bytes]]:
    g = np.random.default_rng(0)
    want = {
        "x_train": g.integers(0, 256, (60, 28, 28), dtype=np.uint8),
        "y_train": g.integers(0, 10, 60, dtype=np.uint8),
        "x_test": g.integers(0, 256, (20, 28, 28), dtype=np.uint8),
        "y_test": g.integers(0, 10, 20, dtype=np.uint8),
    }
    names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    files = {f"{name}-ubyte.gz": idx(array) for name, array in zip(names, want.values(), strict=True)}
    return want, files


def newsgroups_files() -> tuple[dict[str, np.ndarray], dict[str, bytes]]:
    x = np.random.default_rng(0).integers(0, 2, (30, 100), dtype=np.uint8)
    y = np.arange(30) % 4 + 1
    words = np.array([f"word{i}" for i in range(100)], dtype=object)
    groups = np.array(["comp.*", "rec.*", "sci.*", "talk.*"], dtype=object)
    content = io.BytesIO()
    savemat(content, {"documents": csc_matrix(x.T), "newsgroups": y, "wordlist": words, "groupnames": groups})
    want = {"x": x, "y": y, "words": words, "groups": groups}
    return want, {"20news_w100.mat": content.getvalue()}
