"""Columns of NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelclust.tables._table import Column, Table, is_named


def table_of(values: np.ndarray, source: str, names: list[str] | None = None, texts: Sequence[str] = ()) -> Table:
    """Return an array as a table; an array of more than two dimensions has one row per image, with a note."""
    if values.ndim < 2:
        raise ValueError(f"{source} has shape {values.shape}; a table has two dimensions, one row per sample.")
    if 0 in values.shape:
        raise ValueError(f"{source} has shape {values.shape}: it is empty.")
    notes = []
    if values.ndim > 2:
        shape = " x ".join(map(str, values.shape[1:]))
        values = values.reshape(len(values), -1)
        notes.append(f"{len(values)} images (or other arrays) of {shape} are read as rows of {values.shape[1]} numbers")
    called = names or [f"column {j}" for j in range(1, values.shape[1] + 1)]
    columns = [column_of(name, values[:, j], is_named(texts, name, j)) for j, name in enumerate(called)]
    return Table(source, columns, notes=notes, has_names=names is not None)


def column_of(name: str, values: Any, as_text: bool = False) -> Column:
    """Return a column of numbers, or of texts."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf" and not (as_text and values.dtype.kind in "iu"):
        return Column(name, values.astype(np.float64, copy=False))
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    texts, codes = np.unique(values.astype(str), return_inverse=True)
    return Column(name, codes, texts.tolist())
