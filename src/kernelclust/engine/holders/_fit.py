"""The protocol of holders, and the fit over it: the search on some samples, rounds over all, and the same judgement.

In a round every sample is judged by the same sums, those that gain move together, and F is seen to rise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelclust._arrays import like
from kernelclust._progress import log_round, progress_listener, set_step
from kernelclust.constraints import Constraints, make_constraints
from kernelclust.engine._config import FitConfig, distance_exponent
from kernelclust.engine._fit import fit
from kernelclust.engine._judge import Fit, certificate, numbering
from kernelclust.engine._places import Whole
from kernelclust.engine.holders._moves import Centring, centred, move_tables
from kernelclust.kernels import Approximation, FittedKernel, Kernel
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import placement_margin, placement_problem

START, EACH = 2500, 50  # samples that a search begins with, or so many a cluster
DRIFT = 1e-6  # of totals that calls for new sums of all samples
LEVELS = 16  # weights that are told apart; more of them are rounded in the judgement of moves, not in the sums
ROUND = "round %d over %d samples: F = %.6g, %d moved"


@dataclass(frozen=True)
class Subsample:
    """Samples (k) that a search begins with, on the host."""

    few: np.ndarray  # (k,) which of all samples they are
    X: np.ndarray  # (k, d)
    w: np.ndarray  # (k,)
    y: np.ndarray  # (k,) known labels, -1 for none
    places: np.ndarray  # known labels of all samples, each once
    every: bool  # whether these are all samples that count
    lightest: float  # weight of all samples that counts
    gamma: float | None
    rng: np.random.RandomState

    def constraints(self, n_clusters: int) -> Constraints | None:
        return None if (self.y < 0).all() else make_constraints(self.w, n_clusters, labels=self.y)

    def movable(self, n_clusters: int) -> np.ndarray:
        """Return which clusters (c,) have no known label."""
        return ~np.isin(np.arange(n_clusters), self.places)


def wanted(n_clusters: int, kernel: type[Kernel] | Kernel = Kernel) -> int:
    """Return the number of samples that a search begins with."""
    return max(START, kernel.start_samples, EACH * n_clusters)


class Holder(ABC):
    """Samples with weights and known labels, wherever they lie."""

    approximation: Approximation | None = None  # of the kernel that all are compared by

    @abstractmethod
    def some(self, config: FitConfig, rng: np.random.RandomState) -> Subsample:
        """Look at all samples, and return some of them."""

    @abstractmethod
    def pool(self, some: Subsample, start: Fit, climbing: dict[str, Any]) -> Pool:
        """Return all samples, with labels by the fit of some."""


class Pool(ABC):
    """All samples with labels, wherever they lie: in memory, on a device, in partitions.

    A round asks for proposals, tries some of them, and takes them or not. In the end the clusters are numbered, and the
    pool says what it alone can: similarities of samples, old and new, with the clusters.
    """

    c: int
    center: bool = True  # whether the kernel is centred; raw sums are not in any case
    same_kernel: bool = True  # whether bounds of the kernel that the search began with hold for it
    settled: float = 0.0  # rounds end when a smaller share of the samples moves
    rounds_before: int = 0  # rounds over a part of the samples, on the way to all of them

    @property
    @abstractmethod
    def n_samples(self) -> int: ...

    @abstractmethod
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return raw cluster sums S (c, c) and sizes n (c,) at the labels."""

    @abstractmethod
    def propose(self, objective: ClusterObjective, tol: float, allow_empty: bool) -> int:
        """Find moves by which F rises, every sample for itself, and return how many there are."""

    @abstractmethod
    def halve(self) -> int:
        """Keep the proposals that gain most, and return how many are left."""

    @abstractmethod
    def trial(self) -> tuple[np.ndarray, np.ndarray]:
        """Return S and n once all proposals were taken."""

    @abstractmethod
    def accept(self) -> None:
        """Take the proposals."""

    def settle(self) -> float:
        """Take totals from a new pass, and return how far those that moves kept current were from them, relative."""
        return 0.0

    def fresh(self) -> None:
        """Take the sums of all samples from a new pass."""
        raise NotImplementedError

    @abstractmethod
    def renumber(self, order: np.ndarray) -> None:
        """Let the cluster that is order[j] now be number j."""

    @abstractmethod
    def bounds(self) -> tuple[np.ndarray, float]:
        """Return upper bounds on the leading eigenvalues of the kernel of all samples, and its trace."""

    @abstractmethod
    def finish(self, some: Subsample, start: Fit) -> Whole:
        """Return what is known of all samples at their final labels; `start` is the fit of some."""

    @property
    def centring(self) -> Centring:
        return Centring.of(*self.totals(), self.center)


# -- the fit ----------------------------------------------------------------------------------------------------------


def fit_all(holder: Holder, config: FitConfig, inspect: Callable[[np.ndarray, np.ndarray], None]) -> Fit:
    """Fit all samples of a holder; `inspect` sees the samples and weights of the subsample before its fit."""
    rng = check_random_state(config.random_state)
    some = holder.some(config, rng)
    inspect(some.X, some.w)
    set_step("{} samples, by the ordinary engine", len(some.w))
    kernel = config.kernel["kernel"]
    kernel = kernel if some.gamma is None else kernel.with_gamma(some.gamma)
    settings = {"kernel": kernel, "approximation": holder.approximation}
    with progress_listener(None):  # stages of the start are not those of the whole
        asked = replace(config, kernel=settings, random_state=rng)
        start = fit(some.X, some.w, asked, some.constraints(config.structure.n_clusters))
    climbing = config.solver.climbing(config.run) | {"report": config.run.report}
    return go_on(holder.pool(some, start, climbing), some, start, config.objective.rule, climbing)


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
    """Return the fit of all samples, with the evidence about the order of the start."""
    (raw, n), movable, objective = pool.totals(), some.movable(pool.c), start.objective
    order = np.argsort(numbering(start.structure, objective, centred(raw, n, pool.center), n, movable=movable))
    pool.renumber(order)
    set_step("bounds and places")
    bounds, trace = pool.bounds()
    if some.every and pool.same_kernel:
        bounds = np.minimum(bounds, start.spectrum.bounds)
    raw, n = pool.totals()
    S, history, n_iter = centred(raw, n, pool.center), done.history, start.solution.n_iter + n_iter
    value, stopped = objective.value(S, n), done.stopped_because
    if some.every:
        history = [*start.solution.history, *history[1:]]
    elif start.solution.placed:
        history = [value]
    whole = pool.finish(some, start)
    power, judged = distance_exponent(start.kernel, start.structure), start.order
    placing = placement_problem(rule, objective, S, n, movable=movable, power=power)
    return replace(
        start,
        kernel=FittedKernel(start.kernel.operator, start.kernel.source, some.gamma or start.kernel.gamma),
        solution=replace(start.solution, value=value, n_iter=n_iter, history=history, stopped_because=stopped),
        labels=whole.few_labels,
        S=S,
        n=n,
        value=value,
        placement_margin=placement_margin(placing),
        placing=placing,
        order=None if judged is None else judged.renumbered(np.argsort(order)),
        structures=None if start.structures is None else start.structures.renumbered(np.argsort(order)),
        kernel_times_labels=None,
        whole=whole,
        **certificate(bounds, trace, some.lightest, objective, n, value, pool.center),
    )


@dataclass(frozen=True)
class Climbed:
    """Result of the rounds: raw S and n, and F after every round."""

    S: np.ndarray
    n: np.ndarray
    history: list[float] = field(default_factory=list)
    stopped_because: str = "max_iter"


def climb(
    pool: Pool,
    objective: ClusterObjective,
    *,
    max_iter: int = 100,
    tol: float = 1e-10,
    allow_empty: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> Climbed:
    """Raise F by rounds of moves until none gains more than `tol` times the sum of the absolute terms of F.

    Moves that gain one by one may lose together: then the half of them that gains most is tried, and so on down to a
    single one, which gains what it promised. So F never falls.
    """
    S, n = pool.totals()
    history = [objective.value(centred(S, n, pool.center), n)]
    for number in range(max_iter):
        set_step("searching: F = {:.6g} after {} rounds over all samples", history[-1], number)
        left = pool.propose(objective, tol, allow_empty)
        while left:
            S_new, n_new = pool.trial()
            emptied = not allow_empty and bool(((n_new <= 0) & (n > 0)).any())
            value = -np.inf if emptied else objective.value(centred(S_new, n_new, pool.center), n_new)
            if value > history[-1]:
                break
            left = pool.halve() if left > 1 else 0
        if not left:
            return Climbed(S, n, history, "converged")
        pool.accept()
        S, n = S_new, n_new
        history.append(value)
        log_round(report, ROUND, number + 1, pool.n_samples, value, left)
        if left <= pool.settled * pool.n_samples:
            return Climbed(S, n, history, "converged")
    return Climbed(S, n, history)


def tables_of(pool: Pool, objective: ClusterObjective, levels: np.ndarray, tol: float, allow_empty: bool):
    """Return tables for samples of these weights, and the least gain that counts."""
    S, n = pool.totals()
    tables = tuple(move_tables(objective, S, n, float(weight), allow_empty) for weight in levels)
    return tables, tol * float(np.abs(centred(S, n) * objective.weights(n)).sum())


class LabelledPool(Pool):
    """Proposals (index, was, to, gain) for samples whose labels (m,) are at hand, arrays of the namespace xp."""

    xp: Any
    labels: Any
    c: int
    _allow_empty: bool
    _proposed: tuple[Any, ...] = ()

    @property
    def n_samples(self) -> int:
        return int(self.labels.shape[0])

    def _keep(self, index: Any, to: Any, gain: Any) -> None:
        """Keep proposals, but for one of each cluster that all its samples would leave: the one that gains least."""
        xp, was = self.xp, self.xp.take(self.labels, index)
        if not self._allow_empty and index.shape[0]:
            for j in range(self.c):
                leaving = int(xp.sum(xp.astype(was == j, xp.int64)))
                coming = int(xp.sum(xp.astype(to == j, xp.int64)))
                if leaving and not coming and leaving == int(xp.sum(xp.astype(self.labels == j, xp.int64))):
                    stays = xp.argmin(xp.where(was == j, gain, xp.full_like(gain, np.inf)))  # one of them
                    goes = xp.nonzero(xp.arange(was.shape[0], device=was.device) != stays)[0]
                    index, was, to, gain = (xp.take(one, goes) for one in (index, was, to, gain))
        self._proposed = index, was, to, gain

    def halve(self):
        xp, (index, _, to, gain) = self.xp, self._proposed
        best = xp.argsort(gain, descending=True, stable=True)[: max(1, index.shape[0] // 2)]
        best = xp.sort(best)
        self._keep(xp.take(index, best), xp.take(to, best), xp.take(gain, best))
        return self._proposed[0].shape[0]


def put(xp: Any, array: Any, index: Any, values: Any) -> Any:
    """Return a copy of the array with values at an index that rises; the array API knows no such assignment."""
    every = xp.arange(array.shape[0], dtype=index.dtype, device=array.device)
    rank = xp.searchsorted(index, every)
    rank = xp.minimum(rank, xp.full_like(rank, index.shape[0] - 1))
    return xp.where(xp.take(index, rank) == every, xp.take(values, rank), array)


def weight_levels(different: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the levels that weights are rounded to, and the midpoints between two of them."""
    levels = different
    if len(different) > LEVELS:
        cuts = np.quantile(different, np.linspace(0, 1, LEVELS + 1))
        levels = np.sqrt(cuts[1:] * cuts[:-1])
    levels = np.sort(levels)
    return levels, (levels[1:] + levels[:-1]) / 2


def level_of(xp: Any, weight: Any, middle: np.ndarray) -> Any:
    """Return which level stands for the weight of each sample; None where there is but one."""
    if len(middle) == 0:
        return None
    return xp.searchsorted(like(middle, weight), weight)
