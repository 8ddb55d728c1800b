"""A bar with the time left, on a terminal, for whatever takes more than two seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from kernelclust import _progress

FIRST, EVERY = 2.0, 0.2  # seconds until it appears, and between two looks


@contextlib.contextmanager
def bar(*, quiet: bool) -> Iterator[None]:
    """Inside, long work is shown while stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    over, _progress.shown = threading.Event(), True
    watcher = threading.Thread(target=_watch, args=(over,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        _progress.shown = False


def _watch(over: threading.Event) -> None:
    """Wait for work that takes long, show it until it ends, and wait again."""
    while not over.wait(EVERY):
        now = _progress.state()
        if now is not None and now.seconds >= FIRST:
            _show(over)


def _show(over: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(24), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as shown:
        task = shown.add_task("", total=None, left="")
        while (now := _progress.state()) is not None:
            left = "" if now.left is None else f"about {_time(now.left)} left"
            share = None if now.share is None else 100 * now.share
            text = f"{now.what}, {_time(now.seconds)}" + (f": {now.step}" if now.step else "")
            total = None if share is None else 100
            shown.update(task, description=_plain(text), completed=share or 0, total=total, left=left)
            if over.wait(EVERY):
                return


def _plain(text: str) -> str:
    """Text whose brackets are no markup."""
    from rich.markup import escape

    return escape(text)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
