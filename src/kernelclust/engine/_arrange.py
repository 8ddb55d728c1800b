"""Clusters that people already have, put in place: nothing is searched but where each of them sits."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from kernelclust._solution import Solution
from kernelclust._threads import one_thread
from kernelclust.engine._fit import Fit, Request, judge, placing_power, useful_spectrum, with_order
from kernelclust.kernels import FittedKernel
from kernelclust.objectives import flat_objective, make_dependence
from kernelclust.solvers import Problem, best_placement, placement_problem


def arrange(
    kernel: FittedKernel, labels: np.ndarray, request: Request, node: np.ndarray | None = None
) -> tuple[Fit, np.ndarray]:
    """A fit that keeps these clusters and the place (c,) of each; `node` says the places instead of the data."""
    with one_thread():
        structure, operator = request.structure, kernel.operator
        objective = make_dependence(structure, normalize=request.normalize, rho=request.rho)
        spectrum = useful_spectrum(operator, structure.n_clusters, check_random_state(request.random_state))
        problem = Problem(operator, spectrum, objective, flat_objective(objective))
        S, n = operator.cluster_sums(labels, structure.n_clusters), problem.sizes(labels)
        rule = request.options.rule
        given = node is not None
        if node is None:
            node = best_placement(placement_problem(rule, objective, S, n, power=placing_power(kernel, structure)))
        order = np.argsort(node)
        S, n = S[np.ix_(order, order)], n[order]
        value = objective.value(S, n)
        solution = Solution(node[labels], value, S, 0, "converged", [value])
        found = judge(kernel, problem, solution, structure, rule)
        found = found if given else with_order(found, problem)
        place = np.empty(len(n), dtype=np.intp)
        place[labels] = found.labels
        return found, place
