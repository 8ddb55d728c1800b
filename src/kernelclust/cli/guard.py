"""Code around every command: streams that may be closed, warnings and errors in one line each, progress."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, TextIO, cast

from kernelclust import _progress

# Replaces advice for Python by options of the command line. A test checks that every pattern matches a message.
IN_OPTIONS = (
    (
        r"Pass the names of some samples in y, with '' for all others\.",
        "Give a column with the names of some rows: --label-column COLUMN --use-labels.",
    ),
    (r"see order_\.structures", "`kernelclust select structure FILE` compares structures"),
    (r"kernel=Precomputed\(indefinite='clip'\)", "--indefinite clip"),
    (r"\bkernel='(\w+)'", r"--kernel \1"),
    (r"\bsize_prior=([\d.]*\d)", r"--size-prior \1"),
)
FINE, BUG, BAD, INTERRUPTED = 0, 1, 2, 130
FIRST_SECONDS, EVERY_SECONDS = 2.0, 0.2  # until the bar appears, and between two updates


def guarded(work: Callable[[SimpleNamespace], None], arguments: SimpleNamespace) -> int:
    """Run a command and return its exit code."""
    nowhere = sys.stdout is None
    sys.stdout = sys.stdout or open(os.devnull, "w")
    arguments.warnings = []  # all warnings, for those who write them down
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(cast(Any, _Heard(sys.stderr))),
        _logging(arguments),
        _bar(quiet=arguments.quiet),
    ):
        warnings.showwarning = lambda message, *_, **__: warn(arguments, str(message))  # type: ignore[assignment]
        try:
            if nowhere and getattr(arguments, "out", "") is None:
                raise ValueError("standard output is closed; name a file for the labels with --out.")
            work(arguments)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            return _failed(arguments, "interrupted, nothing written", INTERRUPTED, name="")
        except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
            return _failed(arguments, _in_words(error), BAD)
        except Exception as error:
            what = f"{type(error).__name__}: {_one_line(str(error))}. This is a bug; --debug shows where."
            return _failed(arguments, what, BUG)
    return FINE


def log(arguments: SimpleNamespace, text: str) -> None:
    """Print a line on stderr if that is a terminal, or with --verbose."""
    if not arguments.quiet and (arguments.verbose or sys.stderr.isatty()):
        print(f"kernelclust: {text}", file=sys.stderr)


def note(arguments: SimpleNamespace, text: str) -> None:
    """Print a line on stderr, except with --quiet."""
    if not arguments.quiet:
        print(f"kernelclust: {text}", file=sys.stderr)


def warn(arguments: SimpleNamespace, text: str) -> None:
    """Print a warning in one line, once, and store it for `--json`."""
    text = _one_line(text)
    if text not in arguments.warnings:
        arguments.warnings.append(text)
        note(arguments, f"warning: {text}")


def refused(what: str) -> int:
    """Print an error about the command itself, and return the exit code."""
    print(f"kernelclust: error: {what}", file=sys.stderr)
    return BAD


def _failed(arguments: SimpleNamespace, what: str, code: int, name: str = "error: ") -> int:
    if arguments.debug:
        traceback.print_exc()
    print(f"kernelclust: {name}{what}", file=sys.stderr)
    return code


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror is not None:  # raised by the system, not by us
        return f"{error.filename or 'standard output'}: {error.strerror}"
    if hasattr(error, "problems"):  # of a file, a line each
        return str(error)
    return _one_line(str(error)) or type(error).__name__


def _one_line(text: str) -> str:
    """Return a message in one line, its advice by options."""
    text = " ".join(text.split())
    for python, option in IN_OPTIONS:
        text = re.sub(python, option, text)
    return text


@contextlib.contextmanager
def _logging(arguments: SimpleNamespace) -> Any:
    """Let the library log to stderr; with --quiet warnings only."""
    logger, before = logging.getLogger("kernelclust"), logging.getLogger("kernelclust").level
    if arguments.quiet:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)


class _Heard:
    """Wrapper of stderr that ignores writes if the stream is closed or its reader has left."""

    def __init__(self, stream: TextIO | None):
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, AttributeError):
            self._stream.write(text)  # type: ignore[union-attr]
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self._stream.flush()  # type: ignore[union-attr]

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()  # type: ignore[union-attr]

    encoding = "utf-8"


@contextlib.contextmanager
def _bar(*, quiet: bool) -> Iterator[None]:
    """Show a bar for what takes long in the body, where stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    over, _progress.bar_is_shown = threading.Event(), True
    thread = threading.Thread(target=_watch_progress, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _progress.bar_is_shown = False


def _watch_progress(over: threading.Event) -> None:
    """Wait for a task that takes long, show it until it ends, and wait again."""
    while not over.wait(EVERY_SECONDS):
        state = _progress.state()
        if state is not None and state.seconds >= FIRST_SECONDS:
            _show_bar(over)


def _show_bar(over: threading.Event) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(24), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("", total=None, left="")
        while (state := _progress.state()) is not None:
            left = "" if state.seconds_left is None else f"about {_time(state.seconds_left)} left"
            text = f"{state.task}, {_time(state.seconds)}" + (f": {state.step}" if state.step else "")
            total = None if state.fraction is None else 1.0
            progress.update(task, description=escape(text), completed=state.fraction or 0.0, total=total, left=left)
            if over.wait(EVERY_SECONDS):
                return


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
