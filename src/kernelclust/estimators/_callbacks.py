"""Send the stages of a fit, and the parts of long work, to callbacks of scikit-learn (1.9 and later)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelclust._progress import STAGE_NAMES, overall_progress, progress_listener, working

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """There is nothing to support."""

    def with_callbacks(method: Any) -> Any:
        return method


STAGE_BEGINS = (0.0, 0.5, 0.6, 0.9)  # rough fractions of the time of a fit that have passed when a stage begins


def run_with_callbacks(callbacks: Any, name: str, work: Callable[[Tasks], Any]) -> Any:
    """Return `work(tasks)`; callbacks get the tasks that it starts, under this name."""
    owner = type(name, (CallbackSupportMixin,), {})()
    if callbacks is not None:
        if not hasattr(owner, "set_callbacks"):
            raise ValueError("callbacks need scikit-learn 1.9 or later: pip install -U scikit-learn.")
        owner.set_callbacks(*callbacks)

    def run(owner: Any) -> Any:
        with Tasks(owner) as tasks, working(name), progress_listener(None):
            return work(tasks)

    return with_callbacks(run)(owner)


class Tasks:
    """Tasks one after the other, each a subtask of the owner's callbacks: a `Listener` of the stages of a fit.

    A call with a number begins that task, and ends the one before; going back begins nothing.
    """

    def __init__(self, owner: Any, **data: Any):
        self.owner, self.data = owner, data
        self.names: Sequence[str] = ()
        self.begins: list[float] = []
        self.context: Any = None
        self.current: Any = None
        self.number = -1

    @classmethod
    def of_fit(cls, model: Any, X: Any, y: Any) -> Tasks:
        tasks = cls(model, X=X, y=y)
        tasks.start(STAGE_NAMES, STAGE_BEGINS)
        return tasks

    def start(self, names: Sequence[str], begins: Sequence[float] | None = None) -> None:
        """Announce the tasks; `begins` are the fractions of the time that have passed when they begin."""
        self.names = names
        self.begins = [*([k / len(names) for k in range(len(names))] if begins is None else begins), 1.0]
        if hasattr(self.owner, "_init_callback_context"):
            self.context = self.owner._init_callback_context(max_subtasks=len(names))
            self.context.call_on_fit_task_begin(estimator=self.owner, **self.data)

    def next(self) -> None:
        """Begin the next task, if there is one."""
        if self.number + 1 < len(self.names):
            self(self.number + 1)

    def __call__(self, number: int) -> None:
        if number <= self.number:
            return
        self.number = number
        overall_progress(self.begins[number], 1)
        if self.context is not None:
            self._end()
            self.current = self.context.subcontext(task_name=self.names[number])
            self.current.call_on_fit_task_begin(estimator=self.owner)

    def stage_progress(self, fraction: float) -> None:
        """Set how much of the current task is done."""
        if self.number >= 0:
            begin, end = self.begins[self.number : self.number + 2]
            overall_progress(begin + fraction * (end - begin), 1)

    def __enter__(self) -> Tasks:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self.context is not None and kind is None:
            self._end()
            self.context.call_on_fit_task_end(estimator=self.owner, reconstruction_attributes=dict, **self.data)

    def _end(self) -> None:
        if self.current is not None:
            self.current.call_on_fit_task_end(estimator=self.owner)
            self.current = None
