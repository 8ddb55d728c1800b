"""h5ad files (AnnData), read by h5py alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from scipy import sparse

from kernelclust.tables._table import Column, Table
from kernelclust.tables.formats._arrays import column_of, table_of

SUFFIXES, BEGINS, NEEDS = (".h5ad",), (b"\x89HDF",), ("h5py",)
GROUPS = ("obsm", "layers", "obsp")  # of tables whose rows are cells
MAX_DENSE = 2**28  # entries of a sparse X that is converted to a dense array


def read(file: IO[bytes], source: str, *, texts: Sequence[str] = (), key: str | None = None) -> Table:
    """Read X, or `key` (obsm/X_pca, layers/counts, obsp/connectivities); obs is information about its rows."""
    import h5py

    try:
        with h5py.File(file, "r") as data:
            return _table(data, source, key or "X", texts)
    except OSError as error:
        raise ValueError(f"{source} is damaged: {error}") from error


def _table(data: Any, source: str, key: str, texts: Sequence[str]) -> Table:
    if "obs" not in data or "X" not in data:
        raise ValueError(f"{source} is an HDF5 file, but no h5ad: it has {', '.join(data)}, where X and obs should be.")
    keys = ["X", *(f"{group}/{name}" for group in GROUPS if group in data for name in data[group])]
    keys += ["raw/X"] if "raw/X" in data else []
    if key not in keys:
        raise ValueError(f"{source} has no table {key!r} of its cells; --key takes {', '.join(keys)}.")
    columns = [_obs(data["obs"], name, name in texts) for name in data["obs"] if name not in ("_index", "__categories")]
    about = [column for column in columns if column is not None]
    ids = _names(data["obs"])
    ids_column = Column("cell", np.arange(len(ids)), ids)
    values = _values(data[key], f"{source}, {key}")
    notes = []
    if key == "X" and "obsm" in data and "X_pca" in data["obsm"]:
        notes.append("reads X; the file also has obsm/X_pca, which is what cells are usually compared by: add --key.")
    if sparse.issparse(values):
        if values.shape[0] == values.shape[1] and key.startswith("obsp/"):
            return Table(source, [], about, ids=ids_column, matrix=values)
        if np.prod(values.shape, dtype=float) > MAX_DENSE:
            raise ValueError(
                f"{source}: {key} is sparse, of shape {values.shape}, too large for a dense array; give one "
                "of few columns, such as --key obsm/X_pca."
            )
        values = values.toarray()
    names = _names(data["var"]) if key == "X" and "var" in data else None
    table = table_of(values, f"{source}, {key}", names if names and len(names) == values.shape[1] else None)
    return Table(source, table.columns, about, notes=notes, ids=ids_column)


def _values(node: Any, source: str) -> Any:
    if hasattr(node, "shape"):
        return node[()]
    if "shape" not in node.attrs:
        kind = node.attrs.get("encoding-type", "group")
        raise ValueError(f"{source} is of type {kind!r}; --key takes arrays and sparse matrices.")
    shape = tuple(int(n) for n in node.attrs["shape"])
    make = sparse.csc_matrix if "csc" in str(node.attrs.get("encoding-type", "csr")) else sparse.csr_matrix
    return make((node["data"][()], node["indices"][()], node["indptr"][()]), shape=shape).tocsr()


def _names(frame: Any) -> list[str]:
    index = frame.attrs.get("_index", "_index")
    return _texts(frame[index])


def _texts(node: Any) -> list[str]:
    """Return texts, "" where they are missing: an array, or as AnnData 0.13 writes them, values and a mask."""
    array = node if hasattr(node, "shape") else node["values"]
    texts = [text.decode() if isinstance(text, bytes) else str(text) for text in array[()]]
    missing = node["mask"][()] if array is not node and "mask" in node else np.zeros(len(texts), dtype=bool)
    return ["" if gap else text for text, gap in zip(texts, missing, strict=True)]


def _obs(frame: Any, name: str, as_text: bool) -> Column | None:
    node = frame[name]
    if hasattr(node, "shape"):
        values = node.asstr()[()] if node.dtype.kind == "O" else node[()]
        return column_of(name, values.astype(str) if node.dtype.kind == "O" else values, as_text)
    if "codes" in node and "categories" in node:
        return Column(name, node["codes"][()].astype(np.intp), _texts(node["categories"]))
    if "string" in str(node.attrs.get("encoding-type", "")):
        texts = _texts(node)
        places = {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)))}
        return Column(name, np.array([places.get(text, -1) for text in texts], dtype=np.intp), list(places))
    return None
