"""Callbacks of scikit-learn (1.9 and later): the stages of a fit, and the parts of long work, are told to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelclust._progress import STAGE_NAMES, hearing, part, working

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """There is nothing to support."""

    def with_callbacks(method: Any) -> Any:
        return method


def told_to(callbacks: Any, name: str, work: Callable[[Tasks], Any]) -> Any:
    """What `work(tasks)` returns, its parts told to callbacks under this name once it has started them."""
    owner = type(name, (CallbackSupportMixin,), {})()
    if callbacks is not None:
        if not hasattr(owner, "set_callbacks"):
            raise ValueError("callbacks need scikit-learn 1.9 or later: pip install -U scikit-learn.")
        owner.set_callbacks(*callbacks)

    def run(owner: Any) -> Any:
        with Tasks(owner) as tasks, working(name), hearing(None):
            return work(tasks)

    return with_callbacks(run)(owner)


SHARES = (0.0, 0.5, 0.6, 0.9)  # of the time of a fit that has passed when a stage begins, roughly


class Tasks:
    """Parts of some work, one after the other: each is a subtask of the owner's callbacks.

    A call with a number begins that part, and ends the one before; going back begins nothing.
    """

    def __init__(self, owner: Any, **about: Any):
        self.owner, self.about = owner, about
        self.names: Sequence[str] = ()
        self.shares: Sequence[float] = ()
        self.root: Any = None
        self.now: Any = None
        self.number = -1

    @classmethod
    def of_fit(cls, model: Any, X: Any, y: Any) -> Tasks:
        tasks = cls(model, X=X, y=y)
        tasks.start(STAGE_NAMES, SHARES)
        return tasks

    def start(self, names: Sequence[str], shares: Sequence[float] | None = None) -> None:
        """The parts that there are; `shares` of the time have passed when they begin."""
        self.names = names
        self.shares = [k / len(names) for k in range(len(names))] if shares is None else shares
        if hasattr(self.owner, "_init_callback_context"):
            self.root = self.owner._init_callback_context(max_subtasks=len(names))
            self.root.call_on_fit_task_begin(estimator=self.owner, **self.about)

    def __enter__(self) -> Tasks:
        return self

    def next(self) -> None:
        """Begin the next part, if there is one."""
        if self.number + 1 < len(self.names):
            self(self.number + 1)

    def __call__(self, number: int) -> None:
        if number <= self.number:
            return
        self.number = number
        part(self.shares[number], 1)
        if self.root is not None:
            self._end()
            self.now = self.root.subcontext(task_name=self.names[number])
            self.now.call_on_fit_task_begin(estimator=self.owner)

    def within(self, share: float) -> None:
        """So much of the part is done."""
        now, after = [*self.shares, 1.0][self.number : self.number + 2] if self.number >= 0 else (0.0, 0.0)
        part(now + share * (after - now), 1)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self.root is not None and kind is None:
            self._end()
            self.root.call_on_fit_task_end(estimator=self.owner, reconstruction_attributes=dict, **self.about)

    def _end(self) -> None:
        if self.now is not None:
            self.now.call_on_fit_task_end(estimator=self.owner)
            self.now = None
