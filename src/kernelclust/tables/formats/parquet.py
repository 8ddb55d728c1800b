"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from kernelclust.tables._table import Table
from kernelclust.tables.formats._arrow import read_table

SUFFIXES, BEGINS, NEEDS = (".parquet", ".pq"), (b"PAR1",), ("pyarrow",)


def read(file: IO[bytes], source: str, *, texts: Sequence[str] = ()) -> Table:
    """Read a Parquet file."""
    from pyarrow import parquet

    return read_table(parquet.read_table, file, source, texts)
