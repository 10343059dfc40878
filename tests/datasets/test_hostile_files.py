"""Files from untrusted sources: each is read within the memory budget, or refused with one sentence."""

import bz2
import gzip
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from rbmviz import RBM, BadInput, Model
from rbmviz.array_files import Damaged, read_json, read_npz
from rbmviz.budget import reading
from rbmviz.cli import main
from rbmviz.datasets import Dataset, bag_of_words, images, load_bytes, load_dataset, own, raw
from rbmviz.datasets.binarise import binarised
from rbmviz.metrics import ais_log_z, log_z, model_statistics, too_large
from rbmviz.models import load_model
from rbmviz.rbm import load_model_bytes, model_bytes


def npy(shape, dtype, data=b"", *, fortran=False, version=1) -> bytes:
    """Return an .npy file with this header and these data, which need not match."""
    head = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": fortran, "shape": shape}
    write = np.lib.format.write_array_header_1_0 if version == 1 else np.lib.format.write_array_header_2_0
    write(head, fields)
    return head.getvalue() + data


def zeros(shape, dtype) -> bytes:
    """Return an .npy file of zeros."""
    return npy(shape, dtype, bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize))


def zipped(files: dict[str, bytes], method=zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, file in files.items():
            archive.writestr(name, file)
    return content.getvalue()


def npz(**arrays) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)
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


# Memory


PEAK = """
import resource, sys
import numpy, pandas, PIL.Image
import rbmviz.datasets.bas
from rbmviz import BadInput, load_dataset, load_model
list(rbmviz.list_datasets())
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        (load_model if "model" in path.rpartition("/")[2] else load_dataset)(path)
        said = "accepted"
    except BadInput as error:
        said = str(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024, said)
"""
BUDGET_MB = 150


def peaks(folder, files) -> dict[str, str]:
    """Let a process read the files one after another; return its result for each by name.

    Its memory must never grow by more than the budget.
    """
    for name, content in files.items():
        (folder / name).write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *(str(folder / name) for name in files)],
        env=os.environ | {"RBMVIZ_MEMORY_MB": str(BUDGET_MB)},
        capture_output=True,
        text=True,
        check=True,
    )
    said = {}
    for name, line in zip(files, done.stdout.splitlines(), strict=True):
        megabytes, _, said[name] = line.partition(" ")
        assert float(megabytes) < BUDGET_MB, name
    return said


def picture(size: int) -> bytes:
    content = io.BytesIO()
    Image.new("LA", (size, size), (7, 7)).save(content, "PNG")
    return content.getvalue()


def presence(n: int, columns: int) -> bytes:
    words = {"n_features": 8 * columns, "stems": np.array([f"w{i}" for i in range(8 * columns)])}
    with zipfile.ZipFile(io.BytesIO(npz(**words))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return zipped(files | {"x.npy": zeros((n, columns), "|u1")})


def test_small_files_that_would_take_much_memory(tmp_path):
    """Refused in one sentence, and the budget was kept until then."""
    units = {"b.npy": zeros((9000,), "|u1"), "c.npy": zeros((5000,), "|u1")}
    files = {
        "grey.npz": zipped({"x.npy": zeros((200_000, 1000), "|u1")}),
        "wide.npz": zipped({"x.npy": zeros((100, 200_000), "<f8")}),
        "packed.npz": presence(40_000, 300),
        "model.npz": zipped({"W.npy": zeros((9000, 5000), "|u1"), **units}),
        "large.zip": zipped({f"{i}.png": picture(3000) for i in range(2)}),
        "tall.csv": b"0\n1\n" * 20_000_000,
        "row.csv": b"0," * 10_000_000,
        "lines.txt": b"ab\n" * 900_000,
        "header_model.safetensors": safetensors(b'{"a": "' + bytes(10**7) + b'"}'),
    }
    for name, said in peaks(tmp_path, files).items():
        assert said.startswith(f"'{tmp_path / name}'")
        if name not in ("row.csv", "header_model.safetensors"):
            assert f"the budget is {BUDGET_MB / 1000:.2f} GB" in said


def test_what_is_accepted_stays_under_the_budget(tmp_path):
    """Near the budget by what was computed beforehand, under it by what was taken."""
    files = {
        "grey.npz": npz(x=np.arange(25_000_000, dtype=np.uint8).reshape(-1, 1000)),
        "model.npz": npz(W=np.zeros((3000, 3000)), b=np.zeros(3000), c=np.zeros(3000)),
        "rows.csv": (b"0,0.5,1,0,0,1,1,1\n" + b"1,0.7,0,0,1,1,0,1\n") * 50_000,
        "images.zip": zipped({f"{i}.png": picture(2000) for i in range(3)} | {"3.png": picture(28)}),
    }
    assert not any("budget" in said or "read" in said for said in peaks(tmp_path, files).values())


def test_what_is_counted_on_the_way(monkeypatch):
    """The words of a text, and the files of an archive, are counted against the budget as they come."""
    letters = str.maketrans("0123456789", "qrstuvwxyz")
    words = " ".join(np.base_repr(i, 26).translate(letters) for i in range(30_000)).encode()
    directory = zipped({f"{i}": b"" for i in range(3000)}, zipfile.ZIP_STORED)
    many = zipped(dict.fromkeys((f"{i}.png" for i in range(300)), picture(64)))
    monkeypatch.setattr(bag_of_words, "MAX_WORDS", 25_000)
    refused(load_bytes, words, "own.txt", match="'own.txt' holds more than 25,000 different words")
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "10")
    refused(load_bytes, words, "own.txt", match="'own.txt' needs .* give a part of the text")
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "1")
    refused(load_bytes, directory, "own.zip", match="'own.zip' needs .* put fewer files into it")
    refused(load_bytes, directory, "own.npz", match="'own.npz' needs .* put fewer files into it")
    refused(load_bytes, many, "own.zip", match="'own.zip' needs .* give fewer or smaller images")


def test_what_is_not_wanted_is_not_unpacked(tmp_path):
    """Neither counted nor read: it may be of any size, and damaged."""
    content = zipped(
        {"x.npy": npy((4, 4), "|u1", bytes(np.eye(4, dtype=np.uint8))), "z.npy": npy((10**9, 10**9), "<f8")}
    )
    assert load_bytes(content, "own.npz").n_visible == 4
    file = tmp_path / "samples.npz"
    v = np.random.default_rng(0).integers(0, 2, (20, 16), dtype=np.uint8)
    with zipfile.ZipFile(io.BytesIO(npz(v=v))) as archive:
        file.write_bytes(zipped({"v.npy": archive.read("v.npy"), "p.npy": npy((10**9, 16), "<f4")}))
    assert main(["score", str(file), "--dataset", "bas"]) == 0
    file.write_bytes(zipped({"v.npy": npy((10**9, 16), "|u1", b"")}))
    assert main(["score", str(file), "--dataset", "bas"]) == 2


def test_a_download_is_bounded(tmp_path, monkeypatch):
    """Gzip, bzip2 and MATLAB files of zeros unpack to a thousand times their size."""
    monkeypatch.setattr(raw, "MAX_UNPACKED", 10**6)
    zero = bytes(10**6 + 1)
    for read in (raw._letters, raw._usps, raw._mnist, raw._newsgroups):
        mat = zlib.compress(zero)
        files = {
            "letter.data.gz": gzip.compress(zero),
            "usps.bz2": bz2.compress(zero),
            "train-images-idx3-ubyte.gz": gzip.compress(zero),
            "20news_w100.mat": bytes(128) + struct.pack("<II", 15, len(mat)) + mat,
        }
        with pytest.raises(Damaged, match="unpacks to more than 1 MB"):
            read(files)
    with pytest.raises(Damaged, match="lines are too long"):
        raw._letters({"letter.data.gz": gzip.compress(b"0 " * 20_000)})
    monkeypatch.setattr(raw, "MAX_DOWNLOAD", 1000)
    with (tmp_path / "x").open("w+b") as file, pytest.raises(Damaged, match="it has more than"):
        raw._Limited(file, abs).write(bytes(1001))


# Models


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (tensors("F8_E4M3", itemsize=1), "W: it is of type F8_E4M3: save it as F32"),
        (tensors("BF16", itemsize=2), "W: it is of type BF16"),
        (tensors(shape=(2, -1)), r"W: it declares the shape \(2, -1\)"),
        (tensors(shape=(2, 2)), "W: it declares 16 bytes and has 8"),
        (tensors(shape=(2, 1.0)), "declares the shape"),
        (tensors()[:-1], "declares 20 bytes and has 19"),
        (tensors(__metadata__={"rbmviz": 3}), "texts in its header"),
        (tensors(__metadata__={"rbmviz": "[1, 2]"}), "must be an object"),
        (tensors(__metadata__={"rbmviz": '{"a": ' + "[" * 100_000}), "recursion"),
        (safetensors(b"[1]"), "header is not a JSON object"),
        (safetensors(b"[" * 100_000), "recursion"),
        (safetensors(b'{"W": 1, "W": 2}'), "names something twice"),
        (
            safetensors({"W": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}),
            "does not say what W is",
        ),
        (safetensors(b"\xff" * 50), "decode"),
        (b"", "not a .safetensors"),
    ],
)
def test_safetensors_that_are_refused(content, why):
    refused(load_model_bytes, content, "m.safetensors", match=f"'m.safetensors'.*{why}")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"W": npy((2, 1), "|O")}, "type object: neither numbers nor text"),
        ({"W": npy((2, 1), [("a", "<f4")], bytes(8))}, "neither numbers nor text"),
        ({"W": npy((2, 1), "<c8", bytes(16))}, "neither numbers nor text"),
        ({"W": npy((2, 1), "<U3", bytes(24))}, "W holds no numbers"),
        ({"W": npy((), "<f4", bytes(4))}, "W has 0 dimensions and not 2"),
        ({"W": npy((2, -1), "<f4", bytes(8))}, "declares the shape"),
        ({"W": npy((10**9, 10**9), "<f4", bytes(8))}, "declares 4,000,000,000,000,000,000 bytes and has"),
        ({"W": npy((2, 1), "<f4", bytes(7))}, "declares 8 bytes and has"),
        ({"W": npy((2, 1), "<f4", bytes(8), version=2)[:20]}, "W"),
        ({"rbmviz": npy((2,), "<U1", bytes(8))}, "rbmviz is not one text"),
        ({"rbmviz": npy((), "<U1", b"\xff" * 4)}, "codes that are not characters"),
        ({"rbmviz": npy((), "<U9", bytes(36))}, "not a readable"),
    ],
)
def test_npz_models_that_are_refused(files, why):
    good = {
        "W": npy((2, 1), "<f4", bytes(8)),
        "b": npy((2,), "<f4", bytes(8)),
        "c": npy((1,), "<f4", bytes(4)),
    }
    content = zipped({f"{name}.npy": file for name, file in (good | files).items()})
    refused(load_model_bytes, content, "m.npz", match=f"'m.npz'.*{why}")
    assert load_model_bytes(zipped({f"{name}.npy": file for name, file in good.items()}), "m.npz").meta == {}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_packed_otherwise(method, model):
    with zipfile.ZipFile(io.BytesIO(model_bytes(model, ".npz"))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    refused(load_model_bytes, zipped(files, method), "m.npz", match="packed by another method than deflate")
    assert load_model_bytes(zipped(files), "m.npz").meta == model.meta


def test_archives_that_lie(model):
    content = bytearray(model_bytes(model, ".npz"))
    entry = content.index(b"PK\x01\x02")
    encrypted = content.copy()
    encrypted[entry + 8] |= 1
    unknown = content.copy()
    unknown[entry + 10 : entry + 12] = (99).to_bytes(2, "little")
    for damaged in (encrypted, unknown, content[:-40], content[: len(content) // 2]):
        refused(load_model_bytes, bytes(damaged), "m.npz", match="'m.npz' is not a readable model file")
    twice = zipped({"W.npy": zeros((5, 3), "<f4"), "V.npy": b""}).replace(b"V.npy", b"W.npy")
    refused(load_model_bytes, twice, "m.npz", match="it holds 'W.npy' twice")
    nameless = zipped({"a.png": picture(4), "b.png": picture(4)}).replace(b"b.png", b"\0.png")
    refused(load_bytes, nameless, "own.zip", match="'own.zip'")
    large = npz(W=np.full((2, 1), 1e300), b=np.zeros(2), c=np.zeros(1))
    refused(load_model_bytes, large, "m.npz", match="'m.npz': W holds NaN or infinite values")
    large = npz(W=np.full((2, 1), 3e38), b=np.zeros(2), c=np.zeros(1))
    refused(load_model_bytes, large, "m.npz", match="'m.npz': W holds values beyond ±1e\\+30")


def test_arrays_are_read_in_any_order_and_type(model):
    W, b, c = model.rbm.W, model.rbm.b, model.rbm.c
    for how in (np.asfortranarray, lambda x: x.astype(">f8"), lambda x: x.astype(">f4")):
        back = load_model_bytes(npz(W=how(W), b=how(b), c=how(c)), "m.npz")
        np.testing.assert_array_equal(back.rbm.W, W)
        np.testing.assert_array_equal(back.rbm.b, b)


META = {
    "image_shape": ["28x28", [28], [28, "28"], [0, 5], [-1, -5], 28, {"0": 1}, [True, True]],
    "reference": ["-80", [1], {"binary": -80}, {"binary": {"isl": "x", "n": 1}}, {"binary": {"isl": 1}}],
    "scores": [3, {"isl_10000": 4}, {"log_likelihood": "x"}, {"isl_10000": {"gibbs": "x"}}],
    "dataset": [3, ["bas"], {}, True],
    "scored_on": [[1]],
    "seed": ["0", 1.5, -1, 2**200],
    "updates": ["many", -3],
    "knobs": [[1], "k=1", {"k": [1]}],
    "trainer": [["cd"]],
    "command": ["x" * 5001],
    "mine": [[[[[[[[[[1]]]]]]]]], [0] * 10_001],
    "k" * 201: [1],
}


def test_an_array_without_numbers_is_read():
    content = io.BytesIO()
    np.savez(content, none=np.zeros((0, 6)), some=np.ones((2, 3)))
    arrays = read_npz(content.getvalue(), "the file", lambda name: True, lambda headers: 0)
    assert arrays["none"].shape == (0, 6)
    np.testing.assert_array_equal(arrays["some"], np.ones((2, 3)))


@pytest.mark.parametrize("key", META)
def test_metadata_of_another_type(key, model):
    for value in META[key]:
        text = json.dumps({key: value})
        refused(load_model_bytes, with_meta(model, text), "m.npz", match="'m.npz': The metadata")
        with pytest.raises(BadInput, match="metadata"):
            Model(model.rbm, None, {key: value})


def test_metadata_as_they_are_kept(model):
    text = '{"dataset": "a\\u001b[31mb\\ud800", "scores": {"log_likelihood": NaN}, "more": [null]}'
    meta = load_model_bytes(with_meta(model, text), "m.npz").meta
    assert meta == {
        "dataset": "a [31mb ",
        "scores": {"log_likelihood": None},
        "more": [None],
    }
    assert Model(model.rbm, None, {"knobs": {"rate": np.float32(0.5)}}).meta == {"knobs": {"rate": 0.5}}
    for schema in (2, "1", None):
        refused(
            load_model_bytes, with_meta(model, json.dumps({"schema": schema})), "m.npz", match="newer rbmviz"
        )
    with pytest.raises(Damaged, match="longer than"):
        read_json(" " * (2**20 + 1))


# Paths


def test_what_is_no_regular_file(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.npz")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.npz").symlink_to("/dev/zero")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.npz").mkdir()
    names = ["pipe.npz", "zero.npz", "a" * 300 + ".npz", "a\0b.npz"]
    for name in names:
        refused_path = str(tmp_path / name)
        for read in (load_model, load_dataset):
            with pytest.raises(BadInput, match="There is no"):
                read(refused_path)
        assert main(["score", refused_path]) == 2
    for name in ("pipe.csv", "zero.csv"):
        refused(load_dataset, str(tmp_path / name), match="There is no data file")
    refused(load_model, str(tmp_path / "folder.npz"), match="There is no model file")
    with pytest.raises(BadInput):
        load_dataset("a" * 5000)
    os.mkfifo(tmp_path / "mnist.npz")
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    refused(load_dataset, "mnist", match="not on this machine")


def test_links_out_of_a_folder_of_images(tmp_path):
    (tmp_path / "in").mkdir()
    for i in range(5):
        image = Image.fromarray(np.eye(6, k=i, dtype=np.uint8) * 255)
        image.save(tmp_path / "in" / f"{i}.png")
    os.mkfifo(tmp_path / "in" / "pipe.png")
    (tmp_path / "in" / "zero.png").symlink_to("/dev/zero")
    (tmp_path / "in" / "same.png").symlink_to(tmp_path / "in" / "0.png")
    assert load_dataset(tmp_path / "in").n_visible == 36
    Image.new("L", (6, 6)).save(tmp_path / "secret.png")
    (tmp_path / "in" / "link.png").symlink_to(tmp_path / "secret.png")
    refused(load_dataset, tmp_path / "in", match=r"'link\.png' in .* is a link to a file outside")


# Data


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.array([{}, {}], dtype=object)},
        {"x": np.zeros(5, [("a", "<f4")])},
        {"x": np.zeros((2, 3), complex)},
        {"x": np.zeros((5, 3)), "y": np.zeros(5, "<M8[s]")},
        {"x": np.float64(1)},
        {"x": np.full((5, 3), "a")},
        {"x_train": np.zeros((5, 1), np.uint8), "n_features": 8, "stems": np.array(["a" * 101] * 8)},
        {"x_train": np.zeros((5, 1), np.uint8), "n_features": 8, "stems": np.array([b"a"] * 8)},
        {"x_train": np.zeros((5, 1), np.uint8), "n_features": "8", "stems": np.array(["a"] * 8)},
        {"x_train": np.zeros((5, 1), np.uint8), "n_features": -8, "stems": np.array(["a"] * 8)},
    ],
)
def test_data_of_other_types(arrays):
    refused(load_bytes, npz(**arrays), "own.npz", match="'own.npz'")


def test_data_by_blocks_are_the_same_bits(monkeypatch):
    """One draw after the other, whatever the block."""
    from rbmviz import rng
    from rbmviz.datasets import binarise

    monkeypatch.setattr(binarise, "VALUES_PER_BLOCK", 1000)
    grey = np.random.default_rng(0).integers(0, 256, (700, 13), dtype=np.uint8)
    uniform = rng.generator(0, "binarise own train").random(grey.shape, dtype=np.float32)
    np.testing.assert_array_equal(binarised(grey, "bernoulli", "own", "train"), uniform * 255 < grey)
    for form in (np.asfortranarray(grey), grey.reshape(700, 13, 1), grey.astype(">f4")):
        np.testing.assert_array_equal(binarised(form, "0.3", "own", "train"), grey > 0.3 * 255)


def test_labels_and_words_of_a_data_set_fit():
    rows = np.eye(4, dtype=np.uint8)
    for more in (
        {"train_labels": np.arange(4), "classes": ("a",)},
        {"train_labels": np.arange(3), "classes": ("a",) * 4},
        {"train_labels": np.zeros(4), "classes": ("a",)},
        {"vocabulary": ("a",)},
        {"vocabulary": ("a" * 101,) * 4},
        {"classes": ("a",) * 1001},
    ):
        with pytest.raises(BadInput, match="toy"):
            Dataset("toy", rows, rows, rows, "", "", **more)


def test_png_files_of_declared_sizes_only():
    content = bytearray(picture(4))
    content[16:24] = (10**5).to_bytes(4, "big") * 2  # the size in the header, and its checksum
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    refused(load_bytes, zipped({"a.png": bytes(content)}), "own.zip", match="'a.png' in 'own.zip' cannot be")


@pytest.mark.parametrize(
    "text",
    [
        "0,1,1\n1,0,0\n0,0,1\n1,1,1\n",
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
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_rows_as_programs_write_them(text, encoding):
    data = load_bytes(text.encode(encoding), "own.csv")
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
        ("0,1\n1\n", "row 2 has 1 columns and the first one 2"),
        ("0,1\n1,0,1\n", "row 2 has 3 columns and the first one 2"),
        ("a,b\n\n0,1\n1,x\n", "row 4, column 2 holds 'x', which is not a finite number"),
        ("a;b\n0,5;1\n1;0.5\n", "row 3, column 2 holds '0.5'"),
        ("0,1\n,1\n", "row 2, column 1 is empty"),
        ("0,1\n1,nan\n", "row 2, column 2 holds 'nan'"),
        ("0,1\n1,inf\n", "row 2, column 2 holds 'inf'"),
        ("0,x\n1,1\n", "row 1, column 2 holds 'x'"),
        ("a,b\n", "a header and no rows"),
        ("\n\n", "no rows"),
        (",a\n0,1\n", "column 1 has no name"),
        ("label,y,a\n1,1,1\n", "columns 1 and 2 are both named as labels"),
        ("label\n1\n", "labels only"),
        ("label,a\n1.5,1\n0,1\n", "labels in column 1 must be whole numbers"),
        (
            "label,a\n1001,1\n0,1\n",
            "the column of labels must hold one whole number from 0 to 999",
        ),
        ("0,1\n-1,1\n", "the values must lie between 0 and 1"),
        ("0,256\n1,1\n", "between 0 and 255"),
        ("0,1\n\0,1\n", "holds NUL bytes"),
        ("0,1\n" + "0," * 1_100_000, "row 2 has more than 2,097,152 characters"),
        ("0," * 70_000, "more than 65,536 columns"),
        ("0,1\n0,\x1b[31m\n", r"row 2, column 2 holds ' \[31m'"),
    ],
)
def test_rows_that_are_refused(text, why):
    said = refused(load_bytes, text.encode(), "own.csv", match=f"'own.csv'.*{why}|'own.csv': {why}")
    assert "x_train" not in said
    assert "@" not in said


def test_texts_that_are_refused():
    text = b"\n".join(b"one two three four five six" for _ in range(9))
    for content, why in ((text + b"\0", "NUL bytes"), (text.decode().encode("utf-16"), "UTF-8|NUL")):
        refused(load_bytes, content, "own.txt", match=why)
    for option, value in (
        ("min_stems", "many"),
        ("min_stems", -1),
        ("n_words", "9" * 5000),
        ("n_words", 0),
        ("language", ["english"]),
    ):
        refused(load_bytes, text, "own.txt", match="whole number|no stemmer", **{option: value})
    words = "a" * 101 + " " + "b" * 100 + " cat dog\n"
    data = load_bytes((words * 5 + "cat bird\n" * 5).encode(), "own.txt", min_stems=1)
    assert max(map(len, data.vocabulary)) == 100


# Sample files


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"v": np.zeros((20, 16), np.int64)}, "v is int64"),
        ({"v": np.full((20, 16), 2, np.uint8)}, "other than 0 and 1"),
        ({"v": np.zeros((0, 16), np.uint8)}, "v has shape"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array("[1]")}, "meta must be an object"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array("{")}, "not a readable sample file"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.zeros(3)}, "meta is not one text"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array('{"model": {}}')}, "must name the model"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array('{"knobs": {"n_chains": 0}}')}, "one chain"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array('{"knobs": {"n_chains": "2"}}')}, "one chain"),
        ({"v": np.zeros((20, 16), np.uint8), "meta": np.array('{"model_meta": {"dataset": 3}}')}, "dataset"),
        ({"v": np.array([[{}]], dtype=object)}, "neither numbers"),
    ],
)
def test_sample_files_that_are_refused(arrays, why, tmp_path, capsys):
    np.savez(tmp_path / "s.npz", **arrays)
    assert main(["score", str(tmp_path / "s.npz"), "--dataset", "bas"]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert "s.npz" in said
    assert said.count("\n") == 1


def test_pickles_are_never_read(tmp_path):
    content = pickle.dumps({"x": 1})
    for name in ("a.npz", "a.npy", "a.csv", "a.txt", "a.zip"):
        refused(load_bytes, content, name)
    for name in ("a.npz", "a.safetensors"):
        refused(load_model_bytes, content, name)


# What a model may ask of the exact methods


def test_models_too_large_to_enumerate(capsys, tmp_path):
    rbm = RBM(np.zeros((1100, 1100)), np.zeros(1100), np.zeros(1100))
    assert "2^1100 = 10^331 states" in too_large(rbm)
    (tmp_path / "m.safetensors").write_bytes(model_bytes(Model(rbm)))
    assert main(["log-z", "--model", str(tmp_path / "m.safetensors")]) == 2
    assert "more than a hundred millennia" in capsys.readouterr().err
    flat = RBM(np.zeros((25, 100_000)), np.zeros(25), np.zeros(100_000))
    for do in (log_z, model_statistics):
        refused(do, flat, match="Enumerating this model needs")
    for wrong in ({"betas": 10**12}, {"betas": 10**30}, {"n_chains": 10**9}, {"n_chains": 10**30}):
        refused(ais_log_z, rbm, match="AIS", **wrong)


def test_free_energy_by_blocks_is_the_same(monkeypatch):
    from rbmviz import rbm as module

    g = np.random.default_rng(0)
    rbm = RBM(g.normal(size=(9, 5)), g.normal(size=9), g.normal(size=5))
    v = g.integers(0, 2, (1000, 9), dtype=np.uint8)
    whole = rbm.free_energy(v)
    monkeypatch.setattr(module, "ENTRIES_PER_BLOCK", 100)
    np.testing.assert_allclose(rbm.free_energy(v), whole, rtol=1e-14)
    np.testing.assert_allclose(rbm.free_energy(v[3]), whole[3], rtol=1e-14)
    assert rbm.free_energy(v.reshape(10, 100, 9)).shape == (10, 100)


def test_an_array_without_elements_is_read_as_it_was_written():
    file = io.BytesIO()
    np.savez(file, empty=np.zeros((0, 6)), bits=np.zeros((3, 0), bool))
    arrays = read_npz(file.getvalue(), "a file", lambda name: True, lambda headers: 0)
    assert {name: (x.shape, x.dtype) for name, x in arrays.items()} == {
        "empty": ((0, 6), np.float64),
        "bits": ((3, 0), np.bool_),
    }


def one_colour(side: int, white: bool = False) -> bytes:
    """Return a PNG of ``side`` x ``side`` pixels, all black or all white."""
    file = io.BytesIO()
    Image.new("1", (side, side), int(white)).save(file, "PNG", optimize=True)
    return file.getvalue()


def test_an_archive_of_few_bytes_does_not_decode_for_long(monkeypatch):
    """150 images of 7,000 x 7,000 pixels pack to 55 kB, and took 41 seconds."""
    monkeypatch.setattr(images, "_grey", None)  # none is decoded
    image = one_colour(7000)
    content = zipped({f"{i:03}.png": image for i in range(150)})
    assert len(content) < 1_500_000
    with pytest.raises(BadInput, match=r"'own\.zip' have more than 1,000,000,000 pixels"):
        load_bytes(content, "own.zip")


def test_a_folder_of_large_photographs_is_read_as_long_as_it_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(own, "MAX_ZIP_PIXELS", 50)
    for i in range(8):
        (tmp_path / f"{i}.png").write_bytes(one_colour(3, i % 2 == 0))
    assert load_dataset(tmp_path).image_shape == (3, 3)
    with pytest.raises(BadInput, match="more than 50 pixels together: make them smaller, or unpack it"):
        load_bytes(zipped({path.name: path.read_bytes() for path in tmp_path.iterdir()}), "own.zip")


class Left(BaseException):
    """The page has gone."""


@pytest.mark.parametrize("looks", [3, 14])
def test_reading_stops_between_two_images_when_nobody_waits(looks):
    asked = []

    def leave():
        asked.append(1)
        if len(asked) == looks:
            raise Left

    content = zipped({f"{i}.png": one_colour(20, i > 4) for i in range(10)})
    with pytest.raises(Left), reading(10**9, leave):
        load_bytes(content, "own.zip")
    assert len(asked) == looks
    asked.clear()
    assert load_bytes(content, "own.zip").image_shape == (20, 20)
    assert not asked
