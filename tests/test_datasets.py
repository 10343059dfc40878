"""Data sets: sizes, parts held out, names that come back, files of one's own, downloads."""

import bz2
import dataclasses
import functools
import gzip
import hashlib
import http.server
import threading

import numpy as np
import pytest

from rbmviz import BadInput
from rbmviz.datasets import describe, list_datasets, load_dataset, raw

SIZES = {
    "bas": (32, 32, 32, 16),
    "digits": (1197, 300, 300, 64),
    "fashion_mnist": (50_000, 10_000, 10_000, 784),
    "letters": (42_772, 4763, 4617, 128),
    "mnist": (50_000, 10_000, 10_000, 784),
    "mnist55k": (55_000, 1000, 2000, 784),
    "mnist5k": (2000, 1000, 2000, 784),
    "modes": (10_000, 1000, 1000, 16),
    "newsgroups": (12_993, 1624, 1625, 100),
    "usps": (6291, 1000, 2007, 256),
}


def test_every_data_set_has_its_size_here():
    assert list_datasets() == sorted(SIZES)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_contract(name, data_dir):
    data = load_dataset(name)
    assert (len(data.train), len(data.validation), len(data.test), data.n_visible) == SIZES[name]
    for part in ("train", "validation", "test"):
        rows, labels = getattr(data, part), getattr(data, f"{part}_labels")
        assert set(np.unique(rows)) == {0, 1}
        assert not rows.flags.writeable
        assert labels.shape == (len(rows),)
        assert set(np.unique(labels)) <= set(range(len(data.classes)))
    assert data.image_shape is None or np.prod(data.image_shape) == data.n_visible
    assert data.vocabulary is None or len(data.vocabulary) == data.n_visible
    assert data.binarisation
    assert data.source
    again = load_dataset(data.name)
    assert again.name == data.name
    np.testing.assert_array_equal(again.train, data.train)


@pytest.mark.parametrize("name", ["bas", "digits", "mnist5k", "modes"])
def test_these_need_no_files_and_no_network(name, monkeypatch, tmp_path):
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    first = load_dataset(name)
    np.testing.assert_array_equal(load_dataset(name).train, first.train)  # from the cache, where there is one


def test_mnist5k_is_held_out_of_mnist55k(data_dir):
    """No image of mnist5k is in the training part of the shipped models; all others are."""
    five = np.load(data_dir / "mnist.npz")
    x, y = five["x_train"].reshape(-1, 784), five["y_train"]
    first = np.concatenate([np.flatnonzero(y == c)[:500] for c in range(10)])
    small, large = load_dataset("mnist5k"), load_dataset("mnist55k")
    together = np.concatenate([small.train, small.validation, small.test])
    assert sorted(map(bytes, (x[first] > 127))) == sorted(map(bytes, together.astype(bool)))
    rest = np.delete(np.arange(60_000), first)
    np.testing.assert_array_equal(large.train, x[rest] > 127)
    np.testing.assert_array_equal(large.train_labels, y[rest])
    np.testing.assert_array_equal(large.test, small.test)
    assert np.bincount(small.test_labels).tolist() == [200] * 10
    assert np.bincount(small.train_labels).tolist() == [200] * 10


def test_binarisations(data_dir):
    grey = np.load(data_dir / "usps.npz")["x_train"][:6291].reshape(6291, 256)
    np.testing.assert_array_equal(load_dataset("usps@0.6").train, grey > 0.6 * 255)
    drawn = load_dataset("usps@bernoulli")
    np.testing.assert_array_equal(drawn.train, load_dataset("usps", binarise="bernoulli").train)
    assert (drawn.train[grey == 255] == 1).all()
    assert (drawn.train[grey == 0] == 0).all()
    half = np.abs(grey / 255 - 0.5) < 0.1
    assert drawn.train[half].mean() == pytest.approx(
        (grey / 255)[half].mean(), abs=4 * 0.5 / np.sqrt(half.sum())
    )
    for rule in ("0", "1.5", "nan", "sharp"):
        with pytest.raises(BadInput, match="threshold between 0 and 1"):
            load_dataset(f"usps@{rule}")


def test_bars_and_stripes():
    rows = load_dataset("bas").train.reshape(-1, 4, 4)
    assert len(np.unique(rows, axis=0)) == 30
    across, down = (rows == rows[:, :, :1]).all(axis=(1, 2)), (rows == rows[:, :1, :]).all(axis=(1, 2))
    assert (across[:16].all(), down[16:].all()) == (True, True)
    assert len(load_dataset("bas", size=3).train) == 16
    with pytest.raises(BadInput, match="2 to 12"):
        load_dataset("bas", size=1)
    with pytest.raises(BadInput, match="no option 'side'"):
        load_dataset("bas", side=3)


def test_artificial_modes():
    data = load_dataset("modes", p=0.01)
    clean = load_dataset("modes", p=0.0)
    assert len(np.unique(clean.train, axis=0)) == 4
    assert np.bincount(clean.train_labels).tolist() == [2500] * 4
    flips = (data.train != clean.train).mean()
    assert flips == pytest.approx(0.01, abs=4 * np.sqrt(0.01 * 0.99 / data.train.size))


def test_missing_data_say_how_to_get_them(monkeypatch, tmp_path):
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    with pytest.raises(BadInput, match="rbmviz data get usps"):
        load_dataset("usps")
    rows = {row["name"]: row for row in describe()}
    assert set(rows) == set(SIZES)
    assert rows["usps"]["where"] == "missing: run 'rbmviz data get usps'"
    assert rows["bas"]["where"] == "at hand"
    with pytest.raises(BadInput, match="did you mean 'usps'"):
        load_dataset("upsp")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "usps.npz").write_bytes(b"PK broken")
    with pytest.raises(BadInput, match="delete it"):
        load_dataset("usps")


# Files of one's own


def test_own_npz_with_parts(tmp_path):
    g = np.random.default_rng(0)
    x = {name: g.integers(0, 256, (n, 5, 4), dtype=np.uint8) for name, n in (("train", 30), ("test", 7))}
    y = g.integers(0, 3, 30)
    np.savez(tmp_path / "own.npz", x_train=x["train"], x_test=x["test"], y_train=y)
    data = load_dataset(tmp_path / "own.npz")
    assert data.image_shape == (5, 4)
    np.testing.assert_array_equal(data.test, x["test"].reshape(7, 20) > 127)
    assert (len(data.train), len(data.validation)) == (27, 3)
    rows = {
        bytes(row): label
        for row, label in zip((x["train"] > 127).reshape(30, 20).astype(np.uint8), y, strict=True)
    }
    assert [rows[bytes(row)] for row in data.train] == data.train_labels.tolist()


def test_own_csv(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, (20, 6))
    np.savetxt(tmp_path / "own.csv", bits, delimiter=",", fmt="%d")
    data = load_dataset(str(tmp_path / "own.csv"))
    together = np.concatenate([data.train, data.validation, data.test])
    assert sorted(map(bytes, together)) == sorted(map(bytes, bits.astype(np.uint8)))
    assert (len(data.train), len(data.validation), len(data.test)) == (16, 2, 2)


def test_own_files_that_are_refused(tmp_path):
    np.savez(tmp_path / "nan.npz", x=np.full((5, 3), np.nan))
    np.savez(tmp_path / "large.npz", x=np.full((5, 3), 1000))
    np.savez(tmp_path / "other.npz", z=np.zeros((5, 3)))
    np.savez(tmp_path / "flat.npz", x=np.zeros(5))
    np.savez(tmp_path / "labels.npz", x=np.zeros((5, 3)), y=np.zeros(4, int))
    np.savez(tmp_path / "pickle.npz", x=np.array([{}, {}], dtype=object))
    np.savez(tmp_path / "widths.npz", x_train=np.zeros((5, 3)), x_test=np.zeros((5, 4)))
    (tmp_path / "ragged.csv").write_text("0,1\n1\n")
    (tmp_path / "words.csv").write_text("zero,one\n")
    paths = [*tmp_path.iterdir(), tmp_path / "absent.npz"]
    assert len(paths) == 10
    for path in paths:
        with pytest.raises(BadInput) as caught:
            load_dataset(path)
        assert path.stem in str(caught.value)
        assert "\n" not in str(caught.value)


# Downloads, from a local server


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """Serve tmp_path/www, and let downloads go there and into an empty cache."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    (tmp_path / "www").mkdir()
    handler = functools.partial(Quiet, directory=tmp_path / "www")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("RBMVIZ_DATA_MIRROR", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
        yield tmp_path / "www"
        server.shutdown()
        thread.join()


def publish(www, name, files, monkeypatch, **more):
    """Put files on the server, and their checksums where the published ones would be."""
    (www / name).mkdir()
    checksums = {}
    for file, content in files.items():
        (www / name / file).write_bytes(content)
        checksums[file] = "md5:" + hashlib.md5(content).hexdigest()
    source = dataclasses.replace(raw.SOURCES[name], files=checksums, **more)
    assert set(files) == set(raw.SOURCES[name].files)
    monkeypatch.setitem(raw.SOURCES, name, source)


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


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_idx_download(name, mirror, monkeypatch):
    want, files = mnist_files()
    publish(mirror, name, files, monkeypatch)
    path = raw.fetch(name)
    got = raw.arrays(name)
    for key, array in want.items():
        np.testing.assert_array_equal(got[key], array)
    assert raw.fetch(name) == path
    assert not list((path.parents[1] / "downloads" / name).iterdir())


def test_usps_download(mirror, monkeypatch):
    g = np.random.default_rng(0)
    grey = g.integers(0, 256, (9, 16, 16), dtype=np.uint8)
    labels = g.integers(0, 10, 9, dtype=np.uint8)

    def libsvm(x, y):
        lines = []
        for row, label in zip(x.reshape(-1, 256), y, strict=True):
            values = (f"{i + 1}:{value / 127.5 - 1:.6f}" for i, value in enumerate(row) if value)
            lines.append(f"{label + 1} {' '.join(values)}")
        return bz2.compress("\n".join(lines).encode())

    files = {"usps.bz2": libsvm(grey[:6], labels[:6]), "usps.t.bz2": libsvm(grey[6:], labels[6:])}
    publish(mirror, "usps", files, monkeypatch)
    raw.fetch("usps")
    got = raw.arrays("usps")
    np.testing.assert_array_equal(got["x_train"], grey[:6])
    np.testing.assert_array_equal(got["y_test"], labels[6:])


def letter_file(arrays) -> bytes:
    lines = []
    for part in ("test", "train"):  # another order than that of the arrays
        for i in range(len(arrays[f"x_{part}"])):
            letter = chr(ord("a") + arrays[f"y_{part}"][i])
            pixels = " ".join(map(str, (arrays[f"x_{part}"][i].ravel() > 0).astype(int)))
            fold = 0 if part == "test" else 1
            lines.append(f"{i} {letter} -1 {arrays[f'word_{part}'][i]} 1 {fold} {pixels}")
    return gzip.compress("\n".join(lines).encode(), 1)


def test_letters_download_checks_the_content(mirror, data_dir, monkeypatch):
    """There is no published checksum: the content must be the known one, in whatever order."""
    with np.load(data_dir / "letters.npz") as archive:
        want = dict(archive)
    monkeypatch.delenv("RBMVIZ_DATA_DIR")
    publish(mirror, "letters", {"letter.data.gz": letter_file(want)}, monkeypatch)
    raw.fetch("letters")
    assert raw.content_digest(raw.arrays("letters")) == raw.SOURCES["letters"].content
    assert len(load_dataset("letters").test) == 4617


def test_a_letters_download_of_other_content_is_refused(mirror, monkeypatch, tmp_path):
    g = np.random.default_rng(0)
    parts = {}
    for part in ("train", "test"):
        parts[f"x_{part}"] = g.integers(0, 2, (4, 16, 8), dtype=np.uint8)
        parts[f"y_{part}"] = parts[f"word_{part}"] = np.arange(4, dtype=np.uint8)
    publish(mirror, "letters", {"letter.data.gz": letter_file(parts)}, monkeypatch)
    with pytest.raises(BadInput, match="not what was published"):
        raw.fetch("letters")
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_newsgroups_download(mirror, monkeypatch):
    import io

    from scipy.io import savemat
    from scipy.sparse import csc_matrix

    x = np.random.default_rng(0).integers(0, 2, (30, 100), dtype=np.uint8)
    y = np.arange(30) % 4 + 1
    words = np.array([f"word{i}" for i in range(100)], dtype=object)
    groups = np.array(["comp.*", "rec.*", "sci.*", "talk.*"], dtype=object)
    content = io.BytesIO()
    savemat(content, {"documents": csc_matrix(x.T), "newsgroups": y, "wordlist": words, "groupnames": groups})
    publish(mirror, "newsgroups", {"20news_w100.mat": content.getvalue()}, monkeypatch, content=None)
    raw.fetch("newsgroups")
    got = raw.arrays("newsgroups")
    np.testing.assert_array_equal(got["x"], x)
    np.testing.assert_array_equal(got["y"], y - 1)
    assert load_dataset("newsgroups").vocabulary[3] == "word3"


def test_downloads_that_fail_leave_nothing(mirror, monkeypatch, tmp_path):
    with pytest.raises(BadInput, match=r"could not be downloaded.*404"):
        raw.fetch("usps")
    _, files = mnist_files()
    publish(mirror, "mnist", files, monkeypatch)
    victim = mirror / "mnist" / "train-images-idx3-ubyte.gz"
    victim.write_bytes(victim.read_bytes()[:-100])
    with pytest.raises(BadInput, match=r"could not be downloaded.*hash"):
        raw.fetch("mnist")
    monkeypatch.setenv("RBMVIZ_DATA_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(BadInput, match="could not be downloaded"):
        raw.fetch("fashion_mnist")
    with pytest.raises(BadInput, match="did you mean 'letters'"):
        raw.fetch("leters")
    assert not list((tmp_path / "cache").rglob("*.npz"))
