"""h5ad files (AnnData), read by h5py alone."""

from __future__ import annotations

from typing import IO, Any

import numpy as np
from scipy import sparse

from kernelclust.tables._arrays import column_of, table_of
from kernelclust.tables._table import Column, Table

LARGEST = 2**28  # entries of a sparse X that are written out


def read_h5ad(file: IO[bytes], source: str, key: str | None = None) -> Table:
    """X, or what `key` says (obsm/X_pca, layers/counts, obsp/connectivities); obs is about its rows."""
    try:
        import h5py
    except ImportError as error:
        raise ValueError(f"{source} is an h5ad file, which h5py reads: pip install 'kernelclust[files]'.") from error
    try:
        with h5py.File(file, "r") as data:
            return _read(data, source, key or "X")
    except OSError as error:
        raise ValueError(f"{source} is damaged: {error}") from error


def _read(data: Any, source: str, key: str) -> Table:
    if "obs" not in data or "X" not in data:
        raise ValueError(f"{source} is an HDF5 file, but no h5ad: it has {', '.join(data)}, where X and obs should be.")
    if key not in data:
        ways = [f"{group}/{name}" for group in ("obsm", "layers", "obsp") if group in data for name in data[group]]
        raise ValueError(f"{source} has no {key!r}; --key takes {', '.join(['X', *ways])}.")
    about = [_about(data["obs"], name) for name in data["obs"] if name not in ("_index", "__categories")]
    ids = _names(data["obs"])
    ids_column = Column("cell", np.arange(len(ids)), ids)
    values = _values(data[key])
    notes = []
    if key == "X" and "obsm" in data and "X_pca" in data["obsm"]:
        notes.append("reads X; the file also has obsm/X_pca, which is what cells are usually compared by: add --key.")
    if sparse.issparse(values):
        if values.shape[0] == values.shape[1] and key.startswith("obsp/"):
            return Table(source, [], [c for c in about if c], ids=ids_column, matrix=values)
        if np.prod(values.shape, dtype=float) > LARGEST:
            raise ValueError(
                f"{source}: {key} is sparse, of shape {values.shape}, too large to write out; give a representation "
                "of few columns, such as --key obsm/X_pca."
            )
        values = values.toarray()
    names = _names(data["var"]) if key == "X" and "var" in data else None
    table = table_of(values, f"{source}, {key}", names if names and len(names) == values.shape[1] else None)
    return Table(source, table.columns, [c for c in about if c], notes=notes, ids=ids_column)


def _values(node: Any) -> Any:
    if hasattr(node, "shape"):
        return node[()]
    shape = tuple(int(n) for n in node.attrs["shape"])
    make = sparse.csc_matrix if "csc" in str(node.attrs.get("encoding-type", "csr")) else sparse.csr_matrix
    return make((node["data"][()], node["indices"][()], node["indptr"][()]), shape=shape).tocsr()


def _names(frame: Any) -> list[str]:
    index = frame.attrs.get("_index", "_index")
    return [text.decode() if isinstance(text, bytes) else str(text) for text in frame[index][()]]


def _about(frame: Any, name: str) -> Column | None:
    node = frame[name]
    if hasattr(node, "shape"):
        values = node.asstr()[()] if node.dtype.kind == "O" else node[()]
        return column_of(name, values.astype(str) if node.dtype.kind == "O" else values)
    if "codes" in node and "categories" in node:
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in node["categories"][()]]
        return Column(name, node["codes"][()].astype(np.intp), texts)
    return None
