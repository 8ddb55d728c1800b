"""Partitions of Dask arrays and frames: on the client that is active, else by threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelclust._progress import say
from kernelclust.large._shards import Shards


def is_partitioned(X: Any) -> bool:
    """Whether X is a Dask array or frame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def as_rows(X: Any, name: str = "X") -> Any:
    """A Dask array (m, d) in partitions of known length, each with all columns."""
    if hasattr(X, "to_dask_array"):
        say(f"the lengths of the partitions of {name} are counted, once; give a dask array to have them known")
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"{name} has shape {X.shape}: a table has two dimensions, one row a sample.")
    if X.dtype.kind not in "biuf" or X.dtype == np.float16:
        raise TypeError(f"{name} is of type {X.dtype}: give numbers in single or double precision.")
    if np.isnan(X.shape[0]):
        say(f"the lengths of the partitions of {name} are counted, once; {name}.compute_chunk_sizes() does it before")
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def beside(values: Any, X: Any, name: str) -> list[Any] | None:
    """One array of numbers a sample in the partitions of X: delayed, one a partition; None where there are none."""
    if values is None:
        return None
    import dask.array as da

    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array(lengths=True)
    values = values if is_partitioned(values) else da.from_array(np.asarray(values), chunks=-1)
    if values.shape != (X.shape[0],):
        raise ValueError(f"{name} has shape {values.shape}, but X has {X.shape[0]} samples: give one number for each.")
    return list(values.rechunk((X.chunks[0],)).to_delayed().ravel())


def shards_of(X: Any, weight: list[Any] | None, y: list[Any] | None) -> Shards:
    """The partitions of X (m, d), with weights and labels beside them."""
    from dask import compute, delayed

    blocks = list(X.to_delayed().ravel())
    others = [[None] * len(blocks) if one is None else one for one in (weight, y)]

    def each(function: Callable, *, numbered: bool = False, **given: Any) -> list:
        task = delayed(function, pure=False, name=f"kernelclust-{function.__name__}")
        shared = {name: delayed(one, traverse=False) for name, one in given.items() if not isinstance(one, list)}
        tasks = []
        for i, (block, w, known) in enumerate(zip(blocks, *others, strict=True)):
            own = {name: one[i] for name, one in given.items() if isinstance(one, list)}
            own |= {"number": i} if numbered else {}
            tasks.append(task(block, w, known, **shared, **own))
        return list(compute(*tasks))

    return Shards(each, X.chunks[0])


def lazily(X: Any, function: Callable, dtype: Any, width: int | None = None, rows: list | None = None) -> Any:
    """A Dask array of function(block[, rows[i]]), a row a sample in the partitions of X: (m,), or (m, width)."""
    import dask.array as da
    from dask import delayed

    task = delayed(function, pure=False, name=f"kernelclust-{getattr(function, '__name__', 'place')}")
    found = []
    for i, (block, size) in enumerate(zip(X.to_delayed().ravel(), X.chunks[0], strict=True)):
        made = task(block) if rows is None else task(block, rows[i])
        found.append(da.from_delayed(made, (size,) if width is None else (size, width), dtype=dtype))
    return da.concatenate(found)
