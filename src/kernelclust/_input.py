"""Recognise input that is no table of numbers, and refuse it with advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from kernelclust._warnings import warn

SHOWN = 20  # columns that a message names at most
LONGEST = 30  # characters of a value that a message quotes

ADVICE = {
    "text": "numbers written as text by pandas.to_numeric",
    "dates": "dates by their distance to a first one, (d - d.min()).dt.total_seconds()",
    "categories": "categories by pandas.get_dummies",
    "objects": "objects by what you want to compare them by",
}


def as_table(X: Any, name: str = "X", *, missing: bool = False) -> Any:
    """X as scikit-learn's checks take it; a TypeError or ValueError with the way out for what is no table of numbers.

    Frames and sparse matrices pass as they are, tables of Arrow as frames, arrays of other libraries (torch) and masked
    ones as plain arrays. With `missing`, masked values become NaN instead of an error.
    """
    X = as_array(X, name, missing=missing)
    if is_frame(X):
        shown = column_names(X.columns, X.shape[1])
        _check_columns(shown, X.dtypes, lambda j: _safe_indexing(X, j, axis=1), name, frame=True)
    elif isinstance(X, np.ndarray) and X.ndim > 2:
        raise ValueError(f"{name} has shape {X.shape}: {how_to_flatten(X.shape, name)}.")
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUSMm":
        shown = column_names(None, X.shape[1], name)
        _check_columns(shown, [X.dtype] * X.shape[1], lambda j: X[:, j], name, frame=False)
    return X


def as_array(X: Any, name: str = "X", *, missing: bool = False) -> Any:
    """X as `as_table` has it, of any shape and content."""
    if hasattr(X, "__dask_graph__"):
        warn(f"{name} is a Dask collection, which is loaded into memory here.")
        X = X.compute()
    if sparse.issparse(X) or X is None or is_frame(X):
        return X
    if hasattr(X, "obs") and hasattr(X, "var") and not isinstance(X, np.ndarray):
        raise TypeError(
            f"{name} is {type(X).__name__}, which holds several tables of the same samples; give the one to cluster: "
            "fit(adata.X), fit(adata.obsm['X_pca']), or with kernel='precomputed_graph' "
            "fit(adata.obsp['connectivities']). kernelclust.anndata.structured(adata, structure=...) does this and "
            "writes the clusters into adata."
        )
    if is_graph(X):
        raise TypeError(
            f"{name} is a networkx graph ({type(X).__name__}). To cluster its nodes, set kernel='precomputed_graph' "
            "and fit the graph; new samples are affinities (n, m) with its m nodes."
        )
    for part in X if isinstance(X, (list, tuple)) else [X]:
        if hasattr(part, "collect") and not hasattr(part, "__array__"):
            raise TypeError(f"{name} has a lazy {type(part).__name__}; give what its collect() returns.")
    if hasattr(X, "column_names") and hasattr(X, "to_pandas") and find_spec("pandas"):  # Arrow: a frame keeps names
        return X.to_pandas()
    return _masked(X, name, missing) if np.ma.isMaskedArray(X) else _plain(X, name)


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas or polars frame, or one like them."""
    return hasattr(X, "__array__") and hasattr(X, "columns") and hasattr(X, "dtypes")


def is_graph(value: object) -> bool:
    """Tell a networkx graph from a matrix without importing networkx."""
    return all(hasattr(value, name) for name in ("nodes", "edges", "is_directed"))


def column_names(names: Iterable[Any] | None, n_columns: int, table: str = "X") -> list[str]:
    """The frame's own names, quoted, or the way to a column of an array, which cannot be miscounted."""
    if names is None:
        return [f"{table}[:, {j}]" for j in range(n_columns)]
    return [repr(str(name)) for name in names]


def check_finite(X: Any, names: Iterable[Any] | None = None, table: str = "X", also: str = "") -> None:
    """Refuse NaN and infinity in numbers X (m, d), dense or sparse, by column and first row."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return
    if sparse.issparse(X):
        X = X.tocoo()
        at = ~np.isfinite(X.data)
        row, column, bad = X.row[at], X.col[at], X.data[at]
    else:
        row, column = np.nonzero(~np.isfinite(X))
        bad = X[row, column]
    what = " and ".join(filter(None, ["NaN" if np.isnan(bad).any() else "", "infinity" if np.isinf(bad).any() else ""]))
    shown = column_names(names, X.shape[1], table)
    spoilt = [f"{shown[j]} ({_rows(row[column == j])})" for j in np.unique(column)[:SHOWN]]
    raise ValueError(
        f"Input {table} contains {what} in {_listed(spoilt, len(np.unique(column)))}. Fill such values in "
        f"(sklearn.impute.SimpleImputer), or leave these rows or columns out. {also}".rstrip()
    )


def how_to_flatten(shape: Sequence[int], name: str = "X") -> str:
    of_each = " x ".join(map(str, shape[1:]))
    return (
        f"found array with dim {len(shape)}, where a table has two, one row per sample. For {shape[0]} images (or "
        f"other arrays) of {of_each} numbers give {name}.reshape(len({name}), -1), of shape "
        f"({shape[0]}, {int(np.prod(shape[1:]))})"
    )


def rows_are_equal(X: Any) -> bool:
    """Return whether all samples X (m, d), dense or sparse, are equal up to rounding."""
    low, high = (np.asarray(_dense(limit(axis=0)), dtype=float) for limit in (X.min, X.max))
    size = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):
        return bool((high - low <= 4 * np.finfo(X.dtype).eps * size).all())


def quoted(value: Any) -> str:
    """A value as it is written in a message: its beginning, where it is long."""
    text = str(value)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return repr(text) if isinstance(value, str) else text


def listed(values: Sequence[Any], most: int = 12) -> str:
    """Return the first of some values as a message lists them, with dots where there are more."""
    return ", ".join(map(quoted, values[:most])) + (", ..." if len(values) > most else "")


# -- parts ------------------------------------------------------------------------------------------------------------


def _plain(X: Any, name: str) -> Any:
    """An array of another library, or a list, as one of numpy; what is none stays as it is, for scikit-learn."""
    if isinstance(X, np.ndarray):
        return X
    if isinstance(X, (list, tuple)):
        try:
            return np.asarray(X)
        except (ValueError, TypeError):  # rows of unlike lengths
            return X
    if hasattr(X, "__array__"):
        try:
            return np.asarray(X)
        except Exception as error:  # torch: on another device, or with a gradient
            what = f"{type(X).__module__}.{type(X).__name__}"
            raise TypeError(
                f"{name} of type {what} cannot be converted to a NumPy array: {str(error).rstrip('.')}. For a torch "
                "tensor t give t.detach().cpu().double().numpy()."
            ) from error
    return X


def _masked(X: np.ma.MaskedArray, name: str, missing: bool) -> np.ndarray:
    mask = np.ma.getmaskarray(X)
    if not mask.any():
        return np.asarray(X.data)
    if missing:
        return np.where(mask, np.nan, X.data)
    where = ", ".join(map(str, np.argwhere(mask)[0]))
    raise ValueError(
        f"{name} has {mask.sum()} masked (missing) values, the first at {name}[{where}]. Fill them in, e.g. with "
        f"sklearn.impute.SimpleImputer on {name}.filled(numpy.nan), or leave such rows or columns out."
    )


def _check_columns(names: Sequence[str], dtypes: Iterable[Any], column: Any, table: str, *, frame: bool) -> None:
    """Refuse columns that are no numbers, all at once."""
    bad = {}
    for j, dtype in enumerate(dtypes):
        if not _is_number(dtype) and (found := _what_instead(column(j), dtype)) is not None:
            bad[j] = found
    kinds = {kind for kind, _ in bad.values()}
    if not bad or (not frame and "objects" in kinds):  # scikit-learn has a word for objects in an array
        return
    parts = [f"{names[j]} ({kind}, such as {quoted(value)})" for j, (kind, value) in bad.items()]
    plural = "columns that are" if len(bad) > 1 else "column that is"
    raise ValueError(
        f"{table} has {len(bad)} {plural} not numeric: {_listed(parts[:SHOWN], len(parts))}. Leave out what is not "
        f"to be compared, and make numbers of the rest: {'; '.join(ADVICE[kind] for kind in ADVICE if kind in kinds)}."
    )


def _is_number(dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)  # numpy, pandas
    return kind in "biufc" if kind is not None else bool(dtype.is_numeric() or str(dtype) == "Boolean")  # polars


def _what_instead(column: Any, dtype: Any) -> tuple[str, Any] | None:
    """Return what a column holds instead of numbers, with an example; None for numbers stored as text or objects."""
    values = np.asarray(column)
    category = str(dtype).lower().startswith(("category", "categorical", "enum"))
    if category or values.dtype.kind in "Mm":
        there = [value for value in values[:1000] if value == value]
        return ("categories" if category else "dates"), there[0] if there else None
    for value in values:
        if value is None or (isinstance(value, float) and value != value):
            continue
        try:
            float(value)
        except (TypeError, ValueError):
            kind = "text" if isinstance(value, (str, bytes)) else "dates" if hasattr(value, "year") else "objects"
            return kind, value
    return None


def _rows(rows: np.ndarray) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"{len(rows)} rows, the first {rows.min()}"


def _listed(parts: Sequence[str], total: int) -> str:
    return ", ".join(parts) + (f" and {total - len(parts)} more" if total > len(parts) else "")


def _dense(limit: Any) -> Any:
    return limit.toarray() if sparse.issparse(limit) else limit
