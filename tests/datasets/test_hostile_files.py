"""Files of strangers, read behind the door of the app, and the user's own, which give one sentence."""

import io
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import command_line
import h5py
import numpy as np
import pandas
import pytest
from PIL import Image

from rbmviz import RBM, BadInput, Model, rng
from rbmviz.cli import main
from rbmviz.datasets import Dataset, load_bytes, load_dataset
from rbmviz.datasets.binarise import binarised
from rbmviz.files.arrays import Damaged, read_json
from rbmviz.metrics import ais_log_z, log_z, model_statistics, too_large
from rbmviz.models import load_model
from rbmviz.rbm.files import load_model_bytes, model_bytes
from rbmviz_app import outside
from tests.attack.mutate import zipped


def npz(save=np.savez, **arrays) -> bytes:
    content = io.BytesIO()
    save(content, **arrays)
    return content.getvalue()


def safetensors(header, data=b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensors(dtype="F32", shape=(2, 1), itemsize=4, **more) -> bytes:
    """Return a model of 2 x 1 units; W is of the given type."""
    sizes = {"W": (dtype, shape, 2 * itemsize), "b": ("F32", (2,), 8), "c": ("F32", (1,), 4)}
    header, at = dict(more), 0
    for name, (kind, dims, size) in sizes.items():
        header[name] = {"dtype": kind, "shape": dims, "data_offsets": [at, at + size]}
        at += size
    return safetensors(header, bytes(at))


def with_meta(model, text: str) -> bytes:
    """Return a model file whose header holds this text."""
    rbm = model.rbm
    return npz(W=rbm.W, b=rbm.b, c=rbm.c, rbmviz=np.array(text))


def refused(read, *arguments, match=None, **options) -> str:
    with pytest.raises(BadInput, match=match) as caught:
        read(*arguments, **options)
    text = str(caught.value)
    assert text.isprintable()
    assert text.endswith((".", "?"))
    assert len(text) < 1000
    return text


# The door


def picture(size: int) -> bytes:
    content = io.BytesIO()
    Image.new("1", (size, size)).save(content, "PNG", optimize=True)
    return content.getvalue()


def one_chunk_each() -> bytes:
    """Return an archive of 6 kB that declares 8 GB, in chunks of one number."""
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        group = file.create_group("update_1/params")
        group.create_dataset("weight_matrix", (50_000, 20_000), "f8", chunks=(1, 1))
        group["vbias"], group["hbias"] = np.zeros(5), np.zeros(2)
    return content.getvalue()


def bombs() -> dict[str, bytes]:
    """Return small files that would take more than 300 MB, by name."""
    wide = np.zeros((16_000, 20_000), np.uint8)
    grey = npz(np.savez_compressed, W=wide, x=wide, b=wide[:, 0], c=wide[0])
    return {
        "grey.npz": grey,
        "model.npz": grey,
        "model.h5": one_chunk_each(),
        "large.zip": zipped(None, {"0.png": picture(13_000), "1.png": picture(14_000)}),
        "tall.csv": b"0,1\n" * 12_000_000,
        "row.csv": b"0," * 5_000_000,
        "model.safetensors": safetensors(
            {"W": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}
        ),
    }


def read_outside(content, name, **limits):
    if "model" in name:
        return outside.read_model(content, name, **limits)
    return outside.read_data(content, name, {}, **limits)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_twenty_bombs_at_once_leave_the_server_small(monkeypatch):
    files = list(bombs().items())
    children, most = [], []
    original = subprocess.Popen

    class Counted(original):
        def __init__(self, *arguments, **more):
            children[:] = [child for child in children if child.poll() is None]
            children.append(self)
            most.append(len(children))
            super().__init__(*arguments, **more)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "300")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = peak()
    with ThreadPoolExecutor(20) as pool:
        jobs = [pool.submit(read_outside, *files[i % len(files)][::-1]) for i in range(20)]
        for (name, _), job in zip(itertools.cycle(files), jobs, strict=False):
            with pytest.raises(BadInput, match=f"'{name}'") as said:
                job.result()
            assert str(said.value).endswith(".")
            assert str(said.value).isprintable()
            assert "seconds" not in str(said.value)  # its memory ended it, not its time
    assert peak() - before < 50
    assert most == [1] * 20


def peak() -> float:
    """Return the largest size of this process, in MB."""
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 1000


def test_a_reader_ends_with_its_time_its_caller_and_its_answer(monkeypatch):
    slow = zipped(None, dict.fromkeys((f"{i:03}.png" for i in range(60)), picture(7000)))
    monkeypatch.setattr(outside, "SECONDS", 2)
    with pytest.raises(BadInput, match=r"'own\.zip' takes more than 2 seconds"):
        outside.read_data(slow, "own.zip", {})

    class Left(BaseException):
        """The page has gone."""

    def leave():
        raise Left

    monkeypatch.setattr(outside, "SECONDS", 60)
    with pytest.raises(Left):
        outside.read_data(slow, "own.zip", {}, go_on=leave)
    rows = npz(x=np.eye(40, dtype=np.uint8))
    assert outside.read_data(rows, "own.npz", {}).n_visible == 40  # the door is free again
    monkeypatch.setattr(outside, "MOST_BACK", 1000)
    with pytest.raises(BadInput, match=r"'own\.npz' needs more than"):
        outside.read_data(rows, "own.npz", {})


def test_the_door_gives_what_python_reads(model):
    grey = [Image.fromarray(np.eye(6, k=i - 3, dtype=np.uint8) * 255) for i in range(8)]
    images = {}
    for i, image in enumerate(grey):
        file = io.BytesIO()
        image.save(file, "PNG")
        images["ab"[i % 2] + f"\\{i}.png"] = file.getvalue()  # as some archives of Windows name them
    files = {
        "own.zip": zipped(None, images),
        "own.csv": b"label,a,b\n3,0,1\n0,1,0\n2,0,0\n1,1,1\n",
        "own.txt": b"one cat\ntwo dogs\nthree cats\nfour birds\n",
    }
    for name, content in files.items():
        options = {"min_stems": 1} if name == "own.txt" else {"binarise": "0.3"}
        here, there = load_bytes(content, name, **options), outside.read_data(content, name, options)
        for field, value in vars(here).items():
            np.testing.assert_array_equal(getattr(there, field), value)
            assert type(getattr(there, field)) is type(value)
    assert load_bytes(files["own.zip"], "own.zip").classes == ("a", "b")
    there = outside.read_model(model_bytes(model, ".npz"), "m.npz")
    assert (there.meta, there.rates is None) == (model.meta, model.rates is None)
    np.testing.assert_array_equal(there.rbm.W, model.rbm.W)
    refused(outside.read_model, npz(x=np.zeros(3)), "m.npz", match="'m.npz' has no array W, b, c")


# Models


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [
        (tensors("F8_E4M3", itemsize=1), "m.safetensors", ""),
        (tensors()[:-1], "m.safetensors", ""),
        (tensors(__metadata__={"rbmviz": "[1, 2]"}), "m.safetensors", "must be an object"),
        (tensors(__metadata__={"rbmviz": '{"a": ' + "[" * 100_000}), "m.safetensors", "recursion"),
        (pickle.dumps({"x": 1}), "m.safetensors", ""),
        (npz(W=np.array([[{}]], dtype=object), b=[0], c=[0]), "m.npz", "neither numbers nor text"),
        (npz(W=np.full((2, 1), 1e300), b=[0, 0], c=[0]), "m.npz", "W holds NaN or infinite values"),
        (npz(W=np.full((2, 1), 3e38), b=[0, 0], c=[0]), "m.npz", r"W holds values beyond ±1e\+30"),
        (npz(W=np.zeros((2, 1)), b=[0, 0], c=[0])[:-40], "m.npz", ""),
        (npz(W=np.zeros((2, 1)), b=[0], c=[0, 0]), "m.npz", "b has shape"),
        (npz(b=[0, 0], c=[0], **{"rates.W": np.zeros((2, 1))}), "m.npz", "no array W"),
        (npz(W=np.zeros((2, 1)), b=[0, 0], c=[0], rbmviz=np.array("{")), "m.npz", ""),
        (pickle.dumps({"W": [1]}), "m.npz", ""),
        (b"PK\x03\x04 not a zip", "m.npz", ""),
    ],
)
def test_invalid_models_are_refused(content, name, why):
    refused(load_model_bytes, content, name, match=f"'{name}'.*{why}")


def test_arrays_are_read_in_any_order_and_type(model):
    W, b, c = model.rbm.W, model.rbm.b, model.rbm.c
    for how in (np.asfortranarray, lambda x: x.astype(">f8"), lambda x: x.astype(">f4")):
        back = load_model_bytes(npz(W=how(W), b=how(b), c=how(c)), "m.npz")
        np.testing.assert_array_equal(back.rbm.W, W)
        np.testing.assert_array_equal(back.rbm.b, b)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("image_shape", [-1, -5]),
        ("scores", {"isl_10000": {"gibbs": "x"}}),
        ("seed", 2**200),
        ("knobs", {"k": [1]}),
        ("mine", [[[[[[[[[1]]]]]]]]]),
        ("k" * 201, 1),
    ],
)
def test_metadata_of_another_type(key, value, model):
    text = json.dumps({key: value})
    refused(load_model_bytes, with_meta(model, text), "m.npz", match="'m.npz': The metadata")
    with pytest.raises(BadInput, match="metadata"):
        Model(model.rbm, None, {key: value})


def test_metadata_as_they_are_kept(model):
    text = '{"dataset": "a\\u001b[31mb\\ud800", "scores": {"log_likelihood": NaN}, "more": [null]}'
    meta = load_model_bytes(with_meta(model, text), "m.npz").meta
    assert meta == {"dataset": "a [31mb ", "scores": {"log_likelihood": None}, "more": [None]}
    assert Model(model.rbm, None, {"knobs": {"rate": np.float32(0.5)}}).meta == {"knobs": {"rate": 0.5}}
    for schema in (2, "1", None):
        content = with_meta(model, json.dumps({"schema": schema}))
        refused(load_model_bytes, content, "m.npz", match="newer rbmviz")
    with pytest.raises(Damaged, match="longer than"):
        read_json(" " * (2**20 + 1))


# Paths


def test_pipes_devices_and_folders_are_refused(tmp_path, monkeypatch):
    for suffix in ("npz", "csv"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
        (tmp_path / f"zero.{suffix}").symlink_to("/dev/zero")
    (tmp_path / "folder.npz").mkdir()
    for name in ("pipe.npz", "zero.npz", "a" * 300 + ".npz", "a\0b.npz"):
        for read in (load_model, load_dataset):
            with pytest.raises(BadInput, match="There is no"):
                read(str(tmp_path / name))
        assert main(["score", str(tmp_path / name)]) == 2
    for name in ("pipe.csv", "zero.csv"):
        refused(load_dataset, str(tmp_path / name), match="There is no data file")
    refused(load_model, str(tmp_path / "folder.npz"), match="There is no model file")
    os.mkfifo(tmp_path / "mnist.npz")
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    refused(load_dataset, "mnist", match="not on this machine")


# Data


def test_data_by_blocks_are_the_same_bits(monkeypatch):
    """One draw after the other, whatever the block."""
    monkeypatch.setattr("rbmviz.datasets.binarise.VALUES_PER_BLOCK", 1000)
    grey = np.random.default_rng(0).integers(0, 256, (700, 13), dtype=np.uint8)
    uniform = rng.generator(0, "binarise own train").random(grey.shape, dtype=np.float32)
    np.testing.assert_array_equal(binarised(grey, "bernoulli", "own", "train"), uniform * 255 < grey)
    for form in (np.asfortranarray(grey), grey.reshape(700, 13, 1), grey.astype(">f4")):
        np.testing.assert_array_equal(binarised(form, "0.3", "own", "train"), grey > 0.3 * 255)


def test_labels_and_words_of_a_data_set_fit():
    rows = np.eye(4, dtype=np.uint8)
    for more in (
        {"train_labels": np.arange(4), "classes": ("a",)},
        {"vocabulary": ("a",)},
        {"classes": ("a",) * 1001},
    ):
        with pytest.raises(BadInput, match="toy"):
            Dataset("toy", rows, rows, rows, "", "", **more)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n0,1,1\n1,0,0\n0,0,1\n1,1,1\n",
        "0,1,2\n0,1,1\n1,0,0\n0,0,1\n1,1,1\n",
        "# a b c\n0,1,1\n1,0,0\n0,0,1\n1,1,1\n",
        "0;1;1\n1;0;0\n0;0;1\n1;1;1",
        "0\t1\t1\n1\t0\t0\n0\t0\t1\n1\t1\t1",
        "a;b;c\r\n0;0,9;1\r\n1,0;0;0\r\n\r\n0;0,2;0,8\r\n1;1;1\r\n",
        '"a, or b","b","c"\n"0","1","1"\n"1","0","0"\n\n"0","0","1"\n"1","1","1"\n',
        '"0","1,0","1"\n"1","0,2","0"\n"0","0","0,9"\n"1","1","1"\n',
        "0, 1, 1\n1 ,0 ,0\n 0, 0, 1\n1,1,1\n",
        "b0;class;b1;b2\n0;3;1;1\n1;0;0;0\n0;2;0;1\n1;1;1;1\n",
        "Y,b0,b1,b2\n3,0,1,1\n0,1,0,0\n2,0,0,1\n1,1,1,1\n",
    ],
)
def test_rows_as_programs_write_them(text):
    data = load_bytes(text.encode("utf-8-sig"), "own.csv")
    rows = np.concatenate([data.train, data.validation, data.test])
    assert sorted(map(tuple, rows.tolist())) == [(0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 1)]
    if data.train_labels is None:
        assert "class" not in text
    else:
        labels = np.concatenate([data.train_labels, data.validation_labels, data.test_labels])
        want = {(0, 1, 1): 3, (1, 0, 0): 0, (0, 0, 1): 2, (1, 1, 1): 1}
        assert [want[tuple(row)] for row in rows.tolist()] == labels.tolist()
        assert data.classes == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "id,a,b,c,age\n1,0,1,1,30\n2,1,0,0,41\n3,0,0,1,67\n4,1,1,0,20\n",
            r"column 'id', 'age' holds other numbers than 0 and 1, up to 67.*: leave",
        ),
        ("0,1,1,7\n1,0,0,0\n0,0,1,1\n1,1,1,1\n", r"column 4 holds other numbers than 0 and 1, up to 7"),
        ("0,17\n200,1\n3,4\n90,0\n", "up to 200, and a table does not say .*threshold in its unit, as 127"),
        ("a,b\n\n0,1\n1,x\n", "row 4, column 2 holds 'x', which is not a finite number"),
        ("0,1\n,1\n", "row 2, column 1 is empty"),
        ("a,b\n", "a header and no rows"),
        ("label,y,a\n1,1,1\n", "columns 1 and 2 are both named as labels"),
        ("label,a\n1.5,1\n0,1\n", "labels in column 1 must be whole numbers"),
        ("label,a\n1001,1\n0,1\n", "the column of labels must hold one whole number from 0 to 999"),
        ("0,1\n\0,1\n", "holds NUL bytes"),
        ("0,1\n0,\x1b[31m\n", r"row 2, column 2 holds ' \[31m'"),
    ],
)
def test_malformed_rows_are_refused(text, why):
    said = refused(load_bytes, text.encode(), "own.csv", match=f"'own.csv'.*{why}|'own.csv': {why}")
    assert "x_train" not in said
    assert "@" not in said


def test_malformed_texts_are_refused():
    text = b"\n".join(b"one two three four five six" for _ in range(9))
    for content, why in ((text + b"\0", "NUL bytes"), (text.decode().encode("utf-16"), "UTF-8|NUL")):
        refused(load_bytes, content, "own.txt", match=why)
    for wrong in ({"min_stems": -1}, {"n_words": "9" * 5000}, {"language": ["english"]}):
        refused(load_bytes, text, "own.txt", match="whole number|no stemmer", **wrong)
    words = "a" * 101 + " " + "b" * 100 + " cat dog\n"
    data = load_bytes((words * 5 + "cat bird\n" * 5).encode(), "own.txt", min_stems=1)
    assert max(map(len, data.vocabulary)) == 100


# Sample files


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"v": np.zeros((20, 16), complex)}, "v is of type complex128"),
        ({"v": np.full((20, 16), 2, np.uint8)}, "not all values are 0 or 1"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array("[1]")}, "meta must be an object"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array('{"model": {}}')}, "must name the model"),
    ],
)
def test_malformed_sample_files_are_refused(arrays, why, tmp_path, capsys):
    np.savez(tmp_path / "s.npz", **arrays)
    said = command_line.refused(capsys, "score", tmp_path / "s.npz", "--dataset", "bas")
    assert why in said
    assert "s.npz" in said


# What a model may ask of the exact methods


def test_models_too_large_to_enumerate(capsys, tmp_path, monkeypatch):
    rbm = RBM(np.zeros((1100, 1100)), np.zeros(1100), np.zeros(1100))
    assert "2^1100 = 10^331 states" in too_large(rbm)
    (tmp_path / "m.safetensors").write_bytes(model_bytes(Model(rbm)))
    said = command_line.refused(capsys, "log-z", "--model", tmp_path / "m.safetensors")
    assert "more than a hundred millennia" in said
    flat = RBM(np.zeros((25, 100_000)), np.zeros(25), np.zeros(100_000))
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "50")
    for do in (log_z, model_statistics):
        refused(do, flat, match="Enumerating this model needs")
    for wrong in ({"betas": 10**12}, {"n_chains": 10**30}):
        refused(ais_log_z, rbm, match="AIS", **wrong)


def test_free_energy_by_blocks_is_the_same(monkeypatch):
    g = np.random.default_rng(0)
    rbm = RBM(g.normal(size=(9, 5)), g.normal(size=9), g.normal(size=5))
    v = g.integers(0, 2, (1000, 9), dtype=np.uint8)
    whole = rbm.free_energy(v)
    monkeypatch.setattr("rbmviz.rbm.ENTRIES_PER_BLOCK", 100)
    np.testing.assert_allclose(rbm.free_energy(v), whole, rtol=1e-14)
    assert rbm.free_energy(v.reshape(10, 100, 9)).shape == (10, 100)


def test_a_number_beside_bits_is_refused_by_every_reader(tmp_path):
    """It would become one bit, "above 127", beside zeros. Of tables ``test_malformed_rows_are_refused``."""
    g = np.random.default_rng(0)
    x = g.integers(0, 2, (50, 6))
    x[:, 2] = g.integers(20, 200, 50)
    frame = pandas.DataFrame(x, columns=["a", "b", "age", "d", "e", "f"])
    np.savez(tmp_path / "own.npz", x=x.astype(np.uint8))
    refused(
        load_dataset, tmp_path / "own.npz", match=r"column 3 holds other numbers than 0 and 1, up to 19\d"
    )
    refused(Dataset.from_arrays, frame, match="'age'")


def test_a_threshold_in_the_unit_of_a_table():
    grey = np.random.default_rng(0).integers(0, 256, (50, 6))
    text = "\n".join(",".join(map(str, row)) for row in grey).encode()
    data = load_bytes(text, "own.csv", binarise="127")
    rows = np.concatenate([data.train, data.validation, data.test])
    assert sorted(map(bytes, rows)) == sorted(map(bytes, (grey > 127).astype(np.uint8)))
    assert data.binarisation == "values from 0 to 255: a bit is 1 where the grey level is above 127"
    refused(load_bytes, text, "own.csv", binarise="300", match="a grey level from 1 to 254, or bernoulli")
    refused(load_bytes, b"0,1\n1,0\n1,1\n0,0\n", "own.csv", binarise="127", match="threshold between 0 and 1")
