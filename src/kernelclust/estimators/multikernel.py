"""MultiKernelClustering: several kernels or views of the same samples, weighed and clustered together."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelclust._input import as_array, as_table, how_to_flatten, is_frame, listed
from kernelclust._names import check_name
from kernelclust.estimators._base import (
    FLOATS,
    KernelClusterer,
    among_all,
    check_enough_samples,
    known_structure,
)
from kernelclust.estimators._data import on_host, where
from kernelclust.estimators._placing import Placing
from kernelclust.estimators._views import fit_views, in_rows, new_views
from kernelclust.multikernel import (
    ManyFit,
    Method,
    MultiKernelConfig,
    Views,
    as_method,
    check_kernels,
    check_similarities,
    check_views,
    columns_of,
    fit_many,
    is_auto,
    is_many,
    one_kernel,
    pairwise_kernel,
)
from kernelclust.objectives import PLACEMENTS, Dependence, as_objective, check_weights
from kernelclust.structures import Structure


class MultiKernelClustering(Placing, KernelClusterer):
    """Cluster samples that are described by several kernels or views, and learn how much each of them counts.

    The default minimises (Liu et al. 2016, eq. 8)

        sum_p mu_p^2 Tr(K_p (I - H H')) + lam / 2 mu' M mu,   mu >= 0, sum mu = 1, H'H = I,

    where M holds the similarities of the kernels, so that similar kernels share one vote. Then it replaces the relaxed
    H by labels, and moves samples and updates weights in turn (refinement), with any structure. Kernels are centred and
    scaled to a unit diagonal first. Always compare with concatenated, standardised views.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters for "flat", "chain" and "ring" (8 if None). A structure that carries its size sets it; a
        number given as well must agree.
    method : str or Method, default="mkkm-mr"
        How the weights of kernels are learned. "average" is `kernelclust.multikernel.Average`, the mean kernel; "mkkm"
        is `MKKM`, weights without regularisation; "mkkm-mr" is `MKKMMR`, with it. An object has parameters, as in
        MKKMMR(lam=0.5, refine=False), and may be of your own class derived from `kernelclust.multikernel.Method`.
    kernel : "auto", "precomputed", kernel or list, default="auto"
        A kernel is an object such as `kernelclust.kernels.RBF(gamma=0.5)`, a name ("rbf", "linear", "graph", ...), a
        function k(X, Y) or a number (gamma of "rbf"). A list has one for each view (or a list of several for it); with
        a single view all are used for it. "auto" is (K_p + K) / 2, where K_p is kernel="auto" of a view and K that of
        all views together, with columns in units of their standard deviations and missing views replaced by their
        means; both consist of the smoothest functions on their graphs. (For methods on affinities, "auto" is "rbf".)
        The width of "rbf" is the median distance between samples, as in the papers; RBF() has that of
        `StructuredClustering`. "precomputed": X is a stack of kernels; Precomputed(indefinite="clip") or "shift"
        accepts kernels that are far from positive semidefinite.
    views : list or dict of columns, optional
        For X one table: the columns of every view, as names, numbers, a slice, or a function of X.
    structure : str, Structure or (c, c) array, default="flat"
        How clusters relate, as in `StructuredClustering`. Clusters are assigned to its nodes and refined there.
    approximation : str, Approximation or None, default="auto"
        As in `StructuredClustering`, of every kernel: exact kernels are in memory while all of them together fit
        scikit-learn's `working_memory`, and beyond that recomputed in every pass.
    objective : str or Dependence, default="dependence"
        As in `StructuredClustering`.
    min_cluster_size, max_cluster_size, label_weight
        As in `StructuredClustering`. With refine=False soft labels only help to assign clusters to nodes.
    compute_confidence : bool, default=True
        Whether to estimate how certain the order of the clusters is, as in `StructuredClustering`.
    max_iter : int, default=100
        Maximum number of steps of the method, of rounds of refinement, and of passes over the samples in each.
    random_state : int, RandomState or None
    verbose : int, default=0
        Log a line for each solution.

    Attributes
    ----------
    labels_ : (n,) int array
    weights_ : (m,) array
        Weights mu of the kernels; they add up to one.
    explained_ : (m,) array
        Fraction of each kernel's variance that lies between the clusters, 0 to 1: how closely the view is related to
        the clusters, whatever its weight.
    objective_ : float
        Minus the value of eq. (8) on the prepared kernels at `labels_` and `weights_` (with `refine`; for other methods
        and structures its counterpart), or minus the method's own objective at its relaxed solution (without): larger
        is better.
    order_confidence_, order_
        Evidence about the order of the clusters under the combined kernel, as in `StructuredClustering`.
    sizes_ : (c,) array
        Weight of every cluster.
    medoids_, position_
        As in `StructuredClustering`, in the feature space of the combined kernel.
    n_iter_ : int
        Steps of the method.
    diagnostics_ : Bunch
        history: `objective_` after every step, without the gain from soft labels; it never falls, except with power=1
        and methods that document it. kkt_residual: relative optimality gap of `weights_`, (mu'g - min g) / mu'g with g
        half the slope of eq. (8); zero if optimal. embedding: (n, k) relaxed labels; NaN for samples of weight zero.
        relaxed_objective: `objective_` before refinement. sample_weights: (n, m), of methods with weights for every
        sample. lam: in use; 0 for other methods. cluster_similarity: mean similarities between clusters.
    structure_, cluster_names_, n_features_in_

    Notes
    -----
    A sample that is missing from a view (a row of NaN, or False in `observed`) has similarity zero with all others in
    that view, as if it were at the view's mean, so the view has no influence on its label. Kernels are multiplied by
    n / (number of samples in the view), so that a view with few samples has no advantage. A sample that is missing from
    all views is an error.

    Sample weights count as copies. Memory: the kernels, which are not copied, and O(n m c).

    `predict` assigns new samples to the cluster where F of the combined kernel rises most; for flat clusters that is
    the nearest mean. For methods that do not combine kernels it uses their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from kernelclust import MultiKernelClustering
    >>> X, y = make_blobs(90, n_features=4, centers=3, random_state=0)
    >>> noise = np.random.default_rng(0).standard_normal((90, 3))
    >>> model = MultiKernelClustering(3, random_state=0).fit([X[:, :2], X[:, 2:], noise])
    >>> len(set(zip(y.tolist(), model.labels_.tolist())))
    3
    >>> model.weights_.shape
    (3,)
    """

    _terms = KernelClusterer._terms | {"kernel": one_kernel, "method": as_method, "objective": as_objective}
    _has_intervals = False  # several tables
    _in_rows: bool = False  # whether new samples are seen as one table of all views

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        method: Any = "mkkm-mr",
        kernel: Any = "auto",
        views: Any = None,
        structure: Any = "flat",
        approximation: Any = "auto",
        objective: Any = "dependence",
        min_cluster_size: Any = None,
        max_cluster_size: Any = None,
        label_weight: float | None = None,
        compute_confidence: bool = True,
        max_iter: int = 100,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.kernel = kernel
        self.views = views
        self.structure = structure
        self.approximation = approximation
        self.objective = objective
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.label_weight = label_weight
        self.compute_confidence = compute_confidence
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        observed: Any = None,
    ) -> Self:
        """Learn weights and labels, with known labels and links if there are any.

        Parameters
        ----------
        X : table (n, d); list of tables, one a view; or stack (m, n, n) or list of kernels for kernel="precomputed"
            Views may be Dask arrays or frames, or arrays on a device, for method="average" and "mkkm-mr" with kernels
            such as "rbf" or "linear"; `labels_` and `diagnostics_.embedding` are then of the same kind.
        y : array of shape (n,), optional
            Known labels: the node of a sample, 0 to c - 1, or -1 if it is unknown. Do not pass the classes of all
            samples; leave y out to cluster without them.
        sample_weight : array of shape (n,), optional
            A weight counts as that many copies of the sample. Samples of weight zero have no influence on the fit; they
            are labelled like new ones.
        must_link, cannot_link : arrays of shape (k, 2), optional
            Pairs of sample indices that must, or must not, be in one cluster.
        observed : bool array of shape (n, views), optional
            False where a sample is missing from a view; rows of NaN mean the same.

        Labels (unless `label_weight` makes them soft), links and sizes are kept exactly. A contradiction is an error,
        raised before any other work. The first kernel weights are learned without them; refinement then updates labels
        and weights in turn.

        Returns
        -------
        self
        """
        return self._whole(X, y, sample_weight, must_link, cannot_link, observed)

    def _fit(self, X, y, sample_weight, must_link, cannot_link, observed):
        self._check_parameters()
        structure = known_structure(self.n_clusters, self.structure, "MultiKernelClustering")
        place = where(X)
        if place.elsewhere:
            more = {"must_link": must_link, "cannot_link": cannot_link, "observed": observed}
            fit_views(self, place, X, y, sample_weight, structure, more)
            return self
        y, sample_weight = self._known_places(structure, on_host(y)), on_host(sample_weight)
        self._in_rows = False
        views = self._check_views(X, observed, reset=True)
        weight = check_weights(sample_weight, views.observed)
        used = np.flatnonzero(weight > 0)
        check_enough_samples(len(used), structure)
        self._make_method().check_weights(weight[used])
        known = self._known(weight, structure, y, must_link=must_link, cannot_link=cannot_link)
        everything = len(used) == len(weight)
        samples = views if everything else views.at(used)
        complete = bool(samples.observed.all())
        known, joined = self._join_equal_rows(samples.arrays, weight, structure, known, complete=complete)
        constraints = known if known is None or everything else known.among(used)
        found = fit_many(samples, weight[used], self._fit_config(structure), constraints)
        self._keep(found)
        self._keep_all(len(weight), used, known, lambda rest: views.rest(rest, used), allow_empty=joined)
        for name in ("embedding", "sample_weights"):
            if not everything and self._diagnostics[name] is not None:
                self._diagnostics[name] = among_all(self._diagnostics[name], used, len(weight))
        return self

    def _keep(self, found: ManyFit) -> None:
        """Store the result of a fit."""
        fit, relaxed, refined = found.fit, found.relaxed, found.refined
        self.weights_ = refined.weights
        self.explained_ = found.explained
        self.objective_ = -float(refined.objective)
        self.n_iter_ = len(relaxed.history)
        self._diagnostics = {
            "embedding": relaxed.embedding,
            "history": [-value for value in refined.history],
            "kkt_residual": float(refined.gap),
            "lam": relaxed.lam,
            "relaxed_objective": -float(relaxed.objective),
            "sample_weights": relaxed.by_sample,
        }
        self._keep_places(fit)

    def predict(self, X: Any, *, observed: Any = None) -> np.ndarray:
        """Assign new samples to the cluster where F of the combined kernel rises most; for flat ones the nearest mean.

        Parameters
        ----------
        X : as in `fit`; for kernel="precomputed" a stack (m, n_new, n) of similarities with the fitted samples. The
            similarity of a new sample with itself is then taken to be the mean of the fitted ones.
        observed : bool array of shape (n_new, views), optional

        Returns
        -------
        labels : (n_new,) int array
        """
        return self._answer("labels", X, np.int64, observed=observed)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, observed: Any = None) -> float:
        """Return the variance of X that the clusters explain, relative to the largest that c clusters can explain.

        (1 - sum_i w_i |phi(x_i) - mu_y(i)|^2 / sum_i w_i |phi(x_i)|^2) / reach, a number in [0, 1]; larger is better.
        phi are the features of the combined kernel, y(i) is the label that `predict` returns and mu_y the mean of a
        fitted cluster. reach is the largest fraction of the fitted samples that c clusters can explain (the leading
        eigenvalues of their combined kernel over its trace: c of them, or c - 1 if it is centred). y is ignored. As in
        `StructuredClustering` the score has no unit, so a grid search can compare kernels.
        """
        check_is_fitted(self)
        return where(X).score(self, X, sample_weight, observed=observed)

    def _new_samples(self, X, observed=None) -> Any:
        place = where(X)
        if place.elsewhere:
            table, check = self._new_rows(X, observed)
            return table if self._in_rows else check(table)
        views = self._check_views(X, observed, reset=False)
        return in_rows(views) if self._in_rows else views

    def _new_rows(self, X, observed=None) -> Any:
        if observed is not None:
            raise ValueError(
                "observed: not supported yet for views in partitions or on a device. Leave such samples out."
            )
        return new_views(self, where(X), X)

    def _trial_sample(self) -> Any:
        if super()._trial_sample() is None or self.views is not None or self._is_pairwise():
            return None  # columns may be chosen by name
        return [np.ones((1, width)) for width in self._widths]

    # -- checks ---------------------------------------------------------------------------------------------------

    def _is_pairwise(self) -> bool:
        return pairwise_kernel(self.kernel) is not None

    def _check_views(self, X, observed, *, reset: bool) -> Views:
        X = X if isinstance(X, (list, tuple)) and is_many(X) else as_array(X, missing=True)
        if self._is_pairwise():
            if self.views is not None:
                raise ValueError("views choose columns of a table; with kernel='precomputed' X holds kernels.")
            return self._check_similarities(X, observed, reset=reset)
        if is_many(X):
            _refuse_stack(X)
            if self.views is not None:
                raise ValueError("X is a list of views already; give views=None, or one table.")
            parts = list(X)
            view_names = [str(v) for v in range(len(parts))]
        elif self.views is None and is_frame(X):  # which keeps the names of its columns for messages
            validate_data(self, X, reset=reset, skip_check_array=True)
            parts, view_names = [X], ["X"]
        elif self.views is None:
            X = as_table(X, missing=True)
            options = {"dtype": FLOATS, "accept_sparse": "csr", "ensure_all_finite": False}
            parts, view_names = [validate_data(self, X, reset=reset, **options)], ["X"]
        else:  # columns of no view may hold anything
            validate_data(self, X, reset=reset, skip_check_array=True)
            parts, view_names = columns_of(X, self.views)
        views = check_views(parts, view_names, observed)
        self._check_columns([array.shape[1] for array in views.arrays], X, reset=reset)
        return views

    def _check_columns(self, widths: list[int], X: Any, *, reset: bool) -> None:
        """Remember how many columns each view has, and in a list of views their names; or check both."""
        many = isinstance(X, (list, tuple)) and is_many(X)
        names = [_names_of(view) for view in X] if many else []
        if reset:
            self._widths, self._view_names = widths, names
        elif widths != self._widths:
            raise ValueError(
                f"X has views of {widths} features, but {type(self).__name__} was fitted with {self._widths} features."
            )
        for view, (own, fitted) in enumerate(zip(names, self._view_names, strict=False)):
            if own and fitted and own != fitted:
                raise ValueError(
                    f"The feature names should match those that were passed during fit: view {view} has {listed(own)}, "
                    f"and was fitted with {listed(fitted)}."
                )
        if reset and many:
            self.n_features_in_ = sum(widths)
            self.__dict__.pop("feature_names_in_", None)

    def _check_similarities(self, X, observed, *, reset: bool) -> Views:
        if reset:
            views = check_kernels(X, observed)
            self.n_features_in_ = views.n_samples
            self._observed = views.observed
            self.__dict__.pop("feature_names_in_", None)
            return views
        parts = check_similarities(X, self._observed)
        used = (
            self._observed
            if self._used is None
            else self._observed & np.isin(np.arange(len(self._observed)), self._used)[:, None]
        )
        parts = [part[:, used[:, p]] for p, part in enumerate(parts)]
        return check_views(parts, [str(p) for p in range(len(parts))], observed)

    def _check_parameters(self) -> None:
        self._make_method()
        self._make_objective()
        self._approximation_term()
        self._check_common()

    def _make_method(self) -> Method:
        return as_method(self.method)

    def _make_objective(self) -> Dependence:
        objective = as_objective(self.objective)
        check_name("placement", objective.placement, PLACEMENTS)
        return objective

    def _fit_config(self, structure: Structure) -> MultiKernelConfig:
        """Return the settings of the fit."""
        method = self._make_method()
        return MultiKernelConfig(
            structure,
            method,
            kernel=method.default_kernel if is_auto(self.kernel) else self.kernel,
            approximation=self._approximation_term(),
            objective=self._make_objective(),
            max_iter=self.max_iter,
            random_state=self.random_state,
            confidence=bool(self.compute_confidence),
            report=lambda line: self._report(f"{method.name}: {line}"),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_pairwise()
        tags.input_tags.sparse = not self._is_pairwise()
        return tags


def _names_of(view: Any) -> list[str] | None:
    """Return the names of the columns of a frame, None for arrays and names that are no texts."""
    names = list(getattr(view, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _refuse_stack(X) -> None:
    """Three dimensions may be images, or views, or kernels: which, has to be said."""
    if not isinstance(X, (list, tuple)):
        n, each = X.shape[:2]
        raise ValueError(
            f"X has shape {X.shape}: {how_to_flatten(X.shape)}; for {n} views of {each} samples give list(X); for {n} "
            "kernels set kernel='precomputed'."
        )
