"""solver="greedy": starts, point moves and placement, in the two ways of searching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from kernelclust._names import check_name
from kernelclust._solution import Solution
from kernelclust.kernels import DenseKernel, LowRankKernel, Spectrum
from kernelclust.objectives import Dependence
from kernelclust.solvers import starts
from kernelclust.solvers._climb import climb
from kernelclust.solvers.placement import best_placement, placement_problem

INITS = ("auto", "spectral", "projected", "k-means++", "random")
SEARCHES = ("refine", "global")
STARTS = 10
AUTO_STARTS = 20
ROUNDS = 20  # perturbations of the best start of "auto"
SUBSAMPLE = 3000  # samples that "auto" tries its starts on
POLISH_ALL = 2000  # up to so many samples every start of "auto" is finished on the kernel itself
POLISH = 3  # beyond, so many at most, and only those within CLOSE of the best
CLOSE = 0.01
QUICK = 1e-6  # tol while only the best start is sought


@dataclass(frozen=True)
class Problem:
    """What a solver is given: the kernel and its spectrum, F, and F without structure."""

    kernel: DenseKernel | LowRankKernel
    spectrum: Spectrum
    objective: Dependence
    flat: Dependence


def solve(
    problem: Problem,
    *,
    search: str = "refine",
    placement: str = "distance",
    init: object = "auto",
    n_init: int | str = "auto",
    max_iter: int = 100,
    tol: float = 1e-10,
    allow_empty: bool = False,
    n_jobs: int | None = None,
    rng: np.random.RandomState,
    report: Callable[[str], None] = lambda line: None,
) -> Solution:
    """Find labels with a large F.

    "refine": the best labeling without structure, placed on the nodes, then improved with F. "global": F from every
    start, point moves alternated with placement by F.
    """
    check_name("search", search, SEARCHES)
    options: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "allow_empty": allow_empty}
    if search == "global":

        def rule(S: np.ndarray, n: np.ndarray) -> np.ndarray:
            return best_placement(placement_problem("F", problem.objective, S, n))

        def prepare(kernel, labels: np.ndarray) -> np.ndarray:
            return _placed(kernel, problem.objective, labels, placement)

        return _best_start(
            problem, problem.objective, init, n_init, rng, n_jobs, report, options | {"placement": rule}, prepare
        )
    flat = _best_start(problem, problem.flat, init, n_init, rng, n_jobs, report, options)
    if _same_objective(problem.flat, problem.objective):
        return flat
    report(f"flat: F = {flat.value:.6g} after {flat.n_iter} sweeps; placing and refining")
    n = np.bincount(flat.labels, problem.kernel.weight, minlength=problem.objective.n_clusters)
    node = best_placement(placement_problem(placement, problem.objective, flat.cluster_sums, n))
    running = np.ascontiguousarray(flat.running[np.argsort(node)])
    refined = climb(problem.kernel, problem.objective, node[flat.labels], running=running, **options)
    stopped = "converged" if flat.converged and refined.converged else "max_iter"
    return replace(refined, n_iter=flat.n_iter + refined.n_iter, stopped_because=stopped)


def _same_objective(one: Dependence, other: Dependence) -> bool:
    same = np.array_equal(one.A, other.A) and np.array_equal(one.T, other.T)
    return same and (one.normalize, one.coef, one.penalty) == (other.normalize, other.coef, other.penalty)


def _placed(kernel, objective: Dependence, labels: np.ndarray, rule: str) -> np.ndarray:
    c = objective.n_clusters
    S = kernel.cluster_sums(labels, c)
    n = np.bincount(labels, kernel.weight, minlength=c)
    return best_placement(placement_problem(rule, objective, S, n))[labels]


def _best_start(
    problem: Problem, objective: Dependence, init, n_init, rng, n_jobs, report, options: dict, prepare=None
) -> Solution:
    """Climb from several starts and keep the best by value; equal values keep the earlier start."""
    kernel, spectrum, c = problem.kernel, problem.spectrum, objective.n_clusters
    E = spectrum.embedding
    if not isinstance(init, str):
        labels = check_start(init, kernel.n_samples, c)
        labels = labels if options["allow_empty"] else starts.fill_empty(labels, E, c)
        return climb(kernel, objective, labels, **options)
    check_name("init", init, INITS, also=", or an array of labels")
    number = _count(init, n_init)
    if init == "auto":
        return _auto(problem, objective, number, rng, n_jobs, report, options, prepare)
    candidates = [_start(init, spectrum, E, kernel.weight, objective, rng) for _ in range(number)]
    return _climb_all(kernel, objective, candidates, E, n_jobs, report, options, prepare)


def _count(init: str, n_init: int | str) -> int:
    if isinstance(n_init, str):
        check_name("n_init", n_init, ["auto"], also=", or a whole number")
        return {"spectral": 1, "auto": AUTO_STARTS}.get(init, STARTS)
    if not isinstance(n_init, (int, np.integer)) or isinstance(n_init, bool) or n_init < 1:
        raise ValueError(f"n_init={n_init!r}: give a whole number of starts, 1 or more, or 'auto'.")
    return 1 if init == "spectral" else int(n_init)


def check_start(init, n_samples: int, n_clusters: int) -> np.ndarray:
    """Labels given as a start: one integer a sample, 0 to c - 1."""
    labels = np.asarray(init)
    if labels.shape != (n_samples,):
        raise ValueError(f"init holds labels of shape {labels.shape}; give one for each of the {n_samples} samples.")
    whole = labels.astype(np.intp) if np.issubdtype(labels.dtype, np.number) else None
    if whole is None or not np.array_equal(whole, labels) or whole.min() < 0 or whole.max() >= n_clusters:
        raise ValueError(f"init must hold whole numbers from 0 to {n_clusters - 1}.")
    return whole


def _start(init: str, spectrum: Spectrum, E, weight, objective: Dependence, rng) -> np.ndarray:
    c = objective.n_clusters
    if init == "spectral":
        return starts.spectral_start(spectrum, c)
    if init == "projected":
        return starts.projected_start(spectrum, objective.A, rng)
    if init == "k-means++":
        return starts.plus_plus_start(E, weight, c, rng)
    return starts.random_start(len(E), c, rng)


def _climb_all(kernel, objective, candidates: Sequence[np.ndarray], E, n_jobs, report, options, prepare) -> Solution:
    solutions = _solutions(kernel, objective, candidates, E, n_jobs, options, prepare)
    for number, solution in enumerate(solutions):
        report(f"start {number}: F = {solution.value:.6g} after {solution.n_iter} sweeps, {solution.stopped_because}")
    return max(solutions, key=lambda solution: solution.value)


def _solutions(kernel, objective, candidates, E, n_jobs, options, prepare) -> list[Solution]:
    c = objective.n_clusters

    def run(labels: np.ndarray) -> Solution:
        labels = starts.fill_empty(labels, E, c)
        if prepare is not None:
            labels = prepare(kernel, labels)
        return climb(kernel, objective, labels, **options)

    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(run)(labels) for labels in candidates)


def _auto(problem: Problem, objective, number: int, rng, n_jobs, report, options, prepare) -> Solution:
    """Try many starts where it is cheap, in the kernel's leading eigenvectors (and on a subsample of a large set),
    then finish the best of them on the kernel itself."""
    kernel, c = problem.kernel, objective.n_clusters
    E = problem.spectrum.embedding
    m = len(E)
    chosen = np.arange(m) if m <= SUBSAMPLE else np.sort(rng.choice(m, SUBSAMPLE, replace=False))
    spectrum = problem.spectrum.at(chosen)
    small = LowRankKernel(E[chosen], kernel.weight[chosen])
    candidates = [starts.spectral_start(spectrum, c)]
    candidates += [starts.plus_plus_start(small.B, small.weight, c, rng) for _ in range(number)]
    if prepare is not None and c > 2:
        candidates += [starts.projected_start(spectrum, objective.A, rng) for _ in range(number)]
    quick = options | {"tol": QUICK}
    tried = _solutions(small, objective, candidates, small.B, n_jobs, quick, prepare)
    tried.append(_perturb(small, objective, max(tried, key=lambda solution: solution.value), rng, quick))
    tried = _distinct(sorted(tried, key=lambda solution: -solution.value))
    for number, solution in enumerate(tried):
        report(f"start {number}: F = {solution.value:.6g} in the leading eigenvectors")
    close = [solution for solution in tried if solution.value >= tried[0].value - CLOSE * abs(tried[0].value)]
    kept = tried if m <= POLISH_ALL else close[:POLISH]
    if m <= SUBSAMPLE:
        labelings = [solution.labels for solution in kept]
    else:
        labelings = [_extend(E - small.offset, small, solution.labels, objective) for solution in kept]
    # placed already: only point moves and placement by F follow
    return _climb_all(kernel, objective, labelings, E, n_jobs, report, options, None)


def _perturb(kernel: LowRankKernel, objective: Dependence, best: Solution, rng, options: dict) -> Solution:
    """Shake a solution: climb on a few samples, which moves the borders a little, take that to all samples, climb
    again; keep what is better. Finds the best of many nearly equal optima where more starts would be needed."""
    m, c = kernel.n_samples, objective.n_clusters
    size = min(m // 2, max(10 * c, m // 20))
    for _ in range(ROUNDS if size >= 2 * c else 0):
        chosen = np.sort(rng.choice(m, size, replace=False))
        if len(np.unique(best.labels[chosen])) < c:
            continue
        few = LowRankKernel(kernel.B[chosen], kernel.weight[chosen])
        shaken = climb(few, objective, best.labels[chosen], **options)
        labels = starts.fill_empty(_extend(kernel.B - few.offset, few, shaken.labels, objective), kernel.B, c)
        solution = climb(kernel, objective, labels, **options)
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
