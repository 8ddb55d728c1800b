"""Signs of life: long work says now and then what it is doing, on the logger "kernelclust".

Where nobody has configured logging the lines go to standard error; to silence them:

    logging.getLogger("kernelclust").setLevel("WARNING")

A handler of the logger at level DEBUG hears every round of a large fit, with its numbers in `record.args`: a callback.
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

FIRST = 2.0  # seconds until the first line
GROWTH = 2.0  # each line takes so many times as long to come as the one before
LONGEST = 60.0  # seconds between two lines at most
ENOUGH = 0.05  # share of the work from which the rest can be foretold

STAGES = KERNEL, EIGENVECTORS, SEARCH, EVIDENCE = range(4)  # of a fit, one after the other
STAGE_NAMES = ("kernel", "eigenvectors", "search", "evidence")

logger = logging.getLogger("kernelclust")
shown = False  # whether somebody shows what is going on, so that no lines are needed


def say(line: str, level: int = logging.INFO) -> None:
    """One line to whoever listens."""
    if logger.level == logging.NOTSET and not logger.hasHandlers():
        print(f"kernelclust: {line}", file=sys.stderr, flush=True)
    else:
        logger.log(level, line)


class State(NamedTuple):
    """What is going on: the work, the step it is at, the share of it that was done (None: not known) when so many
    seconds had passed, seconds so far."""

    what: str
    step: str
    share: float | None
    then: float
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds until the end, if it goes on as it did; None where it has taken longer than that already."""
        if self.share is None or not ENOUGH <= self.share <= 1:
            return None
        left = self.then / self.share - self.seconds
        return left if left > 0 else None

    def __str__(self) -> str:
        left = "" if self.left is None else f", about {self.left:.0f} s left"
        return f"{self.what}, {self.seconds:.0f} s{left}" + (f": {self.step}" if self.step else "")


def tell(report: Callable[[str], None], text: str, *numbers: object) -> None:
    """A step of a long search, to whoever asked for a report, and to handlers of the logger that want every step."""
    report(text % numbers)
    logger.debug(text, *numbers)


class _Watch:
    """What is going on in this process: the outermost piece of work, and the step it is at."""

    def __init__(self) -> None:
        self.lock, self.depth = threading.Lock(), 0
        self.what, self.since = "", 0.0
        self.step: tuple = ("",)
        self.share: float | None = None
        self.then = 0.0
        self.timer: threading.Timer | None = None

    def enter(self, what: str) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.what, self.step, self.share, self.since = what, ("",), None, time.monotonic()
                self._later(FIRST)

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.timer is not None:
                self.timer.cancel()
                self.timer = None

    def state(self) -> State:
        text, *numbers = self.step
        return State(self.what, text.format(*numbers), self.share, self.then, time.monotonic() - self.since)

    def _later(self, delay: float) -> None:
        self.timer = threading.Timer(delay, self._tell, (delay,))
        self.timer.daemon = True
        self.timer.start()

    def _tell(self, delay: float) -> None:
        with self.lock:
            if self.depth == 0:
                return
            line = str(self.state())
            self._later(min(GROWTH * delay, LONGEST))
        if not shown:
            say(line)


_watch = _Watch()


def _renew() -> None:
    global _watch
    _watch = _Watch()


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads that were there
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Inside, lines come while it takes long; work within other work is part of that."""
    watch = _watch
    watch.enter(what)
    try:
        yield
    finally:
        watch.leave()


def now(what: str) -> None:
    """Work that consists of other work, such as many fits, has come to another part of it."""
    _watch.what = what


def at(text: str, *numbers: object) -> None:
    """The step that the work has come to, as `str.format` takes it; formatted only when it is told."""
    _watch.step = (text, *numbers)


def part(done: float, total: float) -> None:
    """How much of the outermost work is done; work within it is not asked."""
    if _watch.depth <= 1:
        _watch.share = done / total if total > 0 else None
        _watch.then = time.monotonic() - _watch.since


def state() -> State | None:
    """What is going on now; None where nothing is."""
    return _watch.state() if _watch.depth else None


class Listener(Protocol):
    """Who hears of the stages of a fit, by their numbers, and of how much of one is done."""

    def __call__(self, number: int) -> None: ...

    def within(self, share: float) -> None: ...


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def hearing(listener: Listener | None) -> Iterator[None]:
    """Inside, in this thread, stages are told to the listener alone."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def stage(number: int, text: str, *numbers: object) -> None:
    """The fit has come to another of its `STAGES`; the rest as in `at`."""
    at(text, *numbers)
    listener = _listener.get()
    if listener is not None:
        listener(number)


def within(done: int, total: int) -> None:
    """So much of this stage is done."""
    listener = _listener.get()
    if listener is not None:
        listener.within(done / total)
