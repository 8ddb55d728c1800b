"""Read a file of any format, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import IO, Any, cast

from kernelclust import _names
from kernelclust.tables import formats
from kernelclust.tables._folder import read_folder
from kernelclust.tables._table import Table

COMPRESSED: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": (".gz", gzip.open),
    b"BZh": (".bz2", bz2.open),
    b"\xfd7zXZ\x00": (".xz", lzma.open),
}
N_BYTES = 16  # of a file's beginning, by which its format is recognised
TEXT = "csv"  # the format of what is no other


def read(path: str, *, texts: tuple[str, ...] = (), **options: Any) -> Table:
    """Read a table; "-" is standard input.

    Parameters
    ----------
    path : str
        A file of one of the formats in `kernelclust.tables.formats`, as it is or compressed by gzip, bzip2 or xz; or a
        folder of CSV files, Parquet files or pictures.
    texts : tuple of str
        Columns whose cells are read as texts, unchanged, by name or number from 1.
    **options
        Options of the format: delimiter, header, encoding, decimal of text, key of NPZ and h5ad, image_size of
        pictures. None and "auto" mean that the option is not given.
    """
    if os.path.isdir(path):
        return read_folder(
            path,
            lambda file, texts: _read_file(file, tuple(texts), options),
            lambda files: _reader("jpg", path, options, "read_folder")(files, path),
            texts,
        )
    table = _read_file(path, texts, options)
    if not table.n_rows:
        raise ValueError(f"{table.source} has a header but no rows of data.")
    return table


def _read_file(path: str, texts: tuple[str, ...], options: dict[str, Any]) -> Table:
    """Read one file; it may have no rows."""
    source = "standard input" if path == "-" else path
    file = _open(path)
    try:
        name = _format_of(file, path)
        return _reader(name, source, options)(file, source, texts=texts)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{source} is compressed and cannot be decompressed ({error}); is it complete?") from error
    finally:
        file.close()


PACKAGES = {"PIL": "pillow"}  # by the name that pip knows, where that is another than the module's


def _reader(name: str, source: str, options: dict[str, Any], function: str = "read") -> Callable[..., Table]:
    """Return the reader of a format with its options, after checking both and the libraries that it needs."""
    module = _names.load(formats, name)
    given = {key: value for key, value in options.items() if value not in (None, "auto")}
    for key in given:
        if key not in _names.keywords(module.read):
            takers = [name for name in _names.names(formats) if key in _names.keywords(_names.load(formats, name).read)]
            option = f"--{key.replace('_', '-')}"
            raise ValueError(f"{option} is for files of format {' or '.join(takers)}, and {source} is {name}; omit it.")
    for library in module.NEEDS:
        if sys.modules.get(library, True) is None or find_spec(library) is None:
            package = PACKAGES.get(library, library)
            raise ValueError(f"{source} is {name}, which {library} reads: pip install {package}.")
    return lambda *arguments, **more: getattr(module, function)(*arguments, **more, **given)


def _format_of(file: IO[bytes], path: str) -> str:
    """Return the format by the first bytes; the suffix of the name decides between formats that begin alike."""
    start = _start(file)
    modules = {name: _names.load(formats, name) for name in _names.names(formats)}
    binary = [name for name, module in modules.items() if module.BEGINS and start.startswith(module.BEGINS)]
    alike = binary or [name for name, module in modules.items() if not module.BEGINS]
    for suffix, _ in COMPRESSED.values():
        path = path.removesuffix(suffix)
    by_suffix = [name for name in alike if path.lower().endswith(modules[name].SUFFIXES)]
    return (by_suffix or binary or [TEXT])[0]


def _open(path: str) -> IO[bytes]:
    """Open the decompressed bytes of a file, a pipe or standard input so that one can seek."""
    if path == "-":
        return _decompressed(_copy(sys.stdin.buffer))
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}.")
    file = open(path, "rb")  # the caller closes it
    return _decompressed(file if file.seekable() else _copy(file))


def _copy(pipe: IO[bytes]) -> IO[bytes]:
    copy = tempfile.TemporaryFile()
    shutil.copyfileobj(pipe, copy)
    copy.seek(0)
    return cast(IO[bytes], copy)


def _decompressed(file: IO[bytes]) -> IO[bytes]:
    start = _start(file)
    return next((opener(file) for begin, (_, opener) in COMPRESSED.items() if start.startswith(begin)), file)


def _start(file: IO[bytes]) -> bytes:
    start = file.read(N_BYTES)
    file.seek(0)
    return start
