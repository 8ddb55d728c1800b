"""Pictures: JPEG, PNG and others that Pillow reads; each is a row of numbers, a folder of them is a table.

All pictures are resized to one small size, that of most of them with 32 pixels on the longer side unless `image_size`
gives another, and turned upright as their camera noted it. Pixels are numbers from 0 (black) to 1.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from kernelclust._input import listed, quoted
from kernelclust.tables._table import Column, Table
from kernelclust.tables.formats._arrays import table_of

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
BEGINS = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF", b"BM", b"GIF8", b"II*\x00", b"MM\x00*")
NEEDS = ("PIL",)
LONG_SIDE = 32  # pixels, of the longer side
GREY = ("1", "L", "LA", "I", "I;16", "F")  # Pillow's modes without colour
SQUEEZED = 1.1  # ratio of width and height to that of most, from which a picture has another shape
N_NAMED = 5  # pictures that a message names
WHITE = (255, 255, 255)


def read(file: IO[bytes], source: str, *, texts: Sequence[str] = (), image_size: str | None = None) -> Table:
    """Read one picture, as a table of one row."""
    return _table({os.path.basename(source): io.BytesIO(file.read())}, source, image_size)


def read_folder(paths: Sequence[str], source: str, *, image_size: str | None = None) -> Table:
    """Read the pictures of a folder; those that cannot be read are named in a note and skipped, unless all are."""
    return _table({os.path.basename(path): path for path in paths}, source, image_size)


def _table(files: dict[str, Any], source: str, image_size: str | None) -> Table:
    heads = {name: _head(file) for name, file in files.items()}
    good = {name: head for name, head in heads.items() if head is not None}
    shape = _shape(list(good.values()), image_size) if good else (1, 1, 1)
    pictures = {name: pixels for name in good if (pixels := _pixels(files[name], shape)) is not None}
    skipped = [name for name in files if name not in pictures]
    if not pictures:
        raise ValueError(f"{source}: none of {len(files)} pictures can be read, such as {quoted(skipped[0])}.")
    images = np.stack(list(pictures.values()))
    table = table_of(images if shape[2] == 3 else images[..., 0], source)
    notes = [_resized([good[name] for name in pictures], shape)]
    if skipped:
        named = listed(skipped, N_NAMED)
        notes.append(f"{len(skipped)} of {len(files)} pictures cannot be read and are skipped: {named}")
    names = list(pictures)
    size = "x".join(map(str, (shape[1], shape[0], shape[2])))
    ids = Column("file", np.arange(len(names)), names)
    return Table(source, table.columns, notes=notes, has_names=False, ids=ids, images=table.images, image_size=size)


def _head(file: Any) -> tuple[int, int, bool] | None:
    """Return width, height and whether there is colour; None if the file is no picture."""
    from PIL import ExifTags, Image

    try:
        with Image.open(file) as image:
            turned = image.getexif().get(ExifTags.Base.Orientation, 1) >= 5
            width, height = image.size[::-1] if turned else image.size
            return width, height, image.mode not in GREY
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def _shape(heads: list[tuple[int, int, bool]], image_size: str | None) -> tuple[int, int, int]:
    """Return height, width and channels of all pictures."""
    channels = 3 if any(color for _, _, color in heads) else 1
    given = [int(text) if text.isdecimal() else 0 for text in (image_size or str(LONG_SIDE)).lower().split("x")]
    if not 1 <= len(given) <= 3 or min(given) < 1 or (len(given) == 3 and given[2] not in (1, 3)):
        raise ValueError(f"--image-size {image_size!r}: give the pixels of the longer side, such as 32, or 32x24.")
    if len(given) > 1:
        return given[1], given[0], given[2] if len(given) == 3 else channels
    shape = float(np.median([np.log(width / height) for width, height, _ in heads]))  # of the middle picture
    long, short = given[0], max(1, round(given[0] * np.exp(-abs(shape))))
    return (short, long, channels) if shape >= 0 else (long, short, channels)


def _pixels(file: Any, shape: tuple[int, int, int]) -> np.ndarray | None:
    """Return a picture (h, w, channels) of numbers from 0 to 1, None if the file is damaged."""
    from PIL import Image, ImageOps

    height, width, channels = shape
    if hasattr(file, "seek"):
        file.seek(0)
    try:
        with Image.open(file) as image:
            image.draft("RGB" if channels == 3 else "L", (4 * width, 4 * height))
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith(("I", "F")):  # 16 and 32 bits
                values = np.asarray(upright, dtype=np.float64)
                upright = Image.fromarray(np.uint8(255 * values / max(values.max(), 1.0)))
            elif upright.mode in ("P", "LA", "PA", "RGBA"):  # what is transparent is white
                layers = upright.convert("RGBA")
                upright = Image.new("RGB", layers.size, WHITE)
                upright.paste(layers, mask=layers.getchannel("A"))
            flat = upright.convert("RGB" if channels == 3 else "L")
            small = flat.resize((width, height), Image.Resampling.BOX if flat.width >= width else None)
            return np.asarray(small, dtype=np.float64).reshape(shape) / 255
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def _resized(heads: list[tuple[int, int, bool]], shape: tuple[int, int, int]) -> str:
    """Return what was done to the pictures."""
    height, width, channels = shape
    sizes = sorted({(w, h) for w, h, _ in heads})
    first = (
        f"of {sizes[0][0]} x {sizes[0][1]} pixels"
        if len(sizes) == 1
        else (f"of {len(sizes)} sizes, {sizes[0][0]} x {sizes[0][1]} to {sizes[-1][0]} x {sizes[-1][1]} pixels")
    )
    ratio = np.array([w / h for w, h, _ in heads]) * height / width
    squeezed = int(((ratio > SQUEEZED) | (ratio < 1 / SQUEEZED)).sum())
    count = "1 picture" if len(heads) == 1 else f"{len(heads)} pictures"
    if sizes == [(width, height)]:
        return f"{count} {first}"
    said = f"{count} {first} resized to {width} x {height}{' in colour' if channels == 3 else ''}"
    return said + (f"; {squeezed} of them have another shape and are squeezed" if squeezed else "")
