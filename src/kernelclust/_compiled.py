"""Compile functions with `numba.njit(cache=True)` at their first call.

numba compiles every set of argument types by itself, for seconds. So callers bring arrays of one type and order: those
that are only read as `floats` and `integers`, marked read-only because users' may be, the others as `changeable`; and
None for what a fit does not have. Slices that are assigned, broadcasting and numpy's functions take longer to compile
than loops do. numba keeps the machine code in files, which it renews when the file of the function changes, but not
when another file does: a compiled function calls compiled functions of its own file only.

What this adds to `njit(cache=True)`, by numba's public interface:

- numba is imported at the first call, so that importing kernelclust and predicting do without.
- One line on the logger while compiling takes long, from numba's events.
- A folder that cannot be written to, a full disk and damaged files do not end a fit.
- Functions that compiled functions call are not made ready for calls from Python as well, nor kept in files. Three
  first fits (plain, with a structure, with constraints) took 10.2 to 13.1 s of processor time so, and 14.4 to 16.4 s
  without. A default fit alone took 7.6 to 8.6 s so and 6.3 to 8.9 s without: no difference beyond noise.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache, cached_property
from time import monotonic
from typing import Any

import numpy as np

from kernelclust._progress import log

QUIET_SECONDS = 1.0  # of compiling, after which a line says so

FIRST_USE = "compiling, once for this machine: functions used for the first time take a few seconds longer"
NO_CACHE = (
    "compiling, again in every process, because the result cannot be stored ({}): "
    "set NUMBA_CACHE_DIR to a writable folder"
)


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Decorate a function to compile; options are those of numba's njit."""
    return Compiled(function, options) if function else lambda function: Compiled(function, options)


def floats(values: np.ndarray) -> np.ndarray:
    """Return floats that compiled functions read; a copy only where their type or order is another."""
    return _read_only(values if _fits(values, np.float64) else np.require(values, np.float64, ["C", "A", "E"]))


def integers(values: np.ndarray) -> np.ndarray:
    """Return integers that compiled functions read; a copy only where their type or order is another."""
    return _read_only(values if _fits(values, np.intp) else np.require(values, np.intp, ["C", "A", "E"]))


def changeable(values: np.ndarray) -> np.ndarray:
    """Return floats that compiled functions write to; a copy only where these cannot be."""
    fits = _fits(values, np.float64) and values.flags.writeable
    return values if fits else np.require(values, np.float64, ["C", "A", "W", "E"])


def _fits(values: np.ndarray, dtype: type) -> bool:
    """Test what `np.require` does too, at several times the price of a small array's work."""
    return type(values) is np.ndarray and values.dtype == dtype and values.flags.c_contiguous and values.flags.aligned


def _read_only(values: np.ndarray) -> np.ndarray:
    if not values.flags.writeable:
        return values
    values = values.view()
    values.flags.writeable = False
    return values


class Compiled:
    """A function that numba compiles; `py_func` is its plain twin."""

    def __init__(self, function: Callable, options: dict[str, Any]):
        self.py_func, self._options = function, options
        self.__module__, self.__name__, self.__doc__ = function.__module__, function.__name__, function.__doc__
        self._stored, self._lock = False, threading.Lock()
        _functions.add(function)

    def __call__(self, *arguments: Any) -> Any:
        dispatcher, stored = self.dispatcher, self._stored
        try:
            return dispatcher(*arguments)
        except (
            Exception
        ) as error:  # perhaps numba cannot read or write its files, which it does before it runs anything
            if not stored:
                raise
            reason = error
        dispatcher = self._compile()
        result = dispatcher(*arguments)  # any other error is raised again
        self._outer, self._stored = dispatcher, False
        _notice.log(NO_CACHE.format(reason))
        return result

    @property
    def dispatcher(self) -> Any:
        """Numba's own, for calls from Python."""
        with self._lock:
            return self._outer

    @cached_property
    def _outer(self) -> Any:
        try:
            dispatcher = self._compile(cache=True)
            self._stored = True
        except RuntimeError as error:  # numba finds no folder that can be written to
            dispatcher = self._compile()
            self._stored = False
            _notice.log(NO_CACHE.format(error))
        return dispatcher

    @cached_property
    def inner(self) -> Any:
        """Compile a function that only compiled functions call; its machine code becomes part of theirs."""
        return self._compile(no_cpython_wrapper=True)

    def _compile(self, **options: Any) -> Any:
        make: Any = _numba().njit
        return make(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options, **self._options)(self.py_func)


@cache
def _numba() -> Any:
    """Import numba; it learns what a `Compiled` is in other functions, and whom to tell that it compiles."""
    import numba
    from numba.core import event
    from numba.extending import typeof_impl

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"].py_func in _functions:
                _notice.begin()

        def on_end(self, event: Any) -> None:
            if event.data["dispatcher"].py_func in _functions:
                _notice.end()

    typeof_impl.register(Compiled)(lambda function, context: numba.typeof(function.inner))
    event.register("numba:compile", Listener())
    return numba


class _Notice:
    """One line in a process, where it compiles for longer than people like to wait in silence."""

    def __init__(self) -> None:
        self._spent, self._began, self._depth, self._logged = 0.0, 0.0, 0, False
        self._timer = threading.Timer(0.0, print)

    def begin(self) -> None:
        self._depth += 1
        if self._depth > 1:  # a function that the outer one calls
            return
        self._began = monotonic()
        self._timer = threading.Timer(max(0.0, QUIET_SECONDS - self._spent), self.log, [FIRST_USE])
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._timer.cancel()
            self._spent += monotonic() - self._began

    def log(self, line: str) -> None:
        if not self._logged:
            self._logged = True
            log(line, logging.WARNING)


_notice = _Notice()
_functions: set[Callable] = set()  # ours, among all that numba compiles in this process
