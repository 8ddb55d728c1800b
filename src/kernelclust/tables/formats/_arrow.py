"""Columns of Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from kernelclust.tables._table import Column, Table, named


def read_table(reader: Any, file: IO[bytes], source: str, texts: Sequence[str]) -> Table:
    """Read a file by a function of pyarrow."""
    import pyarrow as pa

    try:
        table = reader(file)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{source} is damaged: {error}") from error
    if not table.num_columns:
        raise ValueError(f"{source} has no columns: nothing to cluster.")
    names = [str(name) for name in table.column_names]
    as_text = named(texts, names)
    return Table(source, [_column(name, table.column(k), as_text[k]) for k, name in enumerate(names)])


def _column(name: str, cells: Any, as_text: bool) -> Column:
    import pyarrow as pa

    kind, types = cells.type, pa.types
    is_number = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_float = types.is_floating(kind)  # integers with a gap are floats to pandas: 2, not 2.0
    if is_number and not (as_text and not is_float):
        return Column(name, np.array(cells.cast(pa.float64(), safe=False), dtype=np.float64))
    if not types.is_dictionary(kind):
        as_strings = [None if cell is None else str(cell) for cell in cells.to_pylist()]
        cells = pa.chunked_array([pa.array(as_strings, pa.string()).dictionary_encode()])
    codes, words = codes_of(cells)
    return Column(name, codes, [str(text) for text in words])


def codes_of(cells: Any) -> tuple[np.ndarray, list[Any]]:
    """Return the codes (m,) of cells that Arrow has as a dictionary, -1 for null, and the values they stand for."""
    chunks = cells.unify_dictionaries().chunks
    if not chunks:
        return np.empty(0, dtype=np.intp), []
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate(codes).astype(np.intp), chunks[0].dictionary.to_pylist()
