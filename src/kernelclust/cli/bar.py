"""Show long work as a bar with the time left, on a terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from kernelclust import _progress

FIRST_SECONDS, EVERY_SECONDS = 2.0, 0.2  # until the bar appears, and between two updates


@contextlib.contextmanager
def bar(*, quiet: bool) -> Iterator[None]:
    """Show a bar for what takes long in the body, where stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    over, _progress.bar_is_shown = threading.Event(), True
    thread = threading.Thread(target=_watch, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _progress.bar_is_shown = False


def _watch(over: threading.Event) -> None:
    """Wait for a task that takes long, show it until it ends, and wait again."""
    while not over.wait(EVERY_SECONDS):
        state = _progress.state()
        if state is not None and state.seconds >= FIRST_SECONDS:
            _show(over)


def _show(over: threading.Event) -> None:
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
