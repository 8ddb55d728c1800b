"""NPZ files: several NumPy arrays, or a sparse matrix of SciPy."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import IO

import numpy as np
from scipy import sparse

from kernelclust.tables._table import Table, named
from kernelclust.tables.formats._arrays import column_of, table_of

SUFFIXES, BEGINS, NEEDS = (".npz",), (b"PK\x03\x04",), ()


def read(file: IO[bytes], source: str, *, texts: Sequence[str] = (), key: str | None = None) -> Table:
    """Read the array `key`; arrays of one dimension and the same length are information about its rows."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
    except zipfile.BadZipFile as error:
        raise ValueError(f"{source} is damaged: {error}.") from error
    if not members or not all(member.endswith(".npy") for member in members):
        what = "a spreadsheet" if any(member.startswith("xl/") for member in members) else "a zip archive"
        raise ValueError(f"{source} is {what}, not a table; save or unpack it as CSV.")
    file.seek(0)
    if {"format.npy", "indptr.npy"} <= set(members):
        return Table(source, [], matrix=sparse.csr_matrix(sparse.load_npz(file)))
    arrays = _arrays(file)
    tables = {name: values for name, values in arrays.items() if values.ndim >= 2}
    if key is None and len(tables) != 1:
        listed = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise ValueError(f"{source} holds {len(tables)} tables among {listed}; name the one to use with --key NAME.")
    if key is not None and key not in arrays:
        raise ValueError(f"{source} holds no array {key!r}; there are {', '.join(arrays)}.")
    chosen = key if key is not None else next(iter(tables))
    table = table_of(arrays[chosen], source, texts=texts)
    others = {name: values for name, values in arrays.items() if values.ndim == 1 and len(values) == table.n_rows}
    as_text = named(texts, [*(column.name for column in table.columns), *others])[len(table.columns) :]
    about = [column_of(name, others[name], text) for name, text in zip(others, as_text, strict=True)]
    return replace(table, about=about)


def _arrays(file: IO[bytes]) -> dict[str, np.ndarray]:
    arrays = {}
    with np.load(file, allow_pickle=False) as archive:
        for name in archive.files:
            try:
                arrays[name] = archive[name]
            except ValueError:  # pickled objects, which are not read
                continue
    return arrays
