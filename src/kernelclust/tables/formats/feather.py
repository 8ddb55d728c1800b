"""Feather files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from kernelclust.tables._table import Table
from kernelclust.tables.formats._arrow import read_table

SUFFIXES, BEGINS, NEEDS = (".feather", ".arrow"), (b"ARROW1",), ("pyarrow",)


def read(file: IO[bytes], source: str, *, texts: Sequence[str] = ()) -> Table:
    """Read a Feather file."""
    from pyarrow import feather

    return read_table(feather.read_table, file, source, texts)
