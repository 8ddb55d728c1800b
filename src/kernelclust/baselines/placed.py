"""Any clusterer, its clusters then put in place."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import validate_data

from kernelclust._input import as_table, check_finite
from kernelclust.engine import canonical_places
from kernelclust.estimators import Saving, check_enough_samples, equal_labels, whole_or_nothing
from kernelclust.objectives import make_dependence
from kernelclust.solvers import best_placement, placement_margin, placement_problem
from kernelclust.structures import Structure, as_structure


class PlacedClustering(Saving, ClusterMixin, BaseEstimator):
    """Cluster without structure, then arrange the clusters: neighbours on the structure should have close means.

    "k-means and the shortest path through its centres", for any structure: the placement minimises
    sum_jk A_jk |mu_j - mu_k|^2, all arrangements compared up to 7 clusters, by local search beyond. What every ordered
    clustering has to beat; `StructuredClustering` does the same in the feature space of a kernel and then lets the
    arrangement improve the clusters.

    Parameters
    ----------
    clusterer : scikit-learn clusterer, optional
        Its `n_clusters`, where it has one, is set to the structure's; otherwise it must find as many clusters by
        itself. None is KMeans with 10 starts.
    structure : str, Structure or (c, c) array, default="ring:10"
    random_state : int, RandomState or None
        Seed of the clusterer, where it takes one that is not set yet.

    Attributes
    ----------
    labels_ : (m,) int array
        Place of every sample.
    clusterer_ : the fitted clusterer
    placement_margin_ : float
        As in `StructuredClustering`.
    structure_ : Structure
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust.baselines import PlacedClustering
    >>> X = np.repeat([[3.0], [1.0], [0.0], [2.0]], 5, axis=0)
    >>> labels = PlacedClustering(structure="chain:4", random_state=0).fit_predict(X)[::5]
    >>> sorted([labels.tolist(), (3 - labels).tolist()])[0]  # a chain has two directions
    [0, 2, 3, 1]
    """

    def __init__(self, clusterer=None, *, structure="ring:10", random_state=None):
        self.clusterer = clusterer
        self.structure = structure
        self.random_state = random_state

    def fit(self, X, y=None):
        """Cluster the samples, then place the clusters.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (m, d)
        y : ignored

        Returns
        -------
        self
        """
        with whole_or_nothing(self):
            return self._fit(X)

    def _fit(self, X):
        sparse = self._takes_sparse()
        options = {"dtype": [np.float64, np.float32], "accept_sparse": "csr" if sparse else False}
        X = validate_data(self, as_table(X), ensure_all_finite=False, **options)
        check_finite(X, getattr(self, "feature_names_in_", None))
        structure = as_structure(self.structure)
        check_enough_samples(X.shape[0], structure)
        clusterer = self._make_clusterer(structure)
        equal = equal_labels([X], structure.n_clusters)
        if equal is None:
            _check_squares(X)
        labels = clusterer.fit_predict(X if equal is None else 0 * X)
        labels = _check_labels(labels if equal is None else equal, X.shape[0], structure, clusterer)

        S, n = _mean_products(X, labels, structure.n_clusters)
        objective = make_dependence(structure)
        place = best_placement(placement_problem("distance", objective, S, n))
        order = np.argsort(place)
        S, n = S[np.ix_(order, order)], n[order]
        margin = placement_margin(placement_problem("distance", objective, S, n))

        self.structure_ = structure
        self.clusterer_ = clusterer
        self.placement_margin_ = margin
        self.labels_ = canonical_places(structure, S, n)[place[labels]] if equal is None else equal
        return self

    def _make_clusterer(self, structure: Structure):
        if self.clusterer is None:
            clusterer = KMeans(n_init=10)
        elif hasattr(self.clusterer, "fit_predict") and hasattr(self.clusterer, "get_params"):
            clusterer = clone(self.clusterer)
        else:
            raise TypeError(
                f"clusterer={self.clusterer!r} is no scikit-learn clusterer: it needs fit_predict and get_params, "
                "like KMeans()."
            )
        params = clusterer.get_params(deep=False)
        settings = {"n_clusters": structure.n_clusters} if "n_clusters" in params else {}
        if "random_state" in params and params["random_state"] is None:
            settings["random_state"] = check_random_state(self.random_state).randint(2**31 - 1)
        return clusterer.set_params(**settings)

    def _takes_sparse(self) -> bool:
        known = hasattr(self.clusterer, "__sklearn_tags__")
        return self.clusterer is None or (known and get_tags(self.clusterer).input_tags.sparse)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags


def _check_squares(X) -> None:
    """Clusterers square what they are given, in its own precision."""
    largest, limit = float(abs(X).max()), float(np.sqrt(np.finfo(X.dtype).max / (4 * X.shape[1])))
    if largest > limit:
        raise ValueError(f"X holds numbers of size {largest:.3g}, whose squares overflow in {X.dtype}: rescale X.")


def _check_labels(found, n_samples: int, structure: Structure, clusterer) -> np.ndarray:
    """Labels 0 .. c - 1 (m,), one for each place."""
    values, labels = np.unique(np.asarray(found), return_inverse=True)
    c = structure.n_clusters
    if len(labels) != n_samples or len(values) != c or (np.issubdtype(values.dtype, np.number) and values[0] < 0):
        noise = int(np.sum(np.asarray(found) == -1))
        raise ValueError(
            f"{type(clusterer).__name__} found {len(values) - (noise > 0)} clusters and left {noise} samples out, but "
            f"structure '{structure}' has {c} places, one for each cluster. Change the clusterer's settings or the "
            "structure."
        )
    return labels


def _mean_products(X, labels: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """S (c x c) with S_jk = n_j n_k <mu_j, mu_k>, means centred and in units of the largest, and sizes n (c,)."""
    n = np.bincount(labels, minlength=n_clusters).astype(float)
    means = np.vstack([np.asarray(X[labels == j].mean(axis=0)).reshape(1, -1) for j in range(n_clusters)]).astype(float)
    means = means - means.mean(axis=0)
    means /= max(np.abs(means).max(), np.finfo(float).tiny)
    sums = n[:, None] * means
    return sums @ sums.T, n
