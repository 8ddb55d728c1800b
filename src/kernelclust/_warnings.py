"""Warnings that point to the user's own line, however deep in the library they are raised."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OURS = ("kernelclust", "sklearn", "joblib", "threading", "concurrent")

_said: ContextVar[set | None] = ContextVar("said", default=None)


@contextmanager
def each_once() -> Iterator[None]:
    """Inside, a line of the library that warns is heard once, however often it is reached."""
    token = _said.set(set())
    try:
        yield
    finally:
        _said.reset(token)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside this library and the tools that call it."""
    said, caller = _said.get(), sys._getframe(1)
    if said is not None:
        line = (caller.f_code, caller.f_lineno)
        if line in said:
            return
        said.add(line)
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level if frame is not None else 2)
