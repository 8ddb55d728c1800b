"""One fit, wherever samples lie: search some of them, raise F over all of them in rounds, judge the result.

A `Holder` has the samples: in memory (`InMemory`), on a device or in partitions (`holders/`). In a round the same
cluster sums judge every sample, the samples that gain move together, and F is checked to rise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelclust._progress import log_round, progress_listener, set_step
from kernelclust.constraints import Constraints, make_constraints
from kernelclust.engine._config import FitConfig, distance_exponent
from kernelclust.engine._fit import search
from kernelclust.engine._judge import Fit, certificate, numbering
from kernelclust.engine._moves import Centring, centred
from kernelclust.engine._places import Whole
from kernelclust.kernels import Approximation, FittedKernel, Kernel, Spectrum
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import placement_margin, placement_problem

MIN_SUBSAMPLE, PER_CLUSTER = 2500, 50  # samples that a search begins with: so many, or so many a cluster
DRIFT_TOL = 1e-6  # of the largest total: beyond, the cluster sums of all samples are computed again
ROUND = "round %d over %d samples: F = %.6g, %d moved"


class Subsample(ABC):
    """Samples in memory that the search of a fit sees."""

    X: Any
    weight: np.ndarray  # (k,)

    @abstractmethod
    def search(self, config: FitConfig) -> Fit:
        """Return the judged fit of these samples."""


class Holder(ABC):
    """Samples with weights and known labels, wherever they lie."""

    @abstractmethod
    def draw(self, config: FitConfig, rng: np.random.RandomState) -> Any:
        """Return the `Subsample` that the search sees."""

    @abstractmethod
    def pool(self, subsample: Any, start: Fit, climbing: dict[str, Any]) -> Pool | None:
        """Return all samples, labelled by the fit of the subsample; None where the search has seen all of them."""


@dataclass(frozen=True)
class InMemory(Holder, Subsample):
    """Samples of positive weight in memory: the search sees all of them, with all that is known about them.

    `kernel` is theirs, where it has been computed already (X may then be None), and `spectrum` is the kernel's, from a
    fit with as many clusters or more.
    """

    X: Any
    weight: np.ndarray
    known: Constraints | None = None
    kernel: FittedKernel | None = None
    spectrum: Spectrum | None = None

    def draw(self, config, rng):
        return self

    def search(self, config):
        return search(self.X, self.weight, config, self.known, self.kernel, self.spectrum)

    def pool(self, subsample, start, climbing):
        return None


@dataclass(frozen=True)
class Drawn(Subsample):
    """Some of many samples (k), copied into memory."""

    index: np.ndarray  # (k,) of all samples
    X: np.ndarray  # (k, d)
    weight: np.ndarray  # (k,)
    y: np.ndarray  # (k,) known labels, -1 for none
    known_nodes: np.ndarray  # known labels of all samples, each once
    is_all: bool  # whether these are all samples that count
    min_weight: float  # of all samples that count
    gamma: float | None
    rng: np.random.RandomState
    approximation: Approximation | None = None  # of the kernel that all samples are compared by

    def constraints(self, n_clusters: int) -> Constraints | None:
        return None if (self.y < 0).all() else make_constraints(self.weight, n_clusters, labels=self.y)

    def movable(self, n_clusters: int) -> np.ndarray:
        """Return which clusters (c,) have no known label."""
        return ~np.isin(np.arange(n_clusters), self.known_nodes)

    def search(self, config):
        set_step("{} samples, in memory", len(self.weight))
        kernel = config.kernel["kernel"]
        kernel = kernel if self.gamma is None else kernel.with_gamma(self.gamma)
        settings = {"kernel": kernel, "approximation": self.approximation}
        config = replace(config, kernel=settings, random_state=self.rng)
        with progress_listener(None):  # its stages are not those of the whole fit
            return search(self.X, self.weight, config, self.constraints(config.structure.n_clusters))


def subsample_size(n_clusters: int, kernel: type[Kernel] | Kernel = Kernel) -> int:
    """Return the number of samples that a search begins with."""
    return max(MIN_SUBSAMPLE, kernel.start_samples, PER_CLUSTER * n_clusters)


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
    def finish(self, subsample: Drawn, start: Fit) -> Whole:
        """Return what is known of all samples at their final labels; `start` is the fit of the subsample."""

    @property
    def centring(self) -> Centring:
        return Centring.of(*self.totals(), self.center)


# -- the fit ----------------------------------------------------------------------------------------------------------


def fit(holder: Holder, config: FitConfig, inspect: Callable[[Any, np.ndarray], None] = lambda X, weight: None) -> Fit:
    """Fit all samples of a holder; `inspect` sees the samples and weights of the subsample before its search."""
    rng = check_random_state(config.random_state)
    subsample = holder.draw(config, rng)
    inspect(subsample.X, subsample.weight)
    start = subsample.search(config)
    climbing = config.solver.climbing(config.run) | {"report": config.run.report}
    pool = holder.pool(subsample, start, climbing)
    return start if pool is None else go_on(pool, subsample, start, config.objective.rule, climbing)


def go_on(
    pool: Pool,
    subsample: Drawn,
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
    set_step("recomputing F over all samples")
    drift, n_iter = pool.settle(), pool.rounds_before + len(done.history) - 1
    climbing["report"](f"cluster sums have drifted by {drift:.1e} of the largest")
    if drift > DRIFT_TOL:
        set_step("correcting the sums by one more pass over all samples")
        pool.fresh()
        again = climb(pool, objective, **climbing)
        done = replace(again, history=[*done.history[:-1], *again.history])
        n_iter += len(again.history) - 1
        pool.settle()
    return _judged(pool, subsample, start, rule, done, n_iter)


def _judged(pool: Pool, subsample: Drawn, start: Fit, rule: str, done: Climbed, n_iter: int) -> Fit:
    """Return the fit of all samples, with the evidence about the order of the start."""
    (raw, n), movable, objective = pool.totals(), subsample.movable(pool.c), start.objective
    order = np.argsort(numbering(start.structure, objective, centred(raw, n, pool.center), n, movable=movable))
    pool.renumber(order)
    set_step("bounds and places")
    bounds, trace = pool.bounds()
    if subsample.is_all and pool.same_kernel:
        bounds = np.minimum(bounds, start.spectrum.bounds)
    raw, n = pool.totals()
    S, history, n_iter = centred(raw, n, pool.center), done.history, start.solution.n_iter + n_iter
    value, stopped = objective.value(S, n), done.stopped_because
    if subsample.is_all:
        history = [*start.solution.history, *history[1:]]
    elif start.solution.placed:
        history = [value]
    whole = pool.finish(subsample, start)
    power, judged = distance_exponent(start.kernel, start.structure), start.order
    placing = placement_problem(rule, objective, S, n, movable=movable, power=power)
    return replace(
        start,
        kernel=FittedKernel(start.kernel.operator, start.kernel.source, subsample.gamma or start.kernel.gamma),
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
        **certificate(bounds, trace, subsample.min_weight, objective, n, value, pool.center),
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
