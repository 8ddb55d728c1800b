"""Arrays that live elsewhere: on a GPU, or in any library of the array API."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import get_config

COMPAT = "sklearn.externals.array_api_compat"  # one spelling of all libraries
HALF = ("float16", "bfloat16")


def namespace_of(X: Any) -> Any:
    """The array API namespace of an array that is worked on where it is; None for what numpy takes.

    Arrays on a GPU always are; others (torch on the host, array-api-strict) if scikit-learn is configured so, by
    `sklearn.set_config(array_api_dispatch=True)`.
    """
    if isinstance(X, np.ndarray) or not (hasattr(X, "__array_namespace__") or type(X).__module__.startswith("torch")):
        return None
    try:
        compat = import_module(COMPAT)
    except ImportError:  # before scikit-learn 1.7
        return None
    if not compat.is_array_api_obj(X) or compat.is_numpy_array(X) or compat.is_dask_array(X):
        return None
    if _on_host(compat.device(X)) and not get_config()["array_api_dispatch"]:
        return None
    return compat.array_namespace(X)


def namespace(array: Any) -> Any:
    """The array API namespace of an array, whatever it is."""
    return import_module(COMPAT).array_namespace(array)


def library(array: Any) -> Any:
    """Numpy for its own arrays, else the array API namespace of an array."""
    return np if isinstance(array, np.ndarray) else namespace(array)


def like(values: Any, array: Any) -> Any:
    """Numbers of the host in double precision, where an array is."""
    if isinstance(array, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    xp = namespace(array)
    return xp.asarray(np.ascontiguousarray(values), dtype=xp.float64, device=array.device)


def joined(arrays: list[Any]) -> Any:
    """Rows of several arrays of one library."""
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if isinstance(arrays[0], np.ndarray) else namespace(arrays[0]).concat(arrays)


def double(array: Any) -> Any:
    """An array in double precision, of whatever library."""
    if isinstance(array, np.ndarray):
        return array.astype(np.float64, copy=False)
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def knows_numpy() -> bool:
    """Return whether numpy's own arrays can be used through the array API, which needs NumPy 2 and scikit-learn 1.7."""
    return find_spec(COMPAT) is not None and hasattr(np.empty(0), "device")


def parts(n: int, step: int = 2**20) -> Iterator[slice]:
    """Slices over n rows that never reach beyond the last, as the array API asks for."""
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _on_host(device: Any) -> bool:
    return "cpu" in str(getattr(device, "type", device)).lower()


def to_host(array: Any) -> np.ndarray:
    """A numpy array of numbers that may lie elsewhere."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # torch
        return np.asarray(array.detach().cpu().numpy())
    if hasattr(array, "get"):  # cupy
        return np.asarray(array.get())
    return np.asarray(array)


def check_elsewhere(xp: Any, X: Any, name: str = "X") -> Any:
    """A table of finite numbers in single or double precision, or an error that says where it is none."""
    if X.ndim != 2:
        raise ValueError(
            f"{name} has shape {tuple(X.shape)}: a table has two dimensions, one row per sample; reshape it with "
            f"{name}.reshape({name}.shape[0], -1)."
        )
    kind = str(X.dtype).rpartition(".")[2]
    if kind in HALF:
        raise TypeError(
            f"{name} is in half precision ({kind}), in which distances between samples are lost; give single "
            "precision, e.g. X.float()."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: {name} is {kind}.")
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float64)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name} has shape {tuple(X.shape)}: there is nothing to cluster.")
    good = xp.isfinite(X)
    if not bool(xp.all(good)):
        row = int(xp.argmin(xp.astype(xp.all(good, axis=1), xp.int64)))
        column = int(xp.argmin(xp.astype(good[row, :], xp.int64)))
        raise ValueError(
            f"Input {name} contains {float(X[row, column])} at row {row}, column {column}. Fill such values in "
            "(sklearn.impute.SimpleImputer), or leave these rows or columns out."
        )
    return X
