"""The default policy, kernel="auto": compare views of the samples and an rbf kernel, choose, and explain.

The kernel is the mean of commute kernels over three views of X and three sizes of graph (`kernels/auto.py`). Beyond it
the policy decides:

- the size prior, where the views lead to different clusters (`size_prior`);
- near ties of the search on chains and rings, by the clusters of an rbf kernel (`tie_break`);
- whether clusters are refined on the structure (`refines`);
- the kernel on grids, where graphs find the clusters and an rbf kernel arranges and refines them (`search`);
- what the user is told: `view_agreement`, `rbf_agreement` (`diagnostics`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from kernelclust._progress import set_step
from kernelclust._solution import Solution
from kernelclust._threads import in_order
from kernelclust._warnings import warn
from kernelclust.constraints import Constraints
from kernelclust.engine import FitConfig, Policy, Samples, useful_spectrum
from kernelclust.kernels import FittedKernel, LowRankKernel, fit_kernel, leading_spectrum
from kernelclust.kernels.auto import GraphMean, evenly_spaced
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import Problem, Run
from kernelclust.solvers.greedy import Greedy
from kernelclust.structures import Structure

MIN_VIEW_AGREEMENT = 0.5  # of the clusterings of the views, below which sizes are expected to be similar
TRUSTED_AGREEMENT = 0.7  # of graph and rbf clusters of X as given, from which they outweigh the other views
MIN_CLUSTER_FRACTION = 0.25  # of the mean size: a smaller rbf cluster holds a few outliers
SIZE_PRIOR = 0.2
NEAR_TIE, DOUBTED_TIE = 0.001, 0.02  # fractions of F within which rbf clusters settle a tie of the graphs
DOUBTED_VIEWS = 0.7  # agreement of the views below which the second counts: neighbourhoods are noise
MIN_RBF_AGREEMENT = 0.7  # of graph and rbf clusters, below which the user should compare both
FEW_SAMPLES = 10  # per cluster, up to which a graph already follows the order of a chain or ring
N_INIT = 5  # of the clustering of a view
MAX_COMPARED_SAMPLES = 3000  # that clusterings of views are compared on, or 100 a cluster
MAX_EXACT_RBF_SAMPLES = 3000  # beyond, the compared rbf kernel is approximated: it advises, and decides nothing alone
EXTRA_DIMENSIONS = 8  # eigenvectors of the compared rbf kernel beyond c - 1


class AutoPolicy(Policy):
    """Decide what kernel="auto" leaves open."""

    kernel: GraphMean

    def __init__(self, config: FitConfig, samples: Samples, kernel: FittedKernel):
        super().__init__(config, samples, kernel)
        c = config.structure.n_clusters
        self._views = ViewClusterings(self.kernel.view_factors if c > 1 else [], samples.weight, c)
        self._graph_labels: np.ndarray | None = None  # without structure, where another kernel arranges them

    @staticmethod
    def arrangement_kernel(settings: dict[str, Any], structure: Structure) -> dict[str, Any]:
        """Return the settings of an rbf kernel on grids: commute times hardly grow with the distance there."""
        return settings | {"kernel": "rbf"} if structure.is_multidimensional else settings

    def size_prior(self) -> float:
        """Return a size prior where the views disagree, unless rbf confirms the clusters of X as given."""
        rbf_labels, agreement = self._rbf_labels, self._views.agreement
        config = self.config
        applies = config.objective.takes_size_prior and not config.solver.is_relaxation
        if not isinstance(config.objective.size_prior, str) or not applies or agreement() >= MIN_VIEW_AGREEMENT:
            return super().size_prior()
        if rbf_labels is not None and self._views.confirm(rbf_labels):
            return 0.0
        warn(
            f"the views of X (as given, columns standardised, rows scaled) cluster it differently (alignment "
            f"{agreement():.2f}): groups are expected to have similar sizes, size_prior={SIZE_PRIOR}. Set "
            "size_prior=0 if that is wrong, or choose a kernel by name."
        )
        return SIZE_PRIOR

    def tie_break(self) -> tuple[np.ndarray, float] | None:
        """Return the rbf clusters on chains and rings of more than a few samples per cluster."""
        if self._rbf_labels is None or not self.config.structure.is_one_dimensional or self._has_few_samples():
            return None
        return self._rbf_labels, DOUBTED_TIE if self._views.agreement() < DOUBTED_VIEWS else NEAR_TIE

    def refines(self, kernel: FittedKernel) -> bool:
        """Return True for chains and rings of few samples per cluster too: neighbours are the next steps there."""
        return super().refines(kernel) or (self.config.structure.is_one_dimensional and self._has_few_samples())

    def search(
        self, kernel: FittedKernel, problem: Problem, rng: np.random.RandomState
    ) -> tuple[FittedKernel, Problem, Solution]:
        """Search under the graphs; on grids, refine their clusters under the rbf kernel of X.

        A seed gives the same landmarks as kernel="rbf" has with it.
        """
        config, structure = self.config, self.config.structure
        if self._rbf_labels is None or not structure.is_multidimensional or not config.solver.refines:
            return super().search(kernel, problem, rng)
        _, _, flat = super().search(kernel, replace(problem, objective=problem.flat), rng)
        self._graph_labels = flat.labels
        c, X, weight = structure.n_clusters, self.samples.X, self.samples.weight
        settings = self.arrangement_kernel(config.kernel, structure)
        rbf = fit_kernel(X, weight, n_clusters=c, rng=check_random_state(config.random_state), **settings)
        problem = replace(problem, kernel=rbf.operator, spectrum=useful_spectrum(rbf.operator, c, rng))
        return rbf, problem, config.solver.starting_from(self._graph_labels).solve(problem, config.run, rng)

    def diagnostics(self, labels: np.ndarray) -> dict[str, float]:
        """Return the agreement of the views, and of graph and rbf clusters; warn where the latter is low."""
        found = {}
        if self._views.factors:
            found["view_agreement"] = self._views.agreement()
        if self._rbf_labels is not None:
            A, compared = np.eye(self._views.n_clusters), labels if self._graph_labels is None else self._graph_labels
            found["rbf_agreement"] = alignment(A, self._rbf_labels, compared, self.samples.weight)
            _warn_of_disagreement(found["rbf_agreement"])
        return found

    @cached_property
    def _rbf_labels(self) -> np.ndarray | None:
        """Clusters by rbf, None where there is nothing to compare, and for discriminative kernels."""
        if not self._views.factors or self.config.ridge is not None:
            return None
        set_step("clusters by rbf, to compare")
        by_rbf = partial(rbf_clusters, self.kernel.view_data[0], self.samples, self._views.n_clusters)
        both: tuple[Callable[[], Any], ...] = by_rbf, self._views.agreement
        labels, _ = in_order(lambda work: work(), both, large=len(self.samples.weight) > MAX_EXACT_RBF_SAMPLES)
        return labels

    def _has_few_samples(self) -> bool:
        return self.kernel.n_distinct <= FEW_SAMPLES * self.config.structure.n_clusters


@dataclass(frozen=True)
class ViewClusterings:
    """Clusterings of the samples, one for each view.

    `factors` are the smoothest functions on the middle graph of every view.
    """

    factors: list[np.ndarray]
    weight: np.ndarray
    n_clusters: int

    @cached_property
    def compared(self) -> np.ndarray:
        """Indices of the compared samples: all of a small set, evenly spaced ones of a large one."""
        return evenly_spaced(len(self.weight), max(MAX_COMPARED_SAMPLES, 100 * self.n_clusters))

    @cached_property
    def labels(self) -> list[np.ndarray]:
        """Labels of the compared samples by kernel k-means, view by view."""
        rng, c = check_random_state(0), self.n_clusters
        flat = ClusterObjective(np.eye(c), np.eye(c), "l2")
        found = []
        for B in self.factors:
            kernel = LowRankKernel(B[self.compared], self.weight[self.compared])
            spectrum = leading_spectrum(kernel, kernel.factor.shape[1], c - 1, rng)
            found.append(Greedy(n_init=N_INIT).solve(Problem(kernel, spectrum, flat, flat), Run(), rng).labels)
        return found

    def agreement(self) -> float:
        """Return the mean alignment of the clusterings over pairs of views; one for a single view."""
        weight, A = self.weight[self.compared], np.eye(self.n_clusters)
        pairs = [alignment(A, one, other, weight) for one, other in combinations(self.labels, 2)]
        return float(np.mean(pairs)) if pairs else 1.0

    def confirm(self, rbf_labels: np.ndarray) -> bool:
        """Return whether rbf labels agree with the graph clusters of X as given, and no rbf cluster is tiny.

        An rbf kernel may isolate outliers (for example in text); such clusters say nothing about groups.
        """
        A, n = np.eye(self.n_clusters), np.bincount(rbf_labels, self.weight, minlength=self.n_clusters)
        alike = alignment(A, self.labels[0], rbf_labels[self.compared], self.weight[self.compared])
        return alike >= TRUSTED_AGREEMENT and n.min() >= MIN_CLUSTER_FRACTION * n.mean()


def rbf_clusters(Z, samples: Samples, n_clusters: int) -> np.ndarray:
    """Return labels of samples Z (m x d) without structure, under k(x, y) = exp(-|x - y|^2 / mean squared distance)."""
    rng, c, weight = check_random_state(0), n_clusters, samples.weight
    flat = ClusterObjective(np.eye(c), np.eye(c), "l2")
    approximation = None if len(weight) <= MAX_EXACT_RBF_SAMPLES else "nystroem"
    kernel = fit_kernel(Z, weight, kernel="rbf", n_clusters=c, approximation=approximation, rng=rng).operator
    spectrum = leading_spectrum(kernel, c - 1 + EXTRA_DIMENSIONS, c - 1, rng)
    known: Constraints | None = None if samples.known is None else samples.known.unlabelled()
    return Greedy().solve(Problem(kernel, spectrum, flat, flat, known, samples.copies), Run(), rng).labels


def alignment(A: np.ndarray, one: np.ndarray, other: np.ndarray, weight: np.ndarray) -> float:
    """Return the kernel alignment of two labelings under A: the cosine of H Pi A Pi' H and H Pi~ A Pi~' H."""
    c = len(A)
    n, k = (np.bincount(labels, weight, minlength=c) for labels in (one, other))

    def product(first: np.ndarray, second: np.ndarray, sizes: np.ndarray, others: np.ndarray) -> float:
        table = sparse.coo_array((weight, (first, second)), shape=(c, c)).toarray()
        table = table - np.outer(sizes, others) / weight.sum()
        return float(((A @ table) * (table @ A)).sum())

    scale = np.sqrt(product(one, one, n, n) * product(other, other, k, k))
    return product(one, other, n, k) / scale if scale > 0 else 1.0


def _warn_of_disagreement(agreement: float) -> None:
    """Warn where graphs and rbf find different clusters: no rule without labels tells which are right."""
    if agreement < MIN_RBF_AGREEMENT:
        warn(
            f"kernel='auto' and kernel='rbf' find different clusters here (alignment {agreement:.2f}): look at both. "
            "Graphs follow curved groups and bear columns of unlike units, rbf bears noise around round groups."
        )
