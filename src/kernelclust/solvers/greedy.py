"""solver="greedy": starts, point moves and placement, in the two ways of searching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from kernelclust._names import check_name
from kernelclust._solution import Solution
from kernelclust._threads import one_thread
from kernelclust.kernels import DenseKernel, LowRankKernel
from kernelclust.objectives import Dependence
from kernelclust.solvers import starts
from kernelclust.solvers._climb import climb
from kernelclust.solvers._problem import Options, Problem
from kernelclust.solvers.placement import RESTARTS, best_placement, placement_problem

PARAMETERS = ()
INITS = ("auto", "spectral", "projected", "k-means++", "random")
SEARCHES = ("refine", "place", "global")
STARTS = 10
AUTO_STARTS = 20
ROUNDS = 20  # perturbations of the best start of "auto"
SUBSAMPLE = 3000  # samples that "auto" tries its starts on
POLISH_ALL = 2000  # up to so many samples every start of "auto" is finished on the kernel itself
POLISH = 3  # beyond, so many at most, and only those within CLOSE of the best
CLOSE = 0.01
QUICK = 1e-6  # tol while only the best start is sought
QUICK_RESTARTS = 3  # and restarts of the search for places


def solve(problem: Problem, options: Options, rng: np.random.RandomState) -> Solution:
    """Find labels with a large F.

    "refine": the best labeling without structure, placed on the nodes, then improved with F. "place": the same, not
    improved. "global": F from every start, point moves alternated with placement by F.
    """
    check_name("search", options.search, SEARCHES)
    if options.search == "global":
        return _best_start(problem, _structured(problem, options), options, rng)
    flat = _best_start(problem, _Climber(problem.flat, options.climbing), options, rng)
    if _same_objective(problem.flat, problem.objective):
        return flat
    options.report(f"flat: F = {flat.value:.6g} after {flat.n_iter} sweeps; placing and refining")
    placing = placement_problem(options.placement, problem.objective, flat.cluster_sums, problem.sizes(flat.labels))
    node = best_placement(placing)
    order = np.argsort(node)
    if options.search == "place":
        S, n = flat.cluster_sums[np.ix_(order, order)], problem.sizes(node[flat.labels])
        value = problem.objective.value(S, n)
        return replace(flat, labels=node[flat.labels], value=value, cluster_sums=S, history=[value])
    running = np.ascontiguousarray(flat.running[order])
    refined = climb(problem.kernel, problem.objective, node[flat.labels], running=running, **options.climbing)
    stopped = "converged" if flat.converged and refined.converged else "max_iter"
    return replace(refined, n_iter=flat.n_iter + refined.n_iter, stopped_because=stopped)


@dataclass(frozen=True)
class _Climber:
    """An objective with the way to climb it; `prepare` places a start that knows no structure."""

    objective: Dependence
    climbing: dict[str, Any]
    prepare: Callable[[DenseKernel | LowRankKernel, np.ndarray], np.ndarray] | None = None

    def __call__(self, kernel: DenseKernel | LowRankKernel, labels: np.ndarray) -> Solution:
        if self.prepare is not None:
            labels = self.prepare(kernel, labels)
        return climb(kernel, self.objective, labels, **self.climbing)


def _structured(problem: Problem, options: Options, restarts: int = RESTARTS) -> _Climber:
    objective = problem.objective

    def by_value(S: np.ndarray, n: np.ndarray) -> np.ndarray:
        return best_placement(placement_problem("F", objective, S, n), restarts)

    def prepare(kernel, labels: np.ndarray) -> np.ndarray:
        S = kernel.cluster_sums(labels, objective.n_clusters)
        n = np.bincount(labels, kernel.weight, minlength=objective.n_clusters)
        return best_placement(placement_problem(options.placement, objective, S, n), restarts)[labels]

    return _Climber(objective, options.climbing | {"placement": by_value}, prepare)


def _same_objective(one: Dependence, other: Dependence) -> bool:
    same = np.array_equal(one.A, other.A) and np.array_equal(one.T, other.T)
    return same and _numbers(one) == _numbers(other)


def _numbers(one: Dependence) -> tuple:
    return one.normalize, one.coef, one.penalty, one.size_prior


def _best_start(problem: Problem, climber: _Climber, options: Options, rng) -> Solution:
    """Climb from several starts and keep the best by value; equal values keep the earlier start."""
    kernel, c = problem.kernel, climber.objective.n_clusters
    E = problem.spectrum.embedding
    if not isinstance(options.init, str):
        labels = options.init
        labels = labels if options.allow_empty else starts.fill_empty(labels, E, c)
        return replace(climber, prepare=None)(kernel, labels)
    check_name("init", options.init, INITS, also=", or an array of labels")
    number = _count(options.init, options.n_init)
    if options.init == "auto":
        return _auto(problem, climber, number, options, rng)
    candidates = [_start(options.init, problem, E, climber.objective, rng) for _ in range(number)]
    return _best(_climb_all(kernel, climber, candidates, E, options.n_jobs), options)


def _count(init: str, n_init: int | str) -> int:
    if isinstance(n_init, str):
        check_name("n_init", n_init, ["auto"], also=", or a whole number")
        return {"spectral": 1, "auto": AUTO_STARTS}.get(init, STARTS)
    if not isinstance(n_init, (int, np.integer)) or isinstance(n_init, bool) or n_init < 1:
        raise ValueError(f"n_init={n_init!r}: give a whole number of starts, 1 or more, or 'auto'.")
    return 1 if init == "spectral" else int(n_init)


def check_start(init: Any, n_samples: int, n_clusters: int) -> np.ndarray:
    """Labels given as a start: one integer a sample, 0 to c - 1."""
    try:
        labels = np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must hold whole numbers from 0 to {n_clusters - 1}, one a sample.") from error
    if labels.shape != (n_samples,):
        raise ValueError(f"init holds labels of shape {labels.shape}; give one for each of the {n_samples} samples.")
    if not np.all((labels >= 0) & (labels < n_clusters) & (labels == np.floor(labels))):
        raise ValueError(f"init must hold whole numbers from 0 to {n_clusters - 1}.")
    return labels.astype(np.intp)


def _start(init: str, problem: Problem, E: np.ndarray, objective: Dependence, rng) -> np.ndarray:
    c = objective.n_clusters
    if init == "spectral":
        return starts.spectral_start(problem.spectrum, c)
    if init == "projected":
        return starts.projected_start(problem.spectrum, objective.A, rng)
    if init == "k-means++":
        return starts.plus_plus_start(E, problem.kernel.weight, c, rng)
    return starts.random_start(len(E), c, rng)


def _climb_all(kernel, climber: _Climber, candidates: Sequence[np.ndarray], E, n_jobs) -> list[Solution]:
    def run(labels: np.ndarray) -> Solution:
        return climber(kernel, starts.fill_empty(labels, E, climber.objective.n_clusters))

    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(run)(labels) for labels in candidates)


def _best(solutions: list[Solution], options: Options) -> Solution:
    for number, solution in enumerate(solutions):
        options.report(
            f"start {number}: F = {solution.value:.6g} after {solution.n_iter} sweeps, {solution.stopped_because}"
        )
    return max(solutions, key=lambda solution: solution.value)


def _auto(problem: Problem, climber: _Climber, number: int, options: Options, rng) -> Solution:
    """Try many starts where it is cheap, in the kernel's leading eigenvectors (and on a subsample of a large set),
    then finish the best of them on the kernel itself."""
    kernel, objective = problem.kernel, climber.objective
    c = objective.n_clusters
    E = problem.spectrum.embedding
    m = len(E)
    chosen = np.arange(m) if m <= SUBSAMPLE else np.sort(rng.choice(m, SUBSAMPLE, replace=False))
    spectrum = problem.spectrum.at(chosen)
    with one_thread():
        small = LowRankKernel(E[chosen], kernel.weight[chosen])
        candidates = [starts.spectral_start(spectrum, c)]
        candidates += [starts.plus_plus_start(small.B, small.weight, c, rng) for _ in range(number)]
        if climber.prepare is not None and c > 2:
            candidates += [starts.projected_start(spectrum, objective.A, rng) for _ in range(number)]
        quick = climber if climber.prepare is None else _structured(problem, options, QUICK_RESTARTS)
        quick = replace(quick, climbing=quick.climbing | {"tol": max(options.tol, QUICK)})
        tried = _climb_all(small, quick, candidates, small.B, options.n_jobs)
        tried.append(_perturb(small, quick, max(tried, key=lambda solution: solution.value), rng))
    tried = _distinct(sorted(tried, key=lambda solution: -solution.value))
    for rank, solution in enumerate(tried):
        options.report(f"start {rank}: F = {solution.value:.6g} in the leading eigenvectors")
    close = [solution for solution in tried if solution.value >= tried[0].value - CLOSE * abs(tried[0].value)]
    kept = [solution.labels for solution in (tried if m <= POLISH_ALL else close[:POLISH])]
    if m > SUBSAMPLE:
        kept = [_extend(E - small.offset, small, labels, objective) for labels in kept]
    placed = replace(climber, prepare=None)  # they have their places already
    return _best(_climb_all(kernel, placed, kept, E, options.n_jobs), options)


def _perturb(kernel: LowRankKernel, climber: _Climber, best: Solution, rng) -> Solution:
    """Shake a solution: climb on a few samples, which moves the borders a little, take that to all samples, climb
    again; keep what is better. Finds the best of many nearly equal optima where more starts would be needed."""
    m, objective = kernel.n_samples, climber.objective
    c = objective.n_clusters
    again = replace(climber, prepare=None)
    size = min(m // 2, max(10 * c, m // 20))
    for _ in range(ROUNDS if size >= 2 * c else 0):
        chosen = np.sort(rng.choice(m, size, replace=False))
        if len(np.unique(best.labels[chosen])) < c:
            continue
        few = LowRankKernel(kernel.B[chosen], kernel.weight[chosen])
        shaken = again(few, best.labels[chosen])
        labels = starts.fill_empty(_extend(kernel.B - few.offset, few, shaken.labels, objective), kernel.B, c)
        solution = again(kernel, labels)
        if solution.value > best.value:
            best = solution
    return best


def _distinct(solutions: list[Solution]) -> list[Solution]:
    """Solutions in descending order of value, without those that repeat a value."""
    kept = solutions[:1]
    for solution in solutions[1:]:
        if kept[-1].value - solution.value > 1e-9 * abs(kept[-1].value):
            kept.append(solution)
    return kept


def _extend(E: np.ndarray, small: LowRankKernel, labels: np.ndarray, objective: Dependence) -> np.ndarray:
    """Labels of all samples from those of a subsample: each where F rises most."""
    c = objective.n_clusters
    sums = small.feature_sums(labels, c)
    n = np.bincount(labels, small.weight, minlength=c)
    M, h = objective.slopes(sums @ sums.T, n)
    return np.argmax(E @ (sums.T @ M) + np.where(n > 0, h, -np.inf), axis=1)
