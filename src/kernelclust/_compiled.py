"""Functions that numba compiles when they are first called, and keeps in files where there is a place for them.

Every set of argument types is compiled by itself, for seconds. So callers bring arrays of one type and order: those
that are only read as `floats` and `integers`, marked read-only because users' may be, the others as `changeable`; and
None for what a fit does not have. Slices that are assigned, broadcasting and numpy's functions take longer to compile
than loops do.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from kernelclust._progress import say

PATIENCE = 1.0  # seconds of compiling after which a line says so

ONCE = "compiling, once for this machine: what is used for the first time takes some seconds longer"
AGAIN = (
    "compiling, again in every process, because there is no folder to keep the result in: "
    "set NUMBA_CACHE_DIR to one that can be written to"
)


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Decorator of a function to compile; options are those of numba's njit."""
    return Compiled(function, options) if function else lambda function: Compiled(function, options)


def floats(values: np.ndarray) -> np.ndarray:
    """An array that compiled functions read: the one given, unless its numbers are of another type or scattered."""
    return _read_only(values if _fits(values, np.float64) else np.require(values, np.float64, ["C", "A", "E"]))


def integers(values: np.ndarray) -> np.ndarray:
    """And one of integers."""
    return _read_only(values if _fits(values, np.intp) else np.require(values, np.intp, ["C", "A", "E"]))


def changeable(values: np.ndarray) -> np.ndarray:
    """And one of floats that they write to."""
    fits = _fits(values, np.float64) and values.flags.writeable
    return values if fits else np.require(values, np.float64, ["C", "A", "W", "E"])


def _fits(values: np.ndarray, dtype: type) -> bool:
    """What `np.require` finds out too, at several times the price of a small array's work."""
    return type(values) is np.ndarray and values.dtype == dtype and values.flags.c_contiguous and values.flags.aligned


def _read_only(values: np.ndarray) -> np.ndarray:
    if not values.flags.writeable:
        return values
    values = values.view()
    values.flags.writeable = False
    return values


class Compiled:
    """What numba makes of a function, and `py_func`, its plain twin. numba itself is imported at the first call.

    Where another compiled function calls it, it becomes part of that one's machine code, and is neither made ready for
    calls from Python nor kept.
    """

    def __init__(self, function: Callable, options: dict[str, Any]):
        self.py_func, self._options = function, options
        self.__module__, self.__name__, self.__doc__ = function.__module__, function.__name__, function.__doc__
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @property
    def dispatcher(self) -> Any:
        """numba's own, for calls from Python."""
        with self._lock:
            return self._outer

    @property
    def _numba_type_(self) -> Any:
        """What numba asks a name in a function for."""
        return self._inner._numba_type_

    @cached_property
    def _outer(self) -> Any:
        dispatcher = self._compile()
        dispatcher._cache = _Kept(self.py_func)
        return dispatcher

    @cached_property
    def _inner(self) -> Any:
        return self._compile(no_cpython_wrapper=True)

    def _compile(self, **options: Any) -> Any:
        from numba import njit

        make: Any = njit
        return make(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options, **self._options)(self.py_func)


class _Kept:
    """numba's files of a compiled function; without a place for them it stays in memory, and broken ones are replaced.

    numba asks for what is kept before it compiles and hands over the result after, one function at a time.
    """

    def __init__(self, function: Callable):
        from numba.core.caching import FunctionCache

        self._files: Any = None
        try:
            self._files = FunctionCache(function)
        except (RuntimeError, OSError):  # no folder can be written to
            return
        self._files._cache_file._source_stamp = _stamp()

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            found = None if self._files is None else self._files.load_overload(signature, target)
        except Exception:  # whatever a file that is not whole makes of unpickling
            found = None
        if found is None and self._files is None:
            _WORD.say(AGAIN)
        if found is None:
            _WORD.begin()
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        _WORD.end()
        if self._files is None:
            return
        try:
            try:
                self._files.save_overload(signature, result)
            except Exception:  # the index is broken
                self._files.flush()
                self._files.save_overload(signature, result)
        except Exception:  # the disk is full, or the folder gone: what was compiled works all the same
            self._files = None
            _WORD.say(AGAIN)


class _Word:
    """One line in a process, where it compiles for longer than people like to wait in silence."""

    def __init__(self) -> None:
        self._spent, self._began, self._said = 0.0, 0.0, False
        self._timer = threading.Timer(0.0, print)

    def begin(self) -> None:
        self._began = monotonic()
        self._timer = threading.Timer(max(0.0, PATIENCE - self._spent), self.say, [ONCE])
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        self._timer.cancel()
        self._spent += monotonic() - self._began

    def say(self, line: str) -> None:
        if not self._said:
            self._said = True
            say(line, logging.WARNING)


_WORD = _Word()


@cache
def _stamp() -> str:
    """What all files of compiled functions hash to: they become part of each other, while numba looks at one file."""
    here = Path(__file__)
    files = [here, *sorted(here.parent.rglob("*loops.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
