"""Read a file of any kind."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable

from kernelclust.tables import _arrays, _arrow, _h5ad, _text
from kernelclust.tables._open import kind_of, open_bytes
from kernelclust.tables._table import Table

READERS = {"npy": _arrays.read_npy, "npz": _arrays.read_npz, "parquet": _arrow.read_parquet,
           "feather": _arrow.read_feather, "h5ad": _h5ad.read_h5ad}  # fmt: skip


def read(
    path: str,
    *,
    delimiter: str | None = None,
    header: str = "auto",
    encoding: str | None = None,
    decimal: str | None = None,
    key: str | None = None,
    texts: tuple[str, ...] = (),
    tick: Callable[[int], None] | None = None,
) -> Table:
    """Read a table of text, NPY, NPZ, Parquet, Feather or h5ad, packed or not; "-" is standard input.

    Parameters
    ----------
    delimiter, header, encoding, decimal
        Of text: one character; "auto", "yes" or "no"; a codec (UTF-8); "." or ",". Found by themselves unless given.
    key : str, optional
        Of NPZ and h5ad: which of the arrays.
    texts : tuple of str
        Columns whose cells are kept as they are written, by name or number from 1.
    tick : function, optional
        Told the number of bytes read so far.
    """
    source = "standard input" if path == "-" else path
    file = open_bytes(path)
    try:
        kind = kind_of(file)
        if key is not None and kind not in ("npz", "h5ad"):
            raise ValueError(f"--key names an array of an NPZ or h5ad file, and {source} is none; leave it out.")
        if kind == "text":
            way = _text.Way(delimiter=delimiter, header=header, encoding=encoding, decimal=decimal)
            return _text.read_text(file, source, way, texts, tick)
        return READERS[kind](file, source, key)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{source} is packed and cannot be unpacked ({error}); is it complete?") from error
    finally:
        file.close()
