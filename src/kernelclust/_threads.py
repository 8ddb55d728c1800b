"""Small matrices are faster with one BLAS thread: several spend their time waiting for each other."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

ONE_THREAD = 6000  # up to so many samples threads spend more than they save


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> Any:
    """Context in which BLAS works with one thread."""
    return _controller().limit(limits=1, user_api="blas")
