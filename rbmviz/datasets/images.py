"""Reading image files of a folder or a zip archive as grey levels."""

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from os.path import commonpath
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, brought_by
from rbmviz.files.arrays import Damaged, damaged, is_file, printable, why

SUFFIXES = (".png", ".jpg", ".jpeg")
USUAL_SIZE = (28, 28)

MAX_PIXELS_KEPT = 64 * 64
"""Most pixels of images that are not resized: training an RBM with many more visible units is too slow."""

Files = list[tuple[PurePath, Callable[[], bytes]]]
"""List of (path inside the folder or archive, function that reads the file or raises ``Damaged``)."""


def in_folder(folder: Path) -> Files:
    """Return the images below a folder, regular files only."""
    paths = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return [
        (path.relative_to(folder), path.read_bytes)
        for path in paths
        if path.suffix.lower() in SUFFIXES and is_file(path)
    ]


@contextmanager
def in_zip(content: bytes, name: str) -> Iterator[Files]:
    """Yield the files of a zip archive."""
    try:
        with damaged(), zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = [info for info in archive.infolist() if info.filename and not info.is_dir()]
            # Archives of Windows may separate folders by backslashes.
            paths = [PurePosixPath(info.filename.replace("\\", "/").lstrip("/")) for info in infos]
            yield [(path, partial(archive.read, info)) for path, info in zip(paths, infos, strict=True)]
    except Damaged as error:
        raise BadInput(f"'{name}' cannot be read as a zip archive ({error}); pack it again.") from None


def _grey(content: bytes) -> Any:
    """Return an upright 8-bit grey image; transparent pixels become white, as image viewers show them."""
    from PIL import Image, ImageOps

    image: Any = Image.open(io.BytesIO(content), formats=("PNG", "JPEG"))
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith("I"):  # 16-bit PNG, which convert() would clip
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        paper.alpha_composite(image if image.mode == "RGBA" else image.convert("RGBA"))
        image = paper
    return image.convert("L")


def grey_images(files: Files, name: str) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...], str]:
    """Return PNG and JPEG files as one array, with their classes, and a note on how sizes were changed.

    Grey levels are uint8 (n, rows, columns), 255 is white. The classes are the names of sub-folders; labels,
    int64 (n,), are None without them.

    files : see ``Files``
    name : name of the folder or archive in error messages

    Raises BadInput if there are no images, if one cannot be read, or if some are in sub-folders and others
    are not.
    """
    files = [
        (path, read)
        for path, read in sorted(files, key=lambda file: file[0])
        if path.suffix.lower() in SUFFIXES
        # Hidden files, and those of macOS in archives, are no images.
        and not any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
    ]
    if not files:
        raise BadInput(f"'{name}' holds no PNG or JPEG images; put some there, one sub-folder per class.")
    with brought_by("data", f"Reading '{name}'"):
        import PIL.Image  # noqa: F401

    sizes, images = set(), []
    for path, read in files:
        try:
            image = _grey(read())
        except BadInput:
            raise
        except Exception as error:  # damaged images and archives fail in many ways
            raise BadInput(
                f"'{printable(str(path))[:200]}' in '{name}' cannot be read ({why(error)}); mend it or take "
                "it out."
            ) from None
        sizes.add(image.size)
        # An image that is certainly resized does not wait for it: photographs take 12 MB each.
        kept = len(sizes) == 1 and image.width * image.height <= MAX_PIXELS_KEPT
        images.append(image if kept else image.resize(USUAL_SIZE))
    width, height = size = next(iter(sizes))
    note = f"images of {f'{len(sizes)} sizes' if len(sizes) > 1 else f'{height} x {width}'}"
    if len(sizes) > 1 or width * height > MAX_PIXELS_KEPT:
        size, note = USUAL_SIZE, f"{note} resized to {USUAL_SIZE[1]} x {USUAL_SIZE[0]}"
    grey = np.stack([np.asarray(image if image.size == size else image.resize(size)) for image in images])
    # If everything is in one top folder, as in many archives, this folder is not a class.
    shared = commonpath([str(path.parent) for path, _ in files])
    inner = [path.parent.relative_to(shared).parts[:1] for path, _ in files]
    classes = sorted({printable(part[0]) for part in inner if part})
    if not classes:
        return grey, None, (), note
    if () in inner:
        beside = files[inner.index(())][0]
        raise BadInput(
            f"'{name}' has images in sub-folders and '{printable(str(beside))[:200]}' beside them; sort all "
            "or none."
        )
    index = {name: i for i, name in enumerate(classes)}
    labels = np.array([index[printable(part[0])] for part in inner])
    return grey, labels, tuple(classes), note
