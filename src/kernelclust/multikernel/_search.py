"""The way of one fit: relaxed solution, labels, refinement, and the best of several lambda."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from kernelclust._threads import useful_jobs
from kernelclust.multikernel._refine import Refined, alignment, cluster_sums, consensus, place, pulled, refine
from kernelclust.multikernel._rounding import candidates
from kernelclust.multikernel._spectral import lam_path
from kernelclust.multikernel._task import Relaxed, Task
from kernelclust.objectives import Dependence
from kernelclust.solvers import Constraints


@dataclass(frozen=True)
class Found:
    """Labels and weights for the prepared kernels: `S` are the cluster sums under sum_p coefficients_p K_p.

    `placed` are those under the kernel that clusters were placed by: another one for methods that weigh samples or
    have an embedding alone.
    """

    relaxed: Relaxed
    refined: Refined
    coefficients: np.ndarray
    S: np.ndarray
    placed: np.ndarray
    aligned: float


@dataclass(frozen=True)
class Search:
    """A method with its parameters, what is sought, and what is known."""

    solve: Callable[..., Relaxed]
    objective: Dependence
    params: dict[str, Any] = field(default_factory=dict)
    refines: bool = True
    rule: str = "distance"
    known: Constraints | None = None
    n_jobs: int | None = None
    report: Callable[[str], None] = lambda line: None

    def __call__(self, task: Task, T: np.ndarray | None = None) -> Found:
        """The fit; with T_pq = Tr(K_p K_q), that of the lambda whose labels align best with its combined kernel."""
        if T is None:
            return self.once(task)
        seeds = task.rng.randint(np.iinfo(np.int32).max, size=2)  # every lambda draws the same starts
        tasks = [replace(one, rng=np.random.RandomState(seeds)) for one in lam_path(task)]
        found = Parallel(n_jobs=useful_jobs(self.n_jobs), prefer="threads")(delayed(self.once)(one, T) for one in tasks)
        return found[int(np.argmax([one.aligned for one in found]))]

    def once(self, task: Task, T: np.ndarray | None = None) -> Found:
        relaxed = self.solve(task, **self.params)
        self.report(f"objective {relaxed.objective:.6g} after {len(relaxed.history)} steps")
        known = self.known
        if known is not None and known.pull.any():
            known = pulled(known, consensus(task, relaxed), self.objective, task.rng)
        labelings = candidates(task, relaxed, known)
        if self._refinable(relaxed):
            tried = [refine(task, relaxed, labels, self.objective, rule=self.rule, known=known) for labels in labelings]
            refined = min(tried, key=lambda one: one.history[-1])
            self.report(f"refined: objective {refined.objective:.6g} after {len(refined.history)} steps")
            refined = replace(refined, converged=relaxed.converged and refined.converged)
        else:
            labels = place(consensus(task, relaxed), relaxed, labelings[0], self.objective, known, self.rule)
            way = (relaxed.objective, relaxed.history, relaxed.gap, relaxed.converged)
            refined = Refined(labels, relaxed.weights, *way)
        c = self.objective.n_clusters
        sums = cluster_sums(task, refined.labels, c) if refined.sums is None else refined.sums
        n = np.bincount(refined.labels, task.weight, minlength=c)
        coefficients = _coefficients(task, relaxed, refined)
        aligned = 0.0 if T is None else alignment(sums, n, T, coefficients)
        S = np.tensordot(coefficients, sums, 1)
        own = relaxed.coefficients is None or relaxed.by_sample is not None
        placed = consensus(task, relaxed).cluster_sums(refined.labels, c) if own else S
        return Found(relaxed, refined, coefficients, S, placed, aligned)

    def _refinable(self, relaxed: Relaxed) -> bool:
        """Whether labels are to be improved; those of a method with discrete labels of its own only for a structure,
        a loss, or what is known."""
        c = self.objective.n_clusters
        flat = np.array_equal(self.objective.A, np.eye(c)) and not self.objective.has_loss
        return self.refines and not (flat and relaxed.labels is not None and self.known is None)


def _coefficients(task: Task, relaxed: Relaxed, refined: Refined) -> np.ndarray:
    """What kernels are multiplied by in the sum that labels new samples."""
    if relaxed.by_sample is not None:
        return task.weight @ relaxed.by_sample**2 / task.weight.sum()
    return refined.weights**task.power if relaxed.learns else refined.weights
