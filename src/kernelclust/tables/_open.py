"""Bytes of a file, a pipe or standard input, unpacked; and what kind of file they are, by how they begin."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import sys
import tempfile
from typing import IO, Any, cast

PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
KINDS = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARROW1": "feather", b"\x89HDF": "h5ad"}
LONGEST = max(map(len, [*PACKED, *KINDS]))


def open_bytes(path: str) -> IO[bytes]:
    """The unpacked bytes, from which one can go back to the beginning; "-" is standard input."""
    if path == "-":
        return _unpacked(_kept(sys.stdin.buffer))
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}.")
    file = open(path, "rb")  # closed by the caller, or by _kept
    return _unpacked(file if file.seekable() else _kept(file))


def kind_of(file: IO[bytes]) -> str:
    """The kind of file, "text" for all that is none of `KINDS`."""
    start = _start(file)
    return next((kind for begin, kind in KINDS.items() if start.startswith(begin)), "text")


def _kept(pipe: IO[bytes]) -> IO[bytes]:
    """All that comes out of a pipe, in a file without a name."""
    kept = tempfile.TemporaryFile()
    shutil.copyfileobj(pipe, kept)
    kept.seek(0)
    return cast(IO[bytes], kept)


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    start = _start(file)
    for begin, unpack in PACKED.items():
        if start.startswith(begin):
            return unpack(file)
    return file


def _start(file: IO[bytes]) -> bytes:
    start = file.read(LONGEST)
    file.seek(0)
    return start
