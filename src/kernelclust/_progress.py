"""Report the progress of long work: one channel, to the logger "kernelclust", to scikit-learn's callbacks and to a bar.

Work that takes longer than two seconds logs a line now and then. Where nobody has configured logging the lines go to
standard error; to silence them:

    logging.getLogger("kernelclust").setLevel("WARNING")

A handler of the logger at level DEBUG gets every round of a large fit, with its numbers in `record.args`. Callbacks
(`estimators/_callbacks.py`) get the stages of a fit, and the command line shows `state()` as a bar (`cli/guard.py`).
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

FIRST_SECONDS = 2.0  # until the first line
INTERVAL_GROWTH = 2.0  # each line takes so many times as long to come as the one before
MAX_INTERVAL_SECONDS = 60.0
MIN_FRACTION = 0.05  # of the work, from which the time left is estimated

STAGES = KERNEL, EIGENVECTORS, SEARCH, EVIDENCE = range(4)  # of a fit, one after the other
STAGE_NAMES = ("kernel", "eigenvectors", "search", "evidence")

logger = logging.getLogger("kernelclust")
bar_is_shown = False  # then no lines are needed


def log(line: str, level: int = logging.INFO) -> None:
    """Log one line; print it to standard error where nobody has configured logging."""
    if logger.level == logging.NOTSET and not logger.hasHandlers():
        print(f"kernelclust: {line}", file=sys.stderr, flush=True)
    else:
        logger.log(level, line)


def log_round(report: Callable[[str], None], text: str, *numbers: object) -> None:
    """Log a round of a long search to `report`, and to handlers of the logger at level DEBUG."""
    report(text % numbers)
    logger.debug(text, *numbers)


class State(NamedTuple):
    """The task and its step; the fraction done (None: unknown) as of `measured` seconds; seconds so far."""

    task: str
    step: str
    fraction: float | None
    measured: float
    seconds: float

    @property
    def seconds_left(self) -> float | None:
        """Estimate the time left at the present speed; None where it has taken longer than that already."""
        if self.fraction is None or not MIN_FRACTION <= self.fraction <= 1:
            return None
        left = self.measured / self.fraction - self.seconds
        return left if left > 0 else None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {self.seconds_left:.0f} s left"
        return f"{self.task}, {self.seconds:.0f} s{left}" + (f": {self.step}" if self.step else "")


class _Watch:
    """The outermost task of this process, with a timer that logs it."""

    def __init__(self) -> None:
        self.lock, self.depth = threading.Lock(), 0
        self.timer: threading.Timer | None = None
        self.start("")

    def start(self, task: str) -> None:
        self.task, self.began = task, time.monotonic()
        self.step: tuple = ("",)
        self.fraction: float | None = None
        self.measured = 0.0

    def enter(self, task: str) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.start(task)
                self._log_after(FIRST_SECONDS)

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.timer is not None:
                self.timer.cancel()
                self.timer = None

    def state(self) -> State:
        text, *numbers = self.step
        seconds = time.monotonic() - self.began
        return State(self.task, text.format(*numbers), self.fraction, self.measured, seconds)

    def _log_after(self, delay: float) -> None:
        self.timer = threading.Timer(delay, self._log, (delay,))
        self.timer.daemon = True
        self.timer.start()

    def _log(self, delay: float) -> None:
        with self.lock:
            if self.depth == 0:
                return
            line = str(self.state())
            self._log_after(min(INTERVAL_GROWTH * delay, MAX_INTERVAL_SECONDS))
        if not bar_is_shown:
            log(line)


_watch = _Watch()


def _renew() -> None:
    global _watch
    _watch = _Watch()


if hasattr(os, "register_at_fork"):  # a forked process has none of the parent's threads
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def working(task: str) -> Iterator[None]:
    """Log lines while the body takes long; tasks inside another task belong to the outer one."""
    watch = _watch
    watch.enter(task)
    try:
        yield
    finally:
        watch.leave()


def state() -> State | None:
    """Return the state of the outermost task; None where there is none."""
    return _watch.state() if _watch.depth else None


def set_task(task: str) -> None:
    """Rename the outermost task, such as the next of many fits."""
    _watch.task = task


def set_step(text: str, *numbers: object) -> None:
    """Set the step that the task is at, as `str.format` takes it; it is formatted only when it is logged."""
    _watch.step = (text, *numbers)


def overall_progress(done: float, total: float) -> None:
    """Set how much of the outermost task is done; inner tasks are ignored."""
    if _watch.depth <= 1:
        _watch.fraction = done / total if total > 0 else None
        _watch.measured = time.monotonic() - _watch.began


class Listener(Protocol):
    """An object that is called with the number of each stage of a fit, and told the fraction done of the stage."""

    def __call__(self, number: int) -> None: ...

    def stage_progress(self, fraction: float) -> None: ...


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def progress_listener(listener: Listener | None) -> Iterator[None]:
    """Send stages of fits in this thread to this listener alone."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def set_stage(number: int, text: str, *numbers: object) -> None:
    """Begin another of the `STAGES` of a fit; the rest as in `set_step`."""
    set_step(text, *numbers)
    listener = _listener.get()
    if listener is not None:
        listener(number)


def stage_progress(done: int, total: int) -> None:
    """Set how much of this stage is done."""
    listener = _listener.get()
    if listener is not None:
        listener.stage_progress(done / total)
