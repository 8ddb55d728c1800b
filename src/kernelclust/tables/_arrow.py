"""Parquet and Feather files."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from kernelclust.tables._table import Column, Table


def read_parquet(file: IO[bytes], source: str, key: str | None = None) -> Table:
    _pyarrow(source, "Parquet")
    from pyarrow import parquet

    return _read(parquet.read_table, file, source)


def read_feather(file: IO[bytes], source: str, key: str | None = None) -> Table:
    _pyarrow(source, "Feather")
    from pyarrow import feather

    return _read(feather.read_table, file, source)


def _pyarrow(source: str, kind: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ValueError(
            f"{source} is a {kind} file, which pyarrow reads: pip install 'kernelclust[files]' (or save it as CSV)."
        ) from error


def _read(read_table: Any, file: IO[bytes], source: str) -> Table:
    import pyarrow as pa

    try:
        found = read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{source} is damaged: {error}") from error
    if not found.num_rows or not found.num_columns:
        raise ValueError(f"{source} has {found.num_rows} rows and {found.num_columns} columns: nothing to cluster.")
    return Table(source, [_column(name, found.column(name)) for name in map(str, found.column_names)])


def _column(name: str, cells: Any) -> Column:
    import pyarrow as pa

    cells, kind = cells.combine_chunks(), cells.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = cells.cast(pa.float64(), safe=False)
        return Column(name, np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64))
    if pa.types.is_decimal(kind):
        return Column(name, np.array(cells.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64))
    if not pa.types.is_dictionary(kind):
        cells = pa.array([None if cell is None else str(cell) for cell in cells.to_pylist()], pa.string())
        cells = cells.dictionary_encode()
    codes = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return Column(name, codes, [str(text) for text in cells.dictionary.to_pylist()])
