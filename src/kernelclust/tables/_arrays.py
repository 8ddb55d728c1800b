"""NPY and NPZ files."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from typing import IO, Any

import numpy as np
from scipy import sparse

from kernelclust.tables._table import Column, Table


def read_npy(file: IO[bytes], source: str, key: str | None = None) -> Table:
    """One array of two dimensions, without anything pickled."""
    try:
        values = np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{source} is no NPY file of numbers: {error}") from error
    return table_of(values, source)


def read_npz(file: IO[bytes], source: str, key: str | None = None) -> Table:
    """One of several arrays; those of one dimension and the same length are about its rows. Or a sparse matrix."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise ValueError(f"{source} is damaged: {error}.") from error
    if not names or not all(name.endswith(".npy") for name in names):
        what = "a spreadsheet" if any(name.startswith("xl/") for name in names) else "a zip archive"
        raise ValueError(f"{source} is {what}, not a table; save or unpack it as CSV.")
    file.seek(0)
    if {"format.npy", "indptr.npy"} <= set(names):
        return Table(source, [], matrix=sparse.csr_matrix(sparse.load_npz(file)))
    arrays = _arrays(file, source)
    tables = {name: values for name, values in arrays.items() if values.ndim >= 2}
    if key is None and len(tables) != 1:
        listed = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise ValueError(f"{source} holds {len(tables)} tables among {listed}; name the one to use with --key NAME.")
    if key is not None and key not in arrays:
        raise ValueError(f"{source} holds no array {key!r}; there are {', '.join(arrays)}.")
    chosen = key if key is not None else next(iter(tables))
    table = table_of(arrays[chosen], source)
    columns = [
        column_of(name, values)
        for name, values in arrays.items()
        if values.ndim == 1 and len(values) == table.n_rows and name != chosen
    ]
    return replace(table, about=columns)


def _arrays(file: IO[bytes], source: str) -> dict[str, np.ndarray]:
    found = {}
    with np.load(file, allow_pickle=False) as archive:
        for name in archive.files:
            try:
                found[name] = archive[name]
            except ValueError:  # Python objects, which are not read
                continue
    return found


def table_of(values: np.ndarray, source: str, names: list[str] | None = None) -> Table:
    """An array as a table; one of images is a row an image, which is noted."""
    if values.ndim < 2:
        raise ValueError(f"{source} has shape {values.shape}; a table has two dimensions, one row a sample.")
    if 0 in values.shape:
        raise ValueError(f"{source} has shape {values.shape}: there is nothing in it.")
    notes = []
    if values.ndim > 2:
        each = " x ".join(map(str, values.shape[1:]))
        values = values.reshape(len(values), -1)
        notes.append(f"{len(values)} images (or other arrays) of {each} are taken as rows of {values.shape[1]} numbers")
    called = names or [f"column {j}" for j in range(1, values.shape[1] + 1)]
    columns = [column_of(name, values[:, j]) for j, name in enumerate(called)]
    return Table(source, columns, notes=notes, has_names=names is not None)


def column_of(name: str, values: Any) -> Column:
    """A column of numbers, or of texts."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return Column(name, values.astype(np.float64, copy=False))
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    texts, codes = np.unique(values.astype(str), return_inverse=True)
    return Column(name, codes, texts.tolist())
