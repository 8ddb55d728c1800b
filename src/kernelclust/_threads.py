"""Threads: one for small matrices, where several wait for each other; as many as there are for large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from typing import Any, TypeVar

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

ONE_THREAD = 6000  # up to so many samples threads spend more than they save
Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> Any:
    """Context in which BLAS works with one thread."""
    return _controller().limit(limits=1, user_api="blas")


def threads_for(n_samples: int) -> Any:
    """Context for work on so many samples."""
    return one_thread() if n_samples <= ONE_THREAD else nullcontext()


def in_order(work: Callable[[Item], Result], items: Sequence[Item] | Iterable[Item]) -> Iterator[Result]:
    """work(item) for every item, several at a time, one BLAS thread each; results come in order, so that sums of them
    are the same bits for any number of threads."""
    items = list(items)
    threads = min(_openmp_effective_n_threads(), len(items))
    with one_thread():
        if threads <= 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, items)
