"""A solution as a frozen fit: clusters numbered, bounded, and their order judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust._progress import EVIDENCE, set_stage
from kernelclust._solution import Solution
from kernelclust._warnings import warn
from kernelclust.engine._config import distance_exponent
from kernelclust.engine._order import (
    Clusters,
    Order,
    compare_structures,
    doubt_in_words,
    is_judged,
    leading_directions,
    order_of,
)
from kernelclust.engine._places import Located, Prediction, Sampled, Whole, fitted_places
from kernelclust.engine._steps import squared_distances, steps
from kernelclust.engine._structure_table import StructureTable
from kernelclust.engine._structures import family_of
from kernelclust.kernels import FittedKernel, Spectrum, certified, one_hot
from kernelclust.kernels.auto import GraphMean
from kernelclust.objectives import ClusterObjective, flat_objective
from kernelclust.solvers import PlacementProblem, Problem, placement_margin, placement_problem
from kernelclust.structures import Structure


@dataclass(frozen=True)
class Fit:
    """A fit as a value: operator, spectrum, solution, evidence and certificate, for the samples of positive weight.

    `labels` are places, numbered canonically; `S` and `n` are the cluster sums and sizes there.
    """

    structure: Structure
    kernel: FittedKernel
    spectrum: Spectrum
    objective: ClusterObjective
    solution: Solution
    labels: np.ndarray
    S: np.ndarray
    n: np.ndarray
    value: float
    upper_bound: float
    size_bound: float
    reach: float  # fraction of the trace of the kernel that c clusters could explain at best
    placement_margin: float
    placing: PlacementProblem = field(repr=False)  # of these clusters, as they are numbered
    ridge: float | None = None
    diagnostics: dict[str, float] = field(default_factory=dict)  # of the policy
    data_kernel: FittedKernel | None = None  # of X, where `kernel` was made of it or took its place in the search
    order: Order | None = None
    structures: StructureTable | None = None  # that the structure was found by, where it was
    kernel_times_labels: np.ndarray | None = field(default=None, repr=False)  # K D Pi (m, c), where it is known
    whole: Whole | None = field(default=None, repr=False)  # all samples, where the search began with some of them

    @property
    def gap(self) -> float:
        if not np.isfinite(self.upper_bound):
            return 1.0
        # nothing to gain: the value is zero but for rounding
        return (self.upper_bound - self.value) / abs(self.upper_bound) if self.upper_bound != 0 else 0.0

    @property
    def all_labels(self) -> Any:
        """Return labels of all samples, where these lie."""
        return self.labels if self.whole is None else self.whole.labels

    @property
    def moving_objective(self) -> ClusterObjective:
        """Return the objective of moves: F without structure where clusters were arranged and not refined."""
        return flat_objective(self.objective) if self.solution.placed else self.objective

    def prediction(self) -> Prediction:
        S, n = self.S, self.n
        if self.whole is not None:
            similarities = judge = self.whole.similarities
            return Prediction(similarities, self.moving_objective.assignment(S, n), n, judge, S, self.reach)
        Pi, base, unshifted = self._one_hot(), self.kernel.base, self.kernel.unshifted_operator
        similarities = judge = self.kernel.combination(Pi, self.kernel_times_labels)
        sums = S
        if base is not None:
            judge, sums = base.combination(Pi), base.operator.cluster_sums(self.labels, len(n))
        if unshifted is not None:
            S = unshifted.cluster_sums(self.labels, len(n))
        return Prediction(similarities, self.moving_objective.assignment(S, n), n, judge, sums, self.reach)

    def _one_hot(self) -> np.ndarray:
        return one_hot(self.labels, len(self.n), self.kernel.operator.weight)

    def places(self, prediction: Prediction, X: Any = None) -> Located:
        """Return where new samples lie among the clusters, and where the fitted ones do.

        Errors of positions are known for tables X (m, d) on the host, and for all fits that began with some samples.
        """
        if self.whole is not None:
            return self._rearranged(self.whole.located(prediction, self.structure, self.S))
        base, operator = self.kernel.base, self.kernel.operator
        G, S = self.kernel_times_labels, prediction.sums
        if base is not None or G is None:
            operator = operator if base is None else base.operator
            G = operator @ self._one_hot()
        found = fitted_places(prediction, self.structure, G, operator.diagonal(), S, self.labels, operator.weight)
        sampled = self.sampled(X, G, self.labels, operator.weight)
        return self._rearranged(found._replace(errors=sampled.position_errors(self.structure, found.places)))

    def _rearranged(self, found: Located) -> Located:
        """Return errors of positions that know how uncertain the nodes of the clusters are."""
        if found.errors is None or self.order is None or self.order.nodes is None:
            return found
        return found._replace(errors=found.errors.rearranged(self.order.nodes, self.structure, self.n))

    def sampled(self, X: Any, G: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> Sampled:
        """Return fitted samples in the views of the default kernel, or in the table X where that is another."""
        kernel = _shown_by(self)
        if X is None or not isinstance(kernel, GraphMean):
            return Sampled([] if X is None else [X], G, labels, weight)
        rows = kernel.graphed
        return Sampled(kernel.view_data, G[rows], labels[rows], weight[rows])


def judge(
    kernel: FittedKernel,
    problem: Problem,
    solution: Solution,
    structure: Structure,
    rule: str,
    placed_by: np.ndarray | None = None,
) -> Fit:
    """Return a solution as a fit: clusters numbered, and what any labeling could reach bounded.

    `placed_by` (c x c) are the cluster sums that the clusters were placed by, where those of the kernel were not.
    """
    objective, operator = problem.objective, problem.kernel
    c, spectrum, S, KPi = objective.n_clusters, problem.spectrum, solution.cluster_sums, None
    if not spectrum.certain:
        Pi = one_hot(solution.labels, c, operator.weight)
        spectrum, KPi = certified(operator, spectrum, Pi)
        S = Pi.T @ KPi
        S = (S + S.T) / 2
    elif operator.factor is None and solution.warm_start_sums.shape == (c, operator.n_samples):
        KPi = solution.warm_start_sums.T
    n = problem.sizes(solution.labels)
    if c == 1 and operator.centred:  # over all samples K adds up to zero: what else was found is rounding
        S = np.zeros((1, 1))
        solution = replace(solution, value=objective.value(S, n), history=[objective.value(S, n)])
    arranged = S if placed_by is None else placed_by
    node = numbering(structure, objective, S, n, **problem.placing(objective, solution.labels))
    labels = node[solution.labels]
    arranged = renumbered(node, arranged, n)[0]
    S, n = renumbered(node, S, n)
    KPi = None if KPi is None else KPi[:, np.argsort(node)]
    fresh = problem.constraints is not None or not problem.spectrum.certain
    value = objective.value(S, n) if fresh else solution.value
    power, kept = distance_exponent(kernel, structure), problem.placing(objective, labels)
    placing = placement_problem(rule, objective, arranged, n, power=power, **kept)
    limits = spectrum.bounds, float(operator.weight @ operator.diagonal()), operator.weight.min()
    return Fit(
        structure,
        kernel,
        spectrum,
        objective,
        solution,
        labels,
        S,
        n,
        value,
        placement_margin=placement_margin(placing),
        placing=placing,
        kernel_times_labels=KPi,
        **certificate(*limits, objective, n, value, operator.centred, solution.bound),
    )


def certificate(
    bounds: np.ndarray,
    trace: float,
    lightest: float,
    objective: ClusterObjective,
    n: np.ndarray,
    value: float,
    centred: bool,
    least: float = np.inf,
) -> dict[str, Any]:
    """Return `upper_bound`, `size_bound` and `reach` of a fit: limits of F and of the explained fraction.

    They follow from bounds on the leading eigenvalues of the kernel, its trace, and the least weight of a sample;
    `least` is another upper bound.
    """
    bound = max(min(objective.upper_bound(bounds, n.sum(), lightest), least), value)
    share = float(np.maximum(bounds, 0).sum()) / trace if trace > 0 else 0.0
    size_bound = max(objective.size_bound(bounds, n), value) if centred else bound
    return {"upper_bound": bound, "size_bound": size_bound, "reach": min(share, 1.0) if share > 0 else 1.0}


def canonical_places(
    structure: Structure,
    S: np.ndarray,
    n: np.ndarray,
    movable: np.ndarray | None = None,
    linear: np.ndarray | None = None,
) -> np.ndarray:
    """Return the equivalent numbering with large clusters first, so that sample order does not matter.

    Clusters that are not `movable` keep their number, and what soft labels say (`linear`) comes first.
    """
    c = len(n)
    rank = np.empty(c)
    spread = np.diag(S) / np.where(n > 0, n, 1)
    rank[np.lexsort((spread, n))] = np.arange(c)
    uneven = np.random.RandomState(0).random(c) / 2  # integers would let different numberings tie
    benefit = np.outer(np.arange(c, 0, -1.0) + uneven, rank)
    if linear is not None and linear.any():
        linear = np.ldexp(linear, -int(np.frexp(linear.max())[1]))  # wishes count beside each other, however small
        benefit += 10 * max(benefit.sum(), 1.0) * (linear.T / linear.max())
    if movable is not None and not movable.all():  # last, so that nothing outweighs it
        benefit[~movable] = 0.0
        benefit[:, ~movable] = 0.0
        benefit[~movable, ~movable] = 10 * max(benefit.sum(), 1.0)
    return np.asarray(structure.align(benefit))


def renumbered(node: np.ndarray, S: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return S and n with cluster j at node[j]."""
    order = np.argsort(node)
    return S[np.ix_(order, order)], n[order]


def numbering(structure: Structure, objective: ClusterObjective, S: np.ndarray, n: np.ndarray, **placing) -> np.ndarray:
    """Return the canonical place (c,) of each cluster: large ones first as far as structure and known labels allow."""
    node = canonical_places(structure, S, n, **placing)
    # a loss of the user's own need not have the structure's symmetries
    return node if objective.unchanged_by(node) else np.arange(len(n))


def numbered_like(found: Fit, labels: np.ndarray) -> Fit:
    """Return the fit with its clusters numbered as closely to these labels as structure and known labels allow."""
    c, weight = len(found.n), found.kernel.operator.weight
    return _numbered(found, np.bincount(labels * c + found.labels, weight, minlength=c * c).reshape(c, c))


def numbered_from(found: Fit, root: int) -> Fit:
    """Return the fit with cluster `root` as near to node 0 as structure and known labels allow."""
    gain = np.zeros((len(found.n), len(found.n)))
    gain[:, root] = -steps(found.structure.kernel)[0]
    return _numbered(found, gain)


def _numbered(found: Fit, gain: np.ndarray) -> Fit:
    """Return the fit numbered such that the sum of gain[node[j], j] is largest."""
    gain, fixed, linear = gain.copy(), np.flatnonzero(~found.placing.movable), found.placing.linear
    if linear.any():  # what soft labels say comes before numbers, and known labels before both
        gain += 10 * max(np.abs(gain).sum(), 1.0) * linear.T / np.abs(linear).max()
    gain[fixed, fixed] += 10 * max(np.abs(gain).sum(), 1.0)
    node = np.asarray(found.structure.align(gain))
    if not found.objective.unchanged_by(node) or (node[fixed] != fixed).any():
        return found
    order = np.argsort(node)
    S, n = renumbered(node, found.S, found.n)
    M, placing = found.placing.M[np.ix_(order, order)], found.placing
    placing = replace(placing, M=M, n=placing.n[order], movable=placing.movable[order], linear=placing.linear[order])
    judged = None if found.order is None else found.order.renumbered(node)
    KPi = None if found.kernel_times_labels is None else found.kernel_times_labels[:, order]
    labels = node[found.labels]
    return replace(found, labels=labels, S=S, n=n, kernel_times_labels=KPi, placing=placing, order=judged)


def with_order(
    found: Fit,
    problem: Problem,
    companions: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    table_at: str = "see order_.structures",
    second: np.ndarray | None = None,
) -> Fit:
    """Return the fit with the confidence of its order, and warn where that is low or another structure fits better.

    `companions` are cluster sums and sizes by other kernels that judge the order too; None takes those of the kernel.
    `table_at` says where the user finds the probabilities of structures; `second` are labels of other clusters that
    these are judged by as well.
    """
    set_stage(EVIDENCE, "confidence of the order")
    c, constraints = len(found.n), problem.constraints
    companions = found.kernel.companion_sums(found.labels, c) if companions is None else companions
    known = np.zeros(c, dtype=bool)
    if constraints is not None:
        known[constraints.place[constraints.place >= 0]] = True
    clusters = replace(
        _clusters(found),
        known=known,
        movable=problem.placing(found.objective, found.labels).get("movable"),
        views=[squared_distances(S, n) for S, n in companions],
    )
    table = structures_over(found, second) if is_judged(clusters) else None
    order = order_of(clusters, table, None if known.any() else family_of(found.structure))
    if doubt := doubt_in_words(order, str(found.structure), table_at):
        warn(doubt)
    return replace(found, order=order)


def _clusters(found: Fit) -> Clusters:
    c, weight = len(found.n), found.kernel.operator.weight
    E = leading_directions(found.spectrum.embedding, c)
    return Clusters(found.structure.kernel, E, weight, found.labels, found.S, found.n, known=np.zeros(c, dtype=bool))


def structures_over(found: Fit, second: np.ndarray | None = None) -> StructureTable | None:
    """Return the probabilities of structures over the clusters that were found before any structure, called by the
    clusters of the fit that share most samples with them; None where they cannot be compared.

    So a fit, `select_structure` and `compare` have the same numbers, whatever structure was asked for.
    """
    set_stage(EVIDENCE, "probabilities of structures")
    clusters, flat, c = _clusters(found), found.solution.flat_labels, len(found.n)
    if flat is None:
        return _structures(clusters, _shown_by(found), second) if (found.n > 0).all() else None
    n = np.bincount(flat, clusters.weight, minlength=c)
    if not (n > 0).all():
        return None
    sums = one_hot(flat, c, clusters.weight).T @ clusters.E
    table = _structures(replace(clusters, labels=flat, n=n, S=sums @ sums.T), _shown_by(found), second)
    return None if table is None else called_as_in(found, table, flat)


def called_as_in(found: Fit, table: StructureTable, labels: np.ndarray) -> StructureTable:
    """Return a table over clusters `labels`, called by the clusters of a fit that share most samples with them."""
    c = len(found.n)
    alike = np.bincount(labels * c + found.labels, found.kernel.operator.weight, minlength=c * c).reshape(c, c)
    return table.renumbered(linear_sum_assignment(alike, maximize=True)[1])


def _shown_by(found: Fit) -> FittedKernel:
    """Return the kernel that structures are compared by: the default's views, also where rbf arranged."""
    return found.data_kernel if isinstance(found.data_kernel, GraphMean) else found.kernel


def shows_structures(kernel: FittedKernel) -> bool:
    """Return whether distances by a kernel, or views that it brings, show structures."""
    return isinstance(kernel, GraphMean) or (kernel.base is None and kernel.supports_refinement)


def _structures(clusters: Clusters, kernel: FittedKernel, second: np.ndarray | None) -> StructureTable | None:
    """Return the probabilities of structures; None for kernels whose distances between samples do not show one.

    Distances of discriminative kernels are all alike, and commute times between clusters that are joined by few links
    hold no order. The default kernel brings the views of the data that it was made of.
    """
    data_kernel = kernel if kernel.base is None else kernel.base
    if isinstance(data_kernel, GraphMean):
        rows = data_kernel.graphed
        E, weight, labels = clusters.E[rows], clusters.weight[rows], clusters.labels[rows]
        second = None if second is None else second[rows]
        return compare_structures(replace(clusters, E=E, weight=weight, labels=labels), data_kernel.view_data, second)
    return compare_structures(clusters) if kernel.base is None and kernel.supports_refinement else None
