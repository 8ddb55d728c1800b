"""Threads over independent pieces of work, one BLAS thread each; as many as OpenMP takes (`OMP_NUM_THREADS`).

BLAS threads that wait for each other cost more than they bring on tall, narrow and small matrices, and far more when
other work shares the cores. So a fit holds BLAS to one thread and divides its work itself: large passes into blocks,
searches into starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_worker = threading.local()  # has a mark in threads of our own, which start no others


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _OneThread:
    """Context in which BLAS works with one thread; the last of overlapping ones, in whatever thread, restores it."""

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._limit.restore_original_limits()


_ONE = _OneThread()


def one_thread() -> _OneThread:
    """Context in which BLAS works with one thread."""
    return _ONE


def one_openmp_thread() -> AbstractContextManager:
    """Context in which OpenMP works with one thread, as far as this Python thread starts it.

    Of samples that are equally far, scikit-learn's neighbours depend on the number of its threads.
    """
    return _controller().limit(limits=1, user_api="openmp")


def n_threads() -> int:
    """Return how many threads work is divided between here: as many as in scikit-learn's KMeans."""
    return 1 if getattr(_worker, "marked", False) else int(_openmp_effective_n_threads())


def _mark() -> None:
    _worker.marked = True


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, large: bool = True) -> Iterator[Result]:
    """work(item) for every item, several at a time, one BLAS thread each; results come in order, so that sums of them
    are the same bits for any number of threads. Work that is not `large` loses more by threads than it gains.

    Where an item fails, or the caller wants no more results, items that have not begun are left out. A single item may
    divide its own work.
    """
    with one_thread():
        if n_threads() == 1 or not large or len(items := list(items)) == 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(n_threads(), initializer=_mark) as pool:
            yield from pool.map(work, items)


def in_background(work: Callable[[], Result]) -> Callable[[], Result]:
    """Begin work that is needed later, where there is a thread for it; the function that is returned waits for it."""
    if n_threads() == 1:
        return cache(work)
    pool = ThreadPoolExecutor(1, initializer=_mark)
    found = pool.submit(work)
    pool.shutdown(wait=False)
    return found.result
