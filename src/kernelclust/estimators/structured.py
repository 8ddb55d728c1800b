"""StructuredClustering: check, ask the engine for a fit, keep what was learned."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kernelclust._progress import working
from kernelclust._scale_warning import ScaleWarning, scale_warning
from kernelclust._warnings import warn
from kernelclust.engine import Fit, FitConfig, InMemory, fit, numbered_like
from kernelclust.estimators._base import (
    KernelClusterer,
    check_enough_samples,
    check_findable,
    check_structure,
    known_structure,
    warn_of_lost_differences,
    whole_or_nothing,
)
from kernelclust.estimators._data import new_samples, where
from kernelclust.estimators._placing import Placing
from kernelclust.estimators._stream import Stream, add_batch
from kernelclust.kernels import FittedKernel, Nothing, is_operator, kernel_class
from kernelclust.objectives import Dependence, as_objective, check_weights
from kernelclust.policies import policy_for
from kernelclust.solvers import Run, Solver, as_solver
from kernelclust.structures import Structure, named_nodes


class StructuredClustering(Placing, KernelClusterer):
    r"""Kernel clustering whose clusters lie on a chain, a ring, a grid, a tree or any graph.

    Maximises the dependence between data and labels (CLUHSIC [1]_, CLUHSICAL [2]_),

    .. math:: F = \operatorname{tr}(K P A P^\top), \quad P = \Pi T N^{-1},

    where K compares samples, A compares clusters, :math:`\Pi` holds the labels one-hot, T comes from a loss (the
    identity without one) and N normalises columns. Choose a `structure` when clusters have neighbours (stages, seasons,
    a map, a taxonomy): label j then means node j of it. With structure="flat" this is kernel k-means. Most fits need
    `structure` and `random_state` only; `kernel` is the next parameter to try.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters for "flat", "chain" and "ring" (8 if None). A structure that carries its size sets it; a
        number given as well must agree.
    structure : str, Structure or (c, c) array, default="flat"
        How clusters relate: "flat", "chain", "ring", "ring:12", "grid:3x4", "tree:3x3", "tree:(a,(b,c))",
        "flat:4*chain:3", with names "chain:(seed,sprout,bloom)", Newick "((A,B),C);", an object of
        `kernelclust.structures`, a psd matrix or a networkx graph (a directed one is a taxonomy: leaves are clusters).
        For 4 to 12 clusters, and without known labels, it can be estimated from the data: "auto" is the most probable
        structure (flat if there is no order), "tree" without a shape the best lineage, whose nodes are the clusters,
        and "graph" all links that are more probable than one half. `structure_` is then the estimated structure, and
        `diagnostics_.structures` has the probabilities.
    kernel : str, Kernel or callable, default="auto"
        Similarity of two samples: a name, an object of `kernelclust.kernels` such as RBF(gamma=0.5), or a function
        k(X, Y) -> (n, m) matrix.

        - "auto": the mean of nearest-neighbour graph kernels of up to three views of X. It also chooses the size prior,
          and on a grid assigns clusters to nodes and refines them with "rbf".
        - "rbf": round clusters, columns on one scale. "laplacian", "linear" and "polynomial" are similar choices.
        - "cosine": text.
        - "graph": commute times in one nearest-neighbour graph, for curved clusters, images and cells; "diffusion".
        - "precomputed": X is the kernel matrix.
        - "precomputed_graph": X is a sparse matrix of affinities, such as scanpy's connectivities, or a networkx graph.
    approximation : str, Approximation or None, default="auto"
        None is the exact kernel at any size: in memory while its matrix fits scikit-learn's `working_memory` (1024 MiB
        unless set), beyond that recomputed, tile by tile, in every pass. "nystroem" or Nystroem(300), "cholesky" and
        "random_features" are low-rank factors. "auto" is exact up to 25 000 samples and Nystrom beyond, with a warning;
        "graph" and "diffusion" store the smoothest functions on the graph beyond 3000 samples, "auto" always.
    objective : str or Dependence, default="dependence"
        `kernelclust.objectives.Dependence(loss=None, normalize="l2", rho=2.0, size_prior="auto",
        placement="distance")`: the loss and the normalisation of F, how much a cluster prefers itself to its
        neighbours, how much clusters of similar size are favoured, and how clusters are assigned to nodes.
    solver : str or Solver, default="greedy"
        "greedy" or `kernelclust.solvers.Greedy(search="refine", init="auto", n_init="auto")`: point moves and
        assignment of clusters to nodes. search="refine" fits without structure, assigns the clusters to nodes, then
        improves F; "place" omits the last step; "global" maximises F from every initialization, as in the papers.
        Relaxations of normalize="l2" without a loss: "spectral", "polar", "nmf", "low_rank_sdp" and "sdp".
    min_cluster_size, max_cluster_size : number or array of shape (c,), optional
        Bounds on cluster sizes, which are kept exactly: one number for all clusters, or one for each node. The size of
        a cluster is the sum of its sample weights.
    label_weight : float, optional
        None keeps known labels exactly. A number t >= 0 makes them soft: F gains t (b / m) w_i for every labelled
        sample that gets its label, where b is the bound of F for equal sizes. With t = 1 a label thus counts as much
        as one sample contributes to that bound on average. As evidence about the node of a cluster a label counts
        min(t, 1) times.
    compute_confidence : bool, default=True
        Whether to estimate how certain the order of the clusters is (`order_confidence_`, `order_`), and to warn if it
        is uncertain. This takes less time than the fit, except in the first fit on a structure in a process.
    max_iter : int, default=100
        Maximum number of passes over the samples, for each initialization.
    random_state : int, RandomState or None
        Seed of initializations and landmarks.
    verbose : int, default=0
        1 or more logs a line for each initialization.

    Attributes
    ----------
    labels_ : (m,) int array
        Node of each sample in the structure. Of equivalent numberings (a ring rotated, a flat clustering permuted) the
        one with large clusters first is chosen; with known labels, the data and the labels decide together. Equal
        rows are in one cluster: with fewer different rows than clusters the others stay empty, with a warning.
    objective_ : float
        F at `labels_`, with K centred and rho included. With kernel="auto" on a grid, F, its bounds and `predict` use
        the rbf kernel that assigned the clusters to nodes (`diagnostics_.gamma` is its width).
    upper_bound_ : float
        No labeling has a larger F.
    gap_ : float
        (upper_bound_ - objective_) / upper_bound_. This is a statement about the *optimizer*: how far F may be from its
        maximum, not whether the clusters are meaningful.
    sizes_ : (c,) array
        Weight of every cluster.
    order_confidence_ : float or None
        Estimated probability that there is an order of the requested kind and that this order is correct, with every
        cluster at exactly its node: a logistic function of atanh T, J, log P / (1 - P) and log c, with weights for each
        kind of structure from simulated data. T is the correlation of distances between cluster means with steps on the
        structure, J the fraction of perturbed distances (by 20 %) that keep the order, and P the probability of the
        structure in `order_.structures`. Below 0.5 a warning gives the reason. With known labels it is raised to the
        power log q! / log c!, where q clusters have no known label, so it is 1 if all have one. None if there is only
        one arrangement ("flat"), with an empty cluster, and beyond 50 clusters. Where structures are not compared, it
        assumes that there is an order, and with three arrangements ("ring:4", "chain:3") it stays near 0.5. It can be
        too high on views of objects that look alike from opposite sides, and on noise in a plane.
    order_ : ClusterOrder or None
        Further evidence about the order: `pvalue`, `links` and `margin`; `structures`, the probabilities of no order,
        chain, ring, tree, grid and hierarchy over the same 4 to 12 clusters; `alternatives(n)`, the next best orders;
        and `queries(n)`, the samples whose labels would decide between them. None if there is only one arrangement.
    medoids_ : (c,) int array
        The sample of every cluster that is nearest to its mean in feature space; -1 for an empty cluster.
    position_ : (m,) or (m, 2) array, or None
        Continuous position of each sample along a chain, ring, grid, tree or graph, as returned by `position`;
        `pseudotime` and `lineages` measure it from a root.
    structure_ : Structure
    cluster_names_ : (c,) array of str
        Names of the clusters, from the structure; their numbers where it has none. Structure
        and known labels decide which cluster has which name; a warning lists the names that could be exchanged.
    n_iter_ : int
    diagnostics_ : Bunch
        Further measurements; None for those that do not apply.

        - gamma: the inverse width in use.
        - size_prior: the one in use.
        - size_bound: no labeling with these cluster sizes has a larger F; tighter than `upper_bound_`.
        - history: F, with the gain from soft labels, after every pass of the best run; it never falls.
        - relaxed_objective: F of a relaxation before rounding.
        - ridge: that of the discriminative presets.
        - view_agreement, with kernel="auto": alignment of the kernels of the views (X as given, standardised, with
          scaled rows).
        - rbf_agreement, with kernel="auto": alignment of the clusters without structure with those of an rbf kernel; 1
          if they are the same.
        - extension_error: fraction of the kernel's functions that is missed at samples beyond its graphs.
        - cluster_similarity: mean similarities <mu_j, mu_k> = S_jk / (n_j n_k) between clusters, NaN for an empty one.
        - structures: the table from which structure="auto", "tree" or "graph" was chosen; that of `order_` if clusters
          have an order.
        - n_samples_seen: number of rows in all batches of `partial_fit`.
        - drift: fraction of the rows since the last clustering that lie far from the stored ones.
    n_features_in_ : int

    See Also
    --------
    KernelKMeans : Clusters without a structure.
    arrange : Assign given clusters to the nodes of a structure.
    seriate : Order the samples themselves.
    select_structure : Compare structures without labels.
    kernelclust.anndata.structured : Cluster the cells of an AnnData.

    References
    ----------
    .. [1] L. Song, A. Smola, A. Gretton and K. M. Borgwardt (2007). A dependence maximization view of clustering.
       *International Conference on Machine Learning*.
    .. [2] W. Zhong, W. Pan, J. T. Kwok and I. W. Tsang (2010). Incorporating the loss function into discriminative
       clustering of structured outputs. *IEEE Transactions on Neural Networks*.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import StructuredClustering
    >>> angle = np.repeat(np.arange(6) * np.pi / 3, 20)
    >>> X = np.c_[np.cos(angle), np.sin(angle)] + 0.05 * np.random.default_rng(0).standard_normal((120, 2))
    >>> model = StructuredClustering(structure="ring:6", random_state=0).fit(X)
    >>> step = np.diff(model.labels_[::20]) % 6  # next sector, next node: all +1 or all -1
    >>> bool(np.all(step == 1) or np.all(step == 5))
    True
    """

    _stream: Stream | None = None  # what batches have left
    _terms = KernelClusterer._terms | {"objective": as_objective, "solver": as_solver}
    _like: np.ndarray | None = None  # labels of the samples that clusters are to be numbered like

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        structure: Any = "flat",
        kernel: Any = "auto",
        approximation: Any = "auto",
        objective: Any = "dependence",
        solver: Any = "greedy",
        min_cluster_size: Any = None,
        max_cluster_size: Any = None,
        label_weight: float | None = None,
        compute_confidence: bool = True,
        max_iter: int = 100,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.structure = structure
        self.kernel = kernel
        self.approximation = approximation
        self.objective = objective
        self.solver = solver
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.label_weight = label_weight
        self.compute_confidence = compute_confidence
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, must_link: Any = None, cannot_link: Any = None
    ) -> Self:
        """Cluster the samples, and keep to what is known about them.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (m, d); (m, m) for kernel="precomputed" and "precomputed_graph"
            With kernel="precomputed_graph" also a networkx graph: its nodes are the samples, in the order of
            `list(graph)`, and the edge attribute "weight" (1 where an edge has none) holds their affinities.
            With kernel="precomputed" also an operator of your own (`kernelclust.kernels.KernelOperator`), which is
            defined for the fitted samples only, so that `predict` raises an error.
        y : array of shape (m,), optional
            Known labels: the node of a sample, 0 to c - 1, or -1 if it is unknown. If the structure has names
            ("chain:(seed,sprout,bloom)"), y may hold these, and '' or None for unknown. Do not pass the classes of all
            samples; leave y out to cluster without them. (If they are nodes of the structure they are returned as
            labels, else they are ignored, both with a warning.)
        sample_weight : array of shape (m,), optional
            A weight counts as that many copies of the sample. Samples of weight zero have no influence on the fit; they
            are labelled like new ones.
        must_link, cannot_link : arrays of shape (n, 2) or (m,), optional
            Pairs of sample indices that must, or must not, be in one cluster; or one integer per sample, the same
            for samples that belong together (`must_link`) or are all apart (`cannot_link`), -1 for none. Pairs
            are rows of the X passed to this call. Cross-validation fits on the rows of a fold but passes pairs on
            unchanged, so they would link other samples: use integers there, which are split with the samples.

        Every solver keeps labels (unless `label_weight` makes them soft), links and sizes exactly. A contradiction is
        an error, raised before any other work; sizes or links for which no labeling is found within a few seconds are
        an error too. `predict` does not use them.

        Clusters are assigned to nodes using both the data and the known labels. A label fixes its own sample and counts
        as evidence for the surrounding cluster; the assumed error rate grows with the overlap between clusters. One
        label rotates a ring or fixes the ends of a chain, labels of typical samples decide what the data leave open,
        many labels overrule the data, and a label that contradicts its cluster moves that sample alone. With few labels
        search="refine" follows them best: "global" maximises F, which may be largest with all unlabelled samples at
        other nodes.

        Returns
        -------
        self
        """
        return self._whole(X, y, sample_weight, must_link, cannot_link)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, refit: Any = "auto") -> Self:
        """Update the clusters with another batch of samples.

        A uniform sample of 5000 of all rows so far is stored. It is clustered again when the number of rows has doubled
        since the last clustering, or grown by a tenth if rows have drifted. Rows have drifted if more of them than
        chance explains lie farther from the stored rows than 99 % of these from each other; `diagnostics_.drift` is
        their fraction of the rows since the last clustering. A drift before the next clustering is due raises a
        warning. Clusters keep their numbers as far as structure and known labels allow. `labels_` and `position_`
        describe this batch under the current clusters; `predict` labels earlier batches. `objective_` and all evidence
        describe the stored rows, `diagnostics_.n_samples_seen` counts all. `fit` discards the stored rows.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (m, d)
        y : array of shape (m,), optional
            Known labels, -1 where they are unknown, as in `fit`. Labelled rows are stored in preference to others.
        sample_weight : array of shape (m,), optional
        refit : bool, default="auto"
            True clusters the stored rows again now; False never does, except with the first batch.

        Returns
        -------
        self
        """
        with working(f"{type(self).__name__}.partial_fit"), whole_or_nothing(self):
            self._check_parameters()
            structure = known_structure(self.n_clusters, self.structure, "partial_fit")
            add_batch(self, X, named_nodes(structure, y), sample_weight, structure, refit)
        return self

    def _fit(self, X, y, sample_weight, must_link, cannot_link):
        self._check_parameters()
        self._stream = None
        structure = check_structure(self.n_clusters, self.structure)
        check_findable(self, structure, y)
        links = {"must_link": must_link, "cannot_link": cannot_link}
        where(X).fit(self, X, y, sample_weight, structure, links)
        return self

    def _fit_here(self, X, y, sample_weight, structure: Structure, links: dict[str, Any]) -> None:
        """Fit samples in the memory of the host."""
        y = self._known_places(structure, y)
        X = self._check_samples(X, reset=True)
        remedy = ", or pass its matrix with kernel=Precomputed(indefinite='clip')"
        given = FittedKernel(X, Nothing(), remedy=remedy) if is_operator(X) else None
        if given is not None and (sample_weight is not None or not self._is_exact()):
            raise ValueError("X is a kernel operator: weights are part of it, and it is not approximated here.")
        weight = check_weights(sample_weight, X) if given is None else np.asarray(given.operator.weight, dtype=float)
        used = np.flatnonzero(weight > 0)
        check_enough_samples(len(used), structure)
        solver = self._make_solver().for_samples(used, len(weight), structure.n_clusters)
        known = self._known(weight, structure, y, allow_empty=solver.allow_empty, **links)
        self._warn_of_scales(X, weight)
        everything = len(used) == len(weight)
        samples = None if given else X if everything else self._subset(X, used)
        joined = False
        if samples is not None:
            known, joined = self._join_equal_rows([samples], weight, structure, known)
        constraints = known if known is None or everything else known.among(used)
        found = fit(InMemory(samples, weight[used], constraints, given), self._fit_config(structure, solver))
        if samples is not None and not joined:
            warn_of_lost_differences(found, samples, used)
        if self._like is not None:
            found = numbered_like(found, self._like[used])
        self._keep(found, None if self._is_pairwise() else samples)
        new = partial(self._rest, X, used)
        self._keep_all(len(weight), used, known, new, allow_empty=solver.allow_empty or joined)

    def _rest(self, X, used: np.ndarray, rest: np.ndarray):
        """Samples that took no part, as new ones."""
        if not self._is_pairwise():
            return X[rest]
        found = X[rest][:, used]
        if kernel_class(self.kernel).accepts_graphs:
            silent = np.flatnonzero(np.asarray(abs(found).sum(axis=1)).ravel() == 0)
            if len(silent):
                raise ValueError(
                    f"sample {rest[silent[0]]} has weight zero and no affinity with any sample of positive weight, so "
                    "nothing says where it belongs; give it a weight or an affinity, or leave it out."
                )
        return found

    def _keep(self, found: Fit, X: Any = None) -> None:
        """Store the result of a fit to X on the host."""
        self.objective_ = found.value
        self.upper_bound_ = found.upper_bound
        self.gap_ = found.gap
        self.n_iter_ = found.solution.n_iter
        self._diagnostics = {
            "gamma": found.kernel.gamma,
            "history": found.solution.history,
            "n_samples_seen": None,
            "drift": None,
            "rbf_agreement": found.diagnostics.get("rbf_agreement"),
            "extension_error": found.diagnostics.get("extension_error"),
            "relaxed_objective": found.solution.relaxed_value,
            "ridge": found.ridge,
            "size_bound": found.size_bound,
            "size_prior": found.objective.size_prior,
            "structures": found.structures,
            "view_agreement": found.diagnostics.get("view_agreement"),
        }
        self._keep_places(found, X)

    def predict(self, X: Any) -> np.ndarray:
        """Assign new samples to the cluster where F rises most, with the fitted clusters fixed.

        For a flat structure with normalize="l2" this is the cluster with the nearest mean. The same rule is used if
        clusters were assigned to nodes and not refined (see `search` of the solver).

        Parameters
        ----------
        X : array of shape (n, d); (n, m) similarities (affinities) with the fitted samples for
            kernel="precomputed" ("precomputed_graph")

        Returns
        -------
        labels : (n,) int array
        """
        return self._answer("labels", X, np.int64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the variance of X that the clusters explain, relative to the largest that c clusters can explain.

        (1 - sum_i w_i |phi(x_i) - mu_y(i)|^2 / sum_i w_i |phi(x_i) - mu|^2) / reach, a number in [0, 1]; larger is
        better. y(i) is the label that `predict` returns, mu_y and mu are the means of the fitted clusters and of all
        fitted samples in feature space, and reach is the largest fraction of variance of the fitted samples that c
        clusters can explain (the c - 1 leading eigenvalues of their centred kernel over its trace; 1 for the
        discriminative presets, whose variance is that of the kernel before its transformation). The score has no unit,
        so a grid search can compare widths of one kernel. It cannot compare numbers of clusters or kinds of kernels:
        "graph" and "auto" consist of a few smooth functions, which clusters explain nearly completely, whether they are
        correct or not. On the fitted samples of a flat l2 fit it is `objective_` / `upper_bound_`.
        """
        check_is_fitted(self)
        return where(X).score(self, X, sample_weight)

    def _new_samples(self, X):
        X = new_samples(self, X)
        return X if self._used is None or not self._is_pairwise() else X[:, self._used]

    def _warn_of_scales(self, X, weight: np.ndarray) -> None:
        kernel = self._kernel_term()
        if kernel.pairwise or not kernel.is_trusted or sparse.issparse(X):
            return
        if text := scale_warning(X, weight, self._column_names()):
            warn(text, ScaleWarning)

    # -- parts ----------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._check_kernel()
        objective, solver = self._make_objective(), self._make_solver()
        objective.check()
        solver.check()
        solver.check_placement(objective.placement)
        self._check_common()

    def _make_objective(self) -> Dependence:
        return as_objective(self.objective)

    def _make_solver(self) -> Solver:
        return as_solver(self.solver)

    def _fit_config(self, structure: Structure, solver: Solver) -> FitConfig:
        """Return the settings of the engine."""
        return FitConfig(
            structure,
            kernel=self._kernel_settings(),
            policy=policy_for(self.kernel),
            objective=self._make_objective(),
            solver=solver,
            run=Run(self.max_iter, self._report),
            random_state=self.random_state,
            confidence=bool(self.compute_confidence),
        )


def config_of(model: StructuredClustering, n_samples: int) -> FitConfig:
    """Return the checked settings of the engine for an estimator with these parameters."""
    model._check_parameters()
    structure = check_structure(model.n_clusters, model.structure)
    solver = model._make_solver().for_samples(np.arange(n_samples), n_samples, structure.n_clusters)
    return model._fit_config(structure, solver)


def adopt(model: StructuredClustering, found: Fit, X) -> StructuredClustering:
    """The estimator as if it had been fitted to X itself, with a fit that was made elsewhere."""
    X = model._check_samples(X, reset=True)
    model._warn_of_scales(X, np.ones(X.shape[0]))
    model._keep(found, None if model._is_pairwise() else X)
    model._used = None
    return model
