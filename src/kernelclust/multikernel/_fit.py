"""One fit of many kernels as a value: views in, kernel weights and a fit of the combined kernel out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernelclust._progress import KERNEL, SEARCH, set_stage
from kernelclust._solution import Solution
from kernelclust._warnings import each_once, warn
from kernelclust.constraints import Constraints
from kernelclust.engine import Fit, distance_exponent, judge, useful_spectrum, with_order
from kernelclust.kernels import (
    Approximation,
    FittedKernel,
    Kernel,
    WeightedSumKernel,
    as_kernel,
    fit_kernel,
)
from kernelclust.multikernel._base import Method, Relaxed, Task, make_task
from kernelclust.multikernel._prepare import Summed, check_informative, prepare
from kernelclust.multikernel._refine import Refined, cluster_sums, explained
from kernelclust.multikernel._search import Found, Search
from kernelclust.multikernel._together import Columns, beside, over_all_views, shared
from kernelclust.multikernel._views import Views, is_auto, kernels_of, pairwise_kernel
from kernelclust.objectives import Dependence, flat_objective
from kernelclust.solvers import Problem
from kernelclust.structures import Structure

DOMINANT = 0.9  # weight from which a kernel with next to no residual is reported
DEGENERATE = 0.01  # residual, as a share of the trace, that is next to none
LOW_RANK = 1e-6  # share of the trace that rounding may leave of a kernel of no more than c dimensions


@dataclass(frozen=True)
class MultiKernelConfig:
    """Checked settings of a fit; parameters as in `MultiKernelClustering`."""

    structure: Structure
    method: Method
    kernel: Any = "auto"
    approximation: Approximation | str | None = "auto"
    objective: Dependence = field(default_factory=Dependence)
    max_iter: int = 100
    random_state: Any = None
    confidence: bool = True
    report: Callable[[str], None] = lambda line: None


@dataclass(frozen=True)
class ManyFit:
    """Kernel weights and how they were reached, and the fit under the kernel that they combine."""

    fit: Fit
    relaxed: Relaxed
    refined: Refined
    explained: np.ndarray  # (m,) share of each kernel's trace that lies between the clusters
    variant: int = 0  # of the method, where it has several


def fit_many(views: Views, weight: np.ndarray, config: MultiKernelConfig, known: Constraints | None = None) -> ManyFit:
    """Fit samples of positive weight."""
    structure, c, method = config.structure, config.structure.n_clusters, config.method
    rng = check_random_state(config.random_state)
    set_stage(KERNEL, "the kernels of {} samples", len(weight))
    fitted, view_of = _fit_kernels(views, weight, config, rng)
    held = [None if v is None else views.samples(v) for v in view_of]
    method.check_kernels([one.operator for one in fitted])
    if method.center:
        check_informative([one.operator for one in fitted], view_of)
    kernels = _prepared(fitted, held, weight, config)
    objective = config.objective.bind(structure)
    together = view_of[-1] is None
    weighed = beside(kernels[:-1], kernels[-1]) if together else kernels
    task = make_task(method, weighed, c, rng, config.max_iter)
    search = Search(
        method,
        objective,
        rule=config.objective.rule,
        known=known,
        keeps=not (
            all(one.supports_refinement for one in fitted) or structure.is_multidimensional or objective.has_loss
        ),
        power=min(distance_exponent(one, structure) for one in fitted),
        report=config.report,
    )
    set_stage(SEARCH, "weights of {} kernels by {}", len(weighed), method.name)
    found = search(task)
    _warn_of_stop(found, config)
    _warn_of_degenerate(found.relaxed, found.refined.weights, task, config)

    coefficients = shared(found.coefficients) if together else found.coefficients
    operator = WeightedSumKernel(kernels, coefficients)
    source = Summed(fitted, view_of, held, coefficients, weight, bool(method.unit_diagonal))
    spectrum = useful_spectrum(operator, c, rng)
    problem = Problem(operator, spectrum, objective, flat_objective(objective), known)
    seen = None
    if any(one.unshifted_operator is not None for one in fitted):
        seen = WeightedSumKernel(_prepared(fitted, held, weight, config, seen=True), coefficients)
    kernel = FittedKernel(
        operator,
        source,
        unshifted_operator=seen,
        supports_refinement=not search.keeps,
        ring_distance_exponent=search.power,
    )
    solution = _solution(found, problem, search.keeps)
    fit = judge(kernel, problem, solution, structure, config.objective.rule, found.placed)
    if config.confidence:
        over_all = together or len(fitted) == 1  # whether the last kernel compares all samples
        fit = with_order(fit, problem, fitted[-1].companion_sums(fit.labels, c) if over_all else [])
    own = kernels[: len(weighed)]
    sums, traces = cluster_sums(own, fit.labels, c), np.array([kernel.trace() for kernel in own])
    return ManyFit(fit, found.relaxed, found.refined, explained(sums, fit.n, traces), found.variant)


def _solution(found: Found, problem: Problem, placed: bool) -> Solution:
    """Return the labels as a solution under the combined kernel; `placed` as in `Solution`."""
    labels, stopped = found.refined.labels, "converged" if found.refined.converged else "max_iter"
    value = problem.objective.value(found.S, problem.sizes(labels))
    history = found.refined.history
    return Solution(labels, value, found.S, len(history), stopped, history, placed=placed)


def _prepared(
    fitted: Sequence[FittedKernel], held, weight: np.ndarray, config: MultiKernelConfig, *, seen=False
) -> list:
    """Kernels over all samples, or what new samples see of them."""
    return [
        prepare(
            one.operator,
            weight,
            samples,
            unit=bool(config.method.unit_diagonal),
            seen=one.unshifted_operator if seen else None,
        )
        for one, samples in zip(fitted, held, strict=True)
    ]


def _fit_kernels(
    views: Views, weight: np.ndarray, config: MultiKernelConfig, rng: np.random.RandomState
) -> tuple[list[FittedKernel], list[int | None]]:
    """The kernels, and the view that each looks at; None is all views together, the last of kernel="auto"."""
    given = pairwise_kernel(config.kernel)
    if given is not None:
        wanted: list[list] = [[given] for _ in views.arrays]
    else:
        wanted = kernels_of(config.kernel, len(views.arrays))
    together = is_auto(config.kernel) and len(wanted) > 1
    total = sum(len(some) for some in wanted) + together
    fitted = []
    with each_once():
        for v, some in enumerate(wanted):
            X, held = views.held(v), weight[views.observed[:, v]]
            for kernel in some:
                fitted.append(_fit_kernel(X, held, kernel, total, config, rng))
        view_of: list[int | None] = [v for v, some in enumerate(wanted) for _ in some]
        if together:
            columns = Columns.of(views, weight)
            whole = _fit_kernel(columns(views), weight, as_kernel("auto"), total, config, rng)
            fitted.append(over_all_views(whole, columns))
            view_of.append(None)
    return fitted, view_of


def _fit_kernel(X, weight, kernel: Kernel, total: int, config: MultiKernelConfig, rng) -> FittedKernel:
    fitted = fit_kernel(
        X,
        weight,
        kernel=kernel,
        approximation=config.approximation,
        n_clusters=config.structure.n_clusters,
        n_kernels=total,
        center=bool(config.method.center),
        rng=rng,
    )
    fitted.check_definite()
    return fitted


def _warn_of_stop(found: Found, config: MultiKernelConfig) -> None:
    if not found.refined.converged:
        warn(
            f"method={config.method.name!r} stopped before it had converged; raise max_iter={config.max_iter}, or "
            "the method's tol.",
            ConvergenceWarning,
        )


def _warn_of_degenerate(relaxed: Relaxed, weights: np.ndarray, task: Task, config: MultiKernelConfig) -> None:
    """Warn of kernels whose residual is next to zero, so that their weight says nothing about clusters."""
    if len(weights) == 1 or relaxed.coefficients is None:
        return
    degenerate = _of_low_rank(task) if relaxed.learns and not relaxed.ridge else set()
    p = int(np.argmax(weights))
    if weights[p] >= DOMINANT:
        H = task.weight[:, None] * relaxed.embedding
        residual = 1 - float(np.sum(H * (task.kernels[p] @ H))) / max(task.traces[p], np.finfo(float).tiny)
        degenerate |= {p} if residual < DEGENERATE else set()
    if degenerate:
        one, which = len(degenerate) == 1, sorted(degenerate)
        warn(
            f"{'kernel' if one else 'kernels'} {', '.join(map(str, which))} {'has' if one else 'have'} next to no "
            f"residual: {task.n_clusters} eigenvectors describe {'it' if one else 'each'} completely, as always when "
            f"the rank is at most n_clusters={task.n_clusters}. method={config.method.name!r} gives weight (here "
            f"{', '.join(f'{weights[q]:.3f}' for q in which)}) to a small residual, whatever the kernel knows about "
            "clusters. Use a kernel of higher rank such as 'rbf', method='average' or MKKM(ridge=0.01), raise lam of "
            "MKKMMR(lam=...), or leave the kernel out."
        )


def _of_low_rank(task: Task) -> set[int]:
    """Return the kernels whose rank is at most the number of clusters, if that is not so for want of samples.

    A product with c random vectors G spans the range of K exactly if its rank is c or less; then Nystroem's
    K G (G'K G)^+ G'K has the trace of K.
    """
    c, n, rng = task.n_clusters, task.n_samples, np.random.RandomState(0)
    if n <= c + 1:  # a centred kernel has no more than n - 1 dimensions
        return set()
    G = rng.standard_normal((n, c))
    found = set()
    for p, kernel in enumerate(task.kernels):
        image = kernel @ G
        captured = float(
            np.sum(
                np.linalg.pinv(G.T @ image, rcond=1e-10, hermitian=True) * (image.T @ (task.weight[:, None] * image))
            )
        )
        if captured > (1 - LOW_RANK) * task.traces[p]:
            found.add(p)
    return found
