"""Threads over blocks of work, one BLAS thread each.

BLAS threads that wait for each other cost more than they bring on tall, narrow and small matrices, and far more when
other work shares the cores. So a fit holds BLAS to one thread and divides large passes itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from joblib import cpu_count
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


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


def useful_jobs(n_jobs: int | None) -> int | None:
    """n_jobs as joblib takes it, no more than there are cores: thousands of threads take long to start."""
    return n_jobs if n_jobs is None or n_jobs < 0 else min(n_jobs, cpu_count())


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, large: bool = True) -> Iterator[Result]:
    """work(item) for every item, several at a time, one BLAS thread each; results come in order, so that sums of them
    are the same bits for any number of threads. Work that is not `large` loses more by threads than it gains.
    """
    items = list(items)
    threads = min(_openmp_effective_n_threads(), len(items)) if large else 1
    with one_thread():
        if threads <= 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, items)
