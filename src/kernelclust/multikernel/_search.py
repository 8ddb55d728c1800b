"""The way of one fit: relaxed solution, labels, refinement, and the best of several variants."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelclust._threads import in_order
from kernelclust.constraints import Constraints
from kernelclust.kernels import WeightedSumKernel, leading_spectrum
from kernelclust.multikernel._base import Method, Relaxed, Task
from kernelclust.multikernel._refine import (
    Refined,
    alignment,
    candidates,
    cluster_sums,
    consensus,
    place,
    pulled,
    refine,
)
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
    variant: int = 0  # of the method, where it has several


@dataclass(frozen=True)
class Search:
    """A method, what is sought, and what is known."""

    method: Method
    objective: ClusterObjective
    rule: str = "distance"
    known: Constraints | None = None
    keeps: bool = False  # whether clusters are found without structure, then placed, and not refined there
    power: float = 1.0  # of squared distances, where clusters are placed
    report: Callable[[str], None] = lambda line: None

    def __call__(self, task: Task) -> Found:
        """The fit; of several variants of the method that whose labels align best with its combined kernel."""
        with warnings.catch_warnings():  # here, because threads share the filters
            warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
            return self._of_variants(task)

    def _of_variants(self, task: Task) -> Found:
        if not self.method.has_variants(task):
            return self._best(task, self.once(self.method, task))
        T = self.method.products(task)
        seeds = task.rng.randint(np.iinfo(np.int32).max, size=2)  # every variant draws the same starts
        made = self.method.variants(task)
        tasks = [replace(one, rng=np.random.RandomState(seeds)) for _, one in made]
        found = list(in_order(lambda one: self.once(*one, T), zip((method for method, _ in made), tasks, strict=True)))
        best = int(np.argmax([one.aligned for one in found]))
        return replace(self._best(tasks[best], found[best], T), variant=best)

    def once(self, method: Method, task: Task, T: np.ndarray | None = None) -> Found:
        relaxed = method.solve(task)
        self.report(f"objective {relaxed.objective:.6g} after {len(relaxed.history)} steps")
        known = self._known(task, relaxed)
        labelings = candidates(task, relaxed, known, method.starts)
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
        """Return the side information, with soft labels in units of the objective."""
        if self.known is None or not self.known.soft_bonus.any():
            return self.known
        return pulled(self.known, consensus(task, relaxed), self.objective, task.rng)

    def _best(self, task: Task, found: Found, T: np.ndarray | None = None) -> Found:
        """Return the labels of the method, or labels from many initializations under its kernel if these are better,
        with weights of their own.
        """
        if not self._refinable(found.relaxed):
            return found
        relaxed, known = replace(found.relaxed, weights=found.refined.weights), self._known(task, found.relaxed)
        if relaxed.learns:
            relaxed = replace(relaxed, coefficients=found.coefficients)
        kernel, flat = consensus(task, relaxed), flat_objective(self.objective)
        spectrum = leading_spectrum(kernel, task.n_clusters + BEYOND, task.n_clusters, task.rng)
        problem = Problem(kernel, spectrum, flat, flat, self.known)
        labels = Greedy(n_init=self.method.starts).solve(problem, Run(), task.rng).labels
        again = refine(task, relaxed, labels, self._climbed, rule=self.rule, known=known)
        if again.history[-1] < found.refined.history[-1]:
            self.report(f"many initializations: objective {again.objective:.6g}")
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
        sums = cluster_sums(task.kernels, refined.labels, c) if refined.sums is None else refined.sums
        n = np.bincount(refined.labels, task.weight, minlength=c)
        coefficients = _coefficients(task, relaxed, refined)
        aligned = 0.0 if T is None else alignment(sums, n, T, coefficients)
        S = np.tensordot(coefficients, sums, 1)
        own = relaxed.coefficients is None or relaxed.by_sample is not None
        placed = consensus(task, relaxed).cluster_sums(refined.labels, c) if own else S
        return Found(relaxed, refined, coefficients, S, placed, aligned)

    def _refinable(self, relaxed: Relaxed) -> bool:
        """Return whether labels are improved by discrete moves. Labels of a method that is discrete itself are improved
        only for a structure, a loss or side information.
        """
        c = self.objective.n_clusters
        flat = np.array_equal(self.objective.A, np.eye(c)) and not self.objective.has_loss
        return bool(self.method.refine) and not (flat and relaxed.labels is not None and self.known is None)


def _coefficients(task: Task, relaxed: Relaxed, refined: Refined) -> np.ndarray:
    """Return the factors of the kernels in the sum that labels new samples."""
    if relaxed.by_sample is not None:
        return task.weight @ relaxed.by_sample**2 / task.weight.sum()
    return refined.weights**relaxed.power
