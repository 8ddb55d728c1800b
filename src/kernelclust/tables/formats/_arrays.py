"""Columns of NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelclust.tables._table import Column, Table, named

MIN_SIDE = 4  # pixels of a picture


def table_of(values: np.ndarray, source: str, names: list[str] | None = None, texts: Sequence[str] = ()) -> Table:
    """Return an array as a table; an array of more than two dimensions has one row per image, with a note."""
    if values.ndim < 2:
        raise ValueError(f"{source} has shape {values.shape}; a table has two dimensions, one row per sample.")
    if 0 in values.shape:
        raise ValueError(f"{source} has shape {values.shape}: it is empty.")
    notes, images = [], None
    if values.ndim > 2:
        images = values if _are_images(values) else None
        shape = " x ".join(map(str, values.shape[1:]))
        values = values.reshape(len(values), -1)
        what = "arrays" if images is None else "images"
        notes.append(f"{len(values)} {what} of {shape} are read as rows of {values.shape[1]} numbers")
    called = names or [f"column {j}" for j in range(1, values.shape[1] + 1)]
    as_text = named(texts, called)
    columns = [column_of(name, values[:, j], as_text[j]) for j, name in enumerate(called)]
    return Table(source, columns, notes=notes, has_names=names is not None, images=images)


def _are_images(values: np.ndarray) -> bool:
    """Return True for arrays (n, h, w), (n, h, w, 3) or (n, h, w, 4) of at least 4 x 4 numbers."""
    shape = values.shape[1:]
    return min(shape[:2]) >= MIN_SIDE and (len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4)))


def column_of(name: str, values: Any, as_text: bool = False) -> Column:
    """Return a column of numbers, or of texts."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf" and not (as_text and values.dtype.kind in "iu"):
        return Column(name, values.astype(np.float64, copy=False))
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    texts, codes = np.unique(values.astype(str), return_inverse=True)
    return Column(name, codes, texts.tolist())
