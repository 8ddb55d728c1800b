"""Samples in partitions: blocks of rows of one array, or Dask arrays and frames, on the client that is active, else by
threads of this process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from copy import copy
from time import monotonic, time
from typing import Any

import numpy as np
from scipy import sparse

from kernelclust._arrays import joined, parts
from kernelclust._progress import log

BLOCKS = 16  # partitions of the rows of one array
MAX_NAMED = 20  # columns that an error names
MAX_IDLE_SECONDS = 120.0  # for which a cluster may run nothing of ours: longer than a nanny takes to restart a worker
CHECK_SECONDS = 5.0  # between looks at a cluster that has not finished


TRY_AGAIN = "Check the logs and the memory of the workers, and fit again; the model is unchanged."


class Partitions(ABC):
    """Partitions of samples, wherever they lie."""

    sizes: list[int]
    numbers: list[int]  # of the partitions, as users count them

    @abstractmethod
    def each(
        self, function: Callable, /, *, numbered: bool = False, samples: bool = True, keep: bool = False, **given: Any
    ) -> list:
        """Return function(X, w, y, **given) of every partition; X is None without `samples`, lists hold an entry a
        partition.

        With `keep` results stay where the partitions are, and can be given to the next function.
        """

    @abstractmethod
    def mapped(self, function: Callable, **given: Any) -> Partitions:
        """Return partitions of function(X, w, y, **given), kept where they lie, with the same weights and labels."""

    @abstractmethod
    def rows(self, function: Callable, dtype: Any, width: int | None = None, **given: Any) -> Any:
        """Return function(X, w, y, **given) of all partitions as one array (m,) or (m, width), where they lie."""


class ArrayPartitions(Partitions):
    """Rows of X (m, d), an array of any library, with weights (m,) and known labels (m,) on the host."""

    def __init__(self, X: Any, weight: np.ndarray | None = None, y: np.ndarray | None = None, blocks: int = BLOCKS):
        m = int(X.shape[0])
        self.X, self.weight, self.y = X, weight, y
        self.blocks = list(parts(m, max(-(-m // blocks), 1)))
        self.sizes = [rows.stop - rows.start for rows in self.blocks]
        self.numbers = list(range(len(self.blocks)))

    def each(self, function, /, *, numbered=False, samples=True, keep=False, **given):
        found = []
        for i, rows in enumerate(self.blocks):
            own = {name: one[i] if isinstance(one, list) else one for name, one in given.items()}
            own |= {"number": i} if numbered else {}
            w, y = (None if one is None else one[rows] for one in (self.weight, self.y))
            found.append(function(self.X[rows, :], w, y, **own))
        return found

    def mapped(self, function, **given):
        return ArrayPartitions(joined(self.each(function, **given)), self.weight, self.y, len(self.blocks))

    def rows(self, function, dtype, width=None, **given):
        return joined(self.each(function, **given))


def is_partitioned(X: Any) -> bool:
    """Return whether X is a Dask array or frame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def as_rows(X: Any, name: str = "X") -> Any:
    """Return a Dask array (m, d) in partitions of known length, each with all columns."""
    if hasattr(X, "to_dask_array"):
        log(f"the lengths of the partitions of {name} are counted, once (a Dask array can have known lengths)")
        X = _numeric(X, name).to_dask_array(lengths=True)
    if sparse.issparse(getattr(X, "_meta", None)):
        raise TypeError(f"{name} has sparse blocks, which partitions do not take yet: {name}.map_blocks(np.asarray).")
    if np.ma.isMaskedArray(getattr(X, "_meta", None)):
        raise TypeError(f"{name} has masked blocks: fill masked values in, such as by dask.array.ma.filled({name}, 0).")
    if X.ndim != 2:
        raise ValueError(f"{name} has shape {X.shape}: a table has two dimensions, one row per sample.")
    if X.dtype.kind not in "biuf" or X.dtype == np.float16:
        raise TypeError(f"{name} is of type {X.dtype}: give numbers in single or double precision.")
    if np.isnan(X.shape[0]):
        log(f"the lengths of the partitions of {name} are counted, once; {name}.compute_chunk_sizes() does it before")
        X = X.compute_chunk_sizes()
    X = X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def _numeric(X: Any, name: str) -> Any:
    """Return a Dask frame whose columns are real numbers of one type, or refuse it by the names of its columns."""
    from pandas.api.types import is_complex_dtype, is_float_dtype, is_numeric_dtype

    if X.ndim != 2:  # a series
        return X
    dtypes = dict(zip(X.columns, X.dtypes, strict=True))
    is_real = {column: is_numeric_dtype(kind) and not is_complex_dtype(kind) for column, kind in dtypes.items()}
    bad = [f"{column!r} ({kind})" for column, kind in dtypes.items() if not is_real[column]]
    if bad:
        raise TypeError(
            f"{name} has columns that are not numeric: {', '.join(bad[:MAX_NAMED])}{' ...' * (len(bad) > MAX_NAMED)}. "
            f"Leave them out, or make numbers of them: dask.dataframe.to_numeric, {name}.categorize() and get_dummies."
        )
    kinds = set(map(str, dtypes.values()))
    plain = len(kinds) == 1 and all(isinstance(kind, np.dtype) for kind in dtypes.values())
    return X if plain and is_float_dtype(X.dtypes.iloc[0]) else X.astype(np.float64)


def align_to_partitions(values: Any, X: Any, name: str, read: Callable | None = None) -> list[Any] | None:
    """Return one array of numbers a sample in the partitions of X: delayed, one a partition; None where there are
    none. `read` makes numbers of what is not.
    """
    if values is None:
        return None
    import dask.array as da

    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array(lengths=True)
    values = values if is_partitioned(values) else da.from_array(np.asarray(values), chunks=-1)
    values = values.compute_chunk_sizes() if np.isnan(values.shape).any() else values
    if values.shape != (X.shape[0],):
        raise ValueError(f"{name} has shape {values.shape}, but X has {X.shape[0]} samples: give one number for each.")
    found = list(values.rechunk((X.chunks[0],)).to_delayed().ravel())
    return found if read is None or values.dtype.kind in "iufb" else [_task(read)(one) for one in found]


class DaskPartitions(Partitions):
    """Partitions of a Dask array (m, d), with weights and labels beside them; those without rows take no part."""

    def __init__(self, X: Any, weight: list[Any] | None = None, y: list[Any] | None = None):
        self.lengths = list(X.chunks[0])
        self.numbers = [i for i, size in enumerate(self.lengths) if size]
        self.sizes = [self.lengths[i] for i in self.numbers]
        nothing = [None] * len(self.lengths)
        given = list(X.to_delayed().ravel()), weight or nothing, y or nothing
        self.blocks, self.weight, self.y = ([one[i] for i in self.numbers] for one in given)

    def each(self, function, /, *, numbered=False, samples=True, keep=False, **given):
        tasks = self._tasks(function, numbered, samples, given)
        return _kept(tasks) if keep else _computed(tasks)

    def mapped(self, function, **given):
        made = copy(self)
        made.blocks = self.each(function, keep=True, **given)
        return made

    def rows(self, function, dtype, width=None, **given):
        tasks = dict(zip(self.numbers, self._tasks(function, False, True, given), strict=True))
        return _stacked([(tasks.get(i), size) for i, size in enumerate(self.lengths)], dtype, width)

    def _tasks(self, function: Callable, numbered: bool, samples: bool, given: dict[str, Any]) -> list:
        from dask import delayed

        task = _task(function)
        shared = {name: delayed(one, traverse=False) for name, one in given.items() if not isinstance(one, list)}
        tasks = []
        for i, (block, w, known) in enumerate(zip(self.blocks, self.weight, self.y, strict=True)):
            own = {name: one[i] for name, one in given.items() if isinstance(one, list)}
            own |= {"number": i} if numbered else {}
            tasks.append(task(block if samples else None, w, known, **shared, **own))
        return tasks

    def spread(self, values: np.ndarray) -> Any:
        """Numbers of all samples (m, ...) as a Dask array in these partitions."""
        import dask.array as da

        return da.from_array(values, chunks=(tuple(self.lengths), *values.shape[1:]))

    def joined(self, function: Callable, found: list) -> Any:
        """Return function(found) of results that were kept, kept itself."""
        return _kept([_task(function)(found)])[0]

    def one(self, number: int) -> tuple[Any, Any]:
        """Return samples and weights of one partition, to be given to functions of all."""
        return self.blocks[number], self.weight[number]

    def compared(self, X_new: Any, comparison: Any, labels: list[Any]) -> Any:
        """Return rows of what is seen of the samples of a Dask array X_new from these partitions, when they are
        asked for.
        """
        from dask import delayed

        per, found = [delayed(one, traverse=False) for one in labels], []
        for block, size in zip(X_new.to_delayed().ravel(), X_new.chunks[0], strict=True):
            Z, G = _task(comparison.prepare)(block), None
            for fitted, w, there in zip(self.blocks, self.weight, per, strict=True):
                G = _task(comparison.added)(G, Z, fitted, w, there)
            found.append((_task(comparison.seen)(Z, G) if size else None, size))
        return _stacked(found, np.float64, comparison.width)


def _task(function: Callable) -> Callable:
    """Return calls of a function for later, under a name that the dashboard of a cluster shows."""
    from dask import delayed

    return delayed(function, pure=False, name=f"kernelclust-{getattr(function, '__name__', 'place')}")


def _kept(tasks: list) -> list:
    """Return results that stay where they were made, once they are; Dask makes those again that are lost."""
    from dask import persist

    kept = list(persist(*tasks))
    _computed([_task(_done)(one) for one in kept])
    return kept


def _computed(tasks: list) -> list:
    """Return the results of delayed tasks, from the Dask client that is active, else by Dask's scheduler of this
    process. Dask itself would wait without end for a cluster that has lost its workers or its scheduler.
    """
    from dask import compute
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)  # whose `get` it is
    if client is None:
        return list(compute(*tasks))
    _check_client(client)
    futures = client.compute(tasks)
    try:
        _watch(client, futures)
        if all(future.status != "error" for future in futures):
            return client.gather(futures)
    except (CancelledError, OSError, TimeoutError) as error:
        raise RuntimeError(f"the Dask cluster was lost while it was at work ({error}). {TRY_AGAIN}") from error
    finally:
        left = [future for future in futures if not future.done()]
        if left and client.status == "running":
            client.cancel(left)
    return client.gather(futures)  # raises the error of the task that failed


def _check_client(client: Any) -> None:
    if client.status != "running":
        raise RuntimeError(f"the client of the Dask cluster is {client.status}. {TRY_AGAIN}")


def _watch(client: Any, futures: list) -> None:
    """Return once all futures are done; raise an error where the cluster has been idle for MAX_IDLE_SECONDS."""
    from distributed import wait

    busy, n_done = monotonic(), 0
    while True:
        with suppress(TimeoutError):
            wait(futures, timeout=CHECK_SECONDS)
            return
        _check_client(client)
        finished, executing, workers = sum(future.done() for future in futures), *_activity(client)
        if finished > n_done or executing:
            busy, n_done = monotonic(), finished
        if monotonic() - busy > MAX_IDLE_SECONDS:
            raise RuntimeError(
                f"the Dask cluster ({workers} workers) has executed nothing for {MAX_IDLE_SECONDS:.0f} seconds, with "
                f"{len(futures) - finished} of {len(futures)} tasks left. {TRY_AGAIN}"
            )


def _activity(client: Any) -> tuple[int, int]:
    """Return how many tasks the workers execute, by their last heartbeats, and how many workers there are; of a
    scheduler that does not answer (0, 0).
    """
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
    except TypeError:  # Dask before 2025.4, which always returns all workers
        workers = client.scheduler_info()["workers"].values()
    except OSError:
        return 0, 0
    recent = [one for one in workers if time() - one["last_seen"] < MAX_IDLE_SECONDS]
    return sum(one["metrics"]["task_counts"].get("executing", 0) for one in recent), len(recent)


def _done(_: Any) -> None:
    """Return nothing: this is the sign that something was made."""


def map_partitions(X: Any, function: Callable, dtype: Any, width: int | None = None, rows: list | None = None) -> Any:
    """Return a Dask array of function(block[, rows[i]]), a row a sample in the partitions of X: (m,), or (m, width)."""
    task, found = _task(function), []
    for i, (block, size) in enumerate(zip(X.to_delayed().ravel(), X.chunks[0], strict=True)):
        made = None if not size else task(block) if rows is None else task(block, rows[i])
        found.append((made, size))
    return _stacked(found, dtype, width)


def _stacked(found: list[tuple[Any, int]], dtype: Any, width: int | None) -> Any:
    """Return one Dask array of delayed blocks, each with its number of rows; None stands for a block without any."""
    import dask.array as da

    blocks = []
    for made, size in found:
        shape = (size,) if width is None else (size, width)
        blocks.append(da.zeros(shape, dtype=dtype) if made is None else da.from_delayed(made, shape, dtype))
    whole = da.concatenate(blocks)
    sizes = tuple(size for _, size in found)
    return whole if whole.chunks[0] == sizes else whole.rechunk({0: sizes})  # empty blocks are left out by Dask
