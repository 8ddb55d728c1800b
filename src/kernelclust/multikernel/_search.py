"""The way of one fit: relaxed solution, labels, refinement, and the best of several lambda."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from kernelclust._threads import useful_jobs
from kernelclust.constraints import Constraints
from kernelclust.kernels import WeightedSumKernel, leading_spectrum
from kernelclust.multikernel._refine import Refined, alignment, cluster_sums, consensus, place, pulled, refine
from kernelclust.multikernel._rounding import candidates
from kernelclust.multikernel._spectral import lam_path
from kernelclust.multikernel._task import Relaxed, Task
from kernelclust.objectives import ClusterObjective, flat_objective
from kernelclust.solvers import Problem, Run
from kernelclust.solvers.greedy import Greedy

BEYOND = 8  # eigenvectors more than c that starts are tried in


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
    objective: ClusterObjective
    params: dict[str, Any] = field(default_factory=dict)
    refines: bool = True
    rule: str = "distance"
    known: Constraints | None = None
    keeps: bool = False  # whether clusters are found without structure, then placed, and not refined there
    power: float = 1.0  # of squared distances, where clusters are placed
    n_jobs: int | None = None
    report: Callable[[str], None] = lambda line: None

    def __call__(self, task: Task, T: np.ndarray | None = None) -> Found:
        """The fit; with T_pq = Tr(K_p K_q), that of the lambda whose labels align best with its combined kernel."""
        if T is None:
            return self._best(task, self.once(task))
        seeds = task.rng.randint(np.iinfo(np.int32).max, size=2)  # every lambda draws the same starts
        tasks = [replace(one, rng=np.random.RandomState(seeds)) for one in lam_path(task)]
        found = Parallel(n_jobs=useful_jobs(self.n_jobs), prefer="threads")(delayed(self.once)(one, T) for one in tasks)
        best = int(np.argmax([one.aligned for one in found]))
        return self._best(tasks[best], found[best], T)

    def once(self, task: Task, T: np.ndarray | None = None) -> Found:
        relaxed = self.solve(task, **self.params)
        self.report(f"objective {relaxed.objective:.6g} after {len(relaxed.history)} steps")
        known = self._known(task, relaxed)
        labelings = candidates(task, relaxed, known)
        if self._refinable(relaxed):
            tried = [refine(task, relaxed, labels, self._climbed, rule=self.rule, known=known) for labels in labelings]
            refined = min(tried, key=lambda one: one.history[-1])
            self.report(f"refined: objective {refined.objective:.6g} after {len(refined.history)} steps")
            refined = replace(refined, converged=relaxed.converged and refined.converged)
        else:
            labels = place(consensus(task, relaxed), relaxed, labelings[0], self.objective, known, self.rule)
            way = (relaxed.objective, relaxed.history, relaxed.gap, relaxed.converged)
            refined = Refined(labels, relaxed.weights, *way)
        return self._found(task, relaxed, refined, T)

    @property
    def _climbed(self) -> ClusterObjective:
        return flat_objective(self.objective) if self.keeps else self.objective

    def _known(self, task: Task, relaxed: Relaxed) -> Constraints | None:
        """What is known, soft labels in units of the objective."""
        if self.known is None or not self.known.pull.any():
            return self.known
        return pulled(self.known, consensus(task, relaxed), self.objective, task.rng)

    def _best(self, task: Task, found: Found, T: np.ndarray | None = None) -> Found:
        """What was found, or labels by many starts under its kernel where these are better, with weights of theirs."""
        if not self._refinable(found.relaxed):
            return found
        relaxed, known = replace(found.relaxed, weights=found.refined.weights), self._known(task, found.relaxed)
        if relaxed.learns:
            relaxed = replace(relaxed, coefficients=found.coefficients)
        kernel, flat = consensus(task, relaxed), flat_objective(self.objective)
        spectrum = leading_spectrum(kernel, task.n_clusters + BEYOND, task.n_clusters, task.rng)
        problem = Problem(kernel, spectrum, flat, flat, self.known)
        labels = Greedy(n_init=task.n_init).solve(problem, Run(), task.rng).labels
        again = refine(task, relaxed, labels, self._climbed, rule=self.rule, known=known)
        if again.history[-1] < found.refined.history[-1]:
            self.report(f"many starts: objective {again.objective:.6g}")
            again = replace(again, converged=again.converged and found.relaxed.converged)
            found = self._found(task, found.relaxed, again, T)
        return self._placed(task, found, T) if self.keeps else found

    def _placed(self, task: Task, found: Found, T: np.ndarray | None) -> Found:
        relaxed = found.relaxed
        own = relaxed.coefficients is None or relaxed.by_sample is not None
        kernel = consensus(task, relaxed) if own else WeightedSumKernel(task.kernels, found.coefficients)
        known = self._known(task, relaxed)
        labels = place(kernel, relaxed, found.refined.labels, self.objective, known, self.rule, self.power)
        return self._found(task, relaxed, replace(found.refined, labels=labels, sums=None), T)

    def _found(self, task: Task, relaxed: Relaxed, refined: Refined, T: np.ndarray | None) -> Found:
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
