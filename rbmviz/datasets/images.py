"""Image files as grey levels: from a folder or a zip archive."""

import io
import zipfile
from collections.abc import Callable
from os.path import commonpath
from pathlib import Path, PurePath, PurePosixPath

import numpy as np

from rbmviz.errors import BadInput

SUFFIXES = (".png", ".jpg", ".jpeg")
USUAL_SIZE = (28, 28)

MOST_UNITS = 64 * 64
"""Most pixels that images of one size keep: an RBM of many more visible units would not be waited for."""

MOST_PIXELS, MOST_BYTES = 50_000_000, 100_000_000
"""Of one image file: larger ones are no pictures, or bombs."""

Files = list[tuple[PurePath, Callable[[], bytes]]]


def _images(files: Files) -> Files:
    """Return the image files, without hidden ones and what macOS puts into archives."""
    return [
        (path, read)
        for path, read in sorted(files, key=lambda file: file[0])
        if path.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
    ]


def in_folder(folder: Path) -> Files:
    """Return the files below a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return [(path.relative_to(folder), path.read_bytes) for path in paths]


def in_zip(content: bytes, name: str) -> Files:
    """Return the files of a zip archive."""

    def reader(info: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            if info.file_size > MOST_BYTES:
                raise ValueError("it is too large")
            return archive.read(info)

        return read

    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile as error:
        raise BadInput(f"'{name}' cannot be read as a zip archive ({error}); pack it again.") from None
    infos = [info for info in archive.infolist() if not info.is_dir()]
    return [(PurePosixPath(info.filename.lstrip("/")), reader(info)) for info in infos]


def _grey(content: bytes):  # type: ignore[no-untyped-def]
    """Return an upright 8-bit grey image; what is transparent is white, as viewers show it."""
    from PIL import Image, ImageOps

    file = Image.open(io.BytesIO(content), formats=("PNG", "JPEG"))
    if file.width * file.height > MOST_PIXELS:
        raise ValueError("it is too large")
    image = ImageOps.exif_transpose(file)
    if image.mode.startswith("I"):  # 16-bit PNG, which convert() would clip
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image.convert("RGBA"))
    return image.convert("L")


def grey_images(files: Files, name: str) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...], str]:
    """Return PNG and JPEG files as one array, with their classes.

    Parameters
    ----------
    files : list of (path inside the folder or archive, function that reads it)
    name : of the folder or archive, for messages

    Returns
    -------
    grey : uint8 (n, rows, columns), 255 is white
        Images of one common size of at most 64 x 64 pixels keep it; others are resized to 28 x 28.
    labels : int64 (n,) or None
        The sub-folder of each image, where there are several.
    classes : names of the sub-folders
    note : what was done to the sizes

    Raises
    ------
    BadInput
        Where there is no image, one cannot be read, or some lie in sub-folders and some beside them.
    """
    files = _images(files)
    if not files:
        raise BadInput(f"'{name}' holds no PNG or JPEG images; put some there, one sub-folder a class.")
    images, sizes = [], set()
    for path, read in files:
        try:
            image = _grey(read())
        except Exception as error:  # damaged images and archives fail in many ways
            why = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
            raise BadInput(f"'{path}' in '{name}' cannot be read ({why}); mend it or take it out.") from None
        sizes.add(image.size)
        images.append(image if image.width * image.height <= MOST_UNITS else image.resize(USUAL_SIZE))
    width, height = size = next(iter(sizes)) if len(sizes) == 1 else USUAL_SIZE
    if len(sizes) > 1:
        note = f"images of {len(sizes)} sizes resized to {USUAL_SIZE[1]} x {USUAL_SIZE[0]}"
    elif width * height > MOST_UNITS:
        note = f"images resized from {height} x {width} to {USUAL_SIZE[1]} x {USUAL_SIZE[0]}"
        size = USUAL_SIZE
    else:
        note = f"images of {height} x {width}"
    grey = np.stack([np.asarray(image if image.size == size else image.resize(size)) for image in images])
    # An archive of one folder has it before every path.
    shared = commonpath([str(path.parent) for path, _ in files])
    inner = [path.parent.relative_to(shared).parts[:1] for path, _ in files]
    classes = sorted({part[0] for part in inner if part})
    if not classes:
        return grey, None, (), note
    if () in inner:
        beside = files[inner.index(())][0]
        raise BadInput(f"'{name}' has images in sub-folders and '{beside}' beside them; sort all or none.")
    labels = np.array([classes.index(part[0]) for part in inner])
    return grey, labels, tuple(classes), note
