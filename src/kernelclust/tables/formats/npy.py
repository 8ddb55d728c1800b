"""NPY files: one NumPy array, without pickled objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import numpy as np

from kernelclust.tables._table import Table
from kernelclust.tables.formats._arrays import table_of

SUFFIXES, BEGINS, NEEDS = (".npy",), (b"\x93NUMPY",), ()


def read(file: IO[bytes], source: str, *, texts: Sequence[str] = ()) -> Table:
    """Read an array of two dimensions or more."""
    try:
        values = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError) as error:
        raise ValueError(f"{source} is no NPY file of numbers: {error}") from error
    return table_of(values, source, texts=texts)
