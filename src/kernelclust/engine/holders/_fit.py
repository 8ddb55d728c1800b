"""A fit of samples that lie elsewhere: the search on some of them, rounds over all, and the same judgement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelclust._progress import progress_listener, set_step
from kernelclust.engine._config import FitConfig
from kernelclust.engine._fit import fit
from kernelclust.engine._judge import Certificate, Fit, judge_all, numbering
from kernelclust.engine.holders._moves import centred
from kernelclust.engine.holders._rounds import Climbed, Pool, climb
from kernelclust.engine.holders._subsample import Subsample
from kernelclust.kernels import Approximation

DRIFT = 1e-6  # of totals that calls for new sums of all samples


class Holder(ABC):
    """Samples with weights and known labels, wherever they lie."""

    approximation: Approximation | None = None  # of the kernel that all are compared by

    @abstractmethod
    def some(self, request: FitConfig, rng: np.random.RandomState) -> Subsample:
        """Look at all samples, and return some of them."""

    @abstractmethod
    def pool(self, some: Subsample, start: Fit, climbing: dict[str, Any]) -> Pool:
        """Return all samples, with labels by the fit of some."""


def fit_all(holder: Holder, request: FitConfig) -> Fit:
    """Fit all samples of a holder."""
    rng = check_random_state(request.random_state)
    some = holder.some(request, rng)
    set_step("{} samples, by the ordinary engine", len(some.w))
    kernel = request.kernel["kernel"]
    kernel = kernel if some.gamma is None else kernel.with_gamma(some.gamma)
    settings = {"kernel": kernel, "approximation": holder.approximation}
    with progress_listener(None):  # stages of the start are not those of the whole
        asked = replace(request, kernel=settings, random_state=rng)
        start = fit(some.X, some.w, asked, some.constraints(request.structure.n_clusters))
    climbing = request.solver.climbing(request.run) | {"report": request.run.report}
    return go_on(holder.pool(some, start, climbing), some, start, request.objective.rule, climbing)


def go_on(
    pool: Pool,
    some: Subsample,
    start: Fit,
    rule: str,
    climbing: dict[str, Any],
    relearn: Callable[[Any, bool], bool] | None = None,
) -> Fit:
    """Move all samples from where they are, until none moves, and judge the fit.

    `relearn(pool, moved)` changes the kernel whenever samples no longer move, and says whether to go on.
    """
    objective = start.moving_objective
    done = climb(pool, objective, **climbing)
    while relearn is not None and relearn(pool, len(done.history) > 1):
        done = climb(pool, objective, **climbing)
    set_step("F by a new pass over all samples")
    drift, n_iter = pool.settle(), pool.rounds_before + len(done.history) - 1
    climbing["report"](f"sums have drifted by {drift:.1e} of the largest")
    if drift > DRIFT:
        set_step("one more pass over all samples")
        pool.fresh()
        again = climb(pool, objective, **climbing)
        done = replace(again, history=[*done.history[:-1], *again.history])
        n_iter += len(again.history) - 1
        pool.settle()
    return _judged(pool, some, start, rule, done, n_iter)


def _judged(pool: Pool, some: Subsample, start: Fit, rule: str, done: Climbed, n_iter: int) -> Fit:
    (raw, n), movable = pool.totals(), some.movable(pool.c)
    node = numbering(start.structure, start.objective, centred(raw, n, pool.center), n, movable=movable)
    order = np.argsort(node)
    pool.renumber(order)
    set_step("bounds and places")
    bounds, trace = pool.bounds()
    if some.every and pool.same_kernel:
        bounds = np.minimum(bounds, start.spectrum.bounds)
    raw, n = pool.totals()
    S, history = centred(raw, n, pool.center), done.history
    if some.every:
        history = [*start.solution.history, *history[1:]]
    elif start.solution.placed:
        history = [start.objective.value(S, n)]
    whole = pool.finish(some, start.moving_objective)
    return judge_all(
        start,
        whole.few_labels,
        S,
        n,
        rule=rule,
        order=order,
        movable=movable,
        certificate=Certificate(bounds, trace, some.lightest),
        centred=pool.center,
        history=history,
        n_iter=n_iter,
        stopped_because=done.stopped_because,
        gamma=some.gamma,
        whole=whole,
    )
