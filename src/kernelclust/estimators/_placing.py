"""Methods of estimators whose clusters have means and nodes, beyond labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelclust._arrays import to_host
from kernelclust._warnings import warn
from kernelclust.constraints import Constraints
from kernelclust.engine import (
    ClusterOrder,
    Fit,
    Order,
    Places,
    PositionErrors,
    Prediction,
    StructureTable,
    cluster_order,
    confidence_of,
)
from kernelclust.engine.holders import as_rows
from kernelclust.estimators._data import where
from kernelclust.estimators._pseudotime import Lineages, Placed, check_errors
from kernelclust.solvers import PlacementProblem
from kernelclust.structures import Structure

Method = TypeVar("Method", bound=Callable)


def _exists_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return scikit-learn's `available_if`, which type checkers would lose the types of the method by."""
    decorator: Callable[[Method], Method] = available_if(check)
    return decorator


class Placing(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Distances, soft membership, continuous positions and the evidence about the order of the clusters.

    A subclass writes `_new_samples` and calls `_keep_places`.
    """

    structure_: Structure
    sizes_: np.ndarray
    labels_: np.ndarray
    position_: np.ndarray | None
    medoids_: np.ndarray
    order_confidence_: float | None
    _used: np.ndarray | None
    _prediction: Prediction
    _places: Places
    _placing: PlacementProblem
    _diagnostics: dict[str, Any]
    _order: Order | None
    _margin: float
    _errors: PositionErrors | None
    _has_positions: bool = True
    _has_intervals: bool = True
    _asked: np.ndarray  # (m,) rank in the cluster by distance to its mean; -1: there is nothing to ask

    @abstractmethod
    def _new_samples(self, X) -> Any:
        """New samples, checked, as the prediction takes them."""

    def _new_rows(self, X) -> tuple[Any, Callable]:
        """New samples in partitions, as one Dask array, and the way from a block of it to what the prediction takes."""
        return as_rows(X), self._new_samples

    def _answer(self, way: str, X, dtype=np.float64, width=None, **more) -> Any:
        """Return the positions of new samples, in the array library of these."""
        check_is_fitted(self)
        return where(X).answer(self, way, X, dtype, width, **more)

    @property
    def order_(self) -> ClusterOrder | None:
        """Evidence about the order of the clusters; None where the structure has one arrangement only ("flat")."""
        sizes, labels = to_host(self.sizes_), to_host(self.labels_)
        return cluster_order(self._order, self._margin, self.structure_, self._placing, sizes, labels, self._asked)

    @property
    def diagnostics_(self) -> Bunch:
        """Further measurements of the fit; None for what does not apply."""
        with np.errstate(invalid="ignore", divide="ignore"):
            n = to_host(self._prediction.n)
            similarity = to_host(self._prediction.sums) / np.outer(n, n)
        return Bunch(**self._diagnostics, cluster_similarity=similarity)

    @property
    def _n_features_out(self) -> int:
        return int(self.sizes_.shape[0])

    def _keep_places(self, found: Fit, X: Any = None) -> None:
        self.structure_, self.sizes_, self.labels_ = found.structure, found.n, found.all_labels
        self._prediction = found.prediction()
        located = found.places(self._prediction, X)
        self._places, self._asked, self.position_, self.medoids_, self._errors = located
        self._placing, self._margin, self._order = found.placing, found.placement_margin, found.order
        self.order_confidence_ = confidence_of(found.order)

    def _keep_rest(self, X_rest, rest: np.ndarray, used: np.ndarray, labels: np.ndarray) -> None:
        """Make room for samples of weight zero, which are placed as new ones, with these labels of all samples."""
        self.medoids_ = np.where(self.medoids_ >= 0, used[self.medoids_], -1)
        asked, self._asked = self._asked, np.full(len(labels), -1)
        self._asked[used] = asked
        if self.position_ is not None:
            position, self.position_ = self.position_, np.empty((len(labels), *self.position_.shape[1:]))
            self.position_[used] = position
            self.position_[rest] = self._places.position(X_rest, labels[rest])

    def _keep_all(
        self, n_samples: int, used: np.ndarray, known: Constraints | None, new: Callable, *, allow_empty: bool = False
    ) -> None:
        """Label samples of weight zero as new ones, `new(rest)`, but where something is known about them."""
        self._used = None if len(used) == n_samples else used
        if self._used is not None:
            labels = np.full(n_samples, -1, dtype=self.labels_.dtype)
            labels[used] = self.labels_
            rest = np.flatnonzero(labels < 0)
            X_rest = new(rest)
            rises = self._prediction.rises(X_rest)
            labels[rest] = np.argmax(rises, axis=1) if known is None else known.complete(labels, rest, rises)
            self.labels_ = labels
            self._keep_rest(X_rest, rest, used, labels)
        if known is None:
            return
        told = (known.place >= 0) | known.soft_bonus.any(axis=1)  # fully or softly: these are not asked for
        self._asked[told[known.block]] = -1
        if not allow_empty and not self.sizes_.all():
            empty = np.flatnonzero(self.sizes_ == 0)
            which = f"cluster {empty[0]} is" if len(empty) == 1 else f"clusters {', '.join(map(str, empty))} are"
            warn(f"{which} empty: labels and links keep all samples in other clusters.")

    def transform(self, X: Any) -> np.ndarray:
        """Distances |phi(x) - mu_j| to the means of the clusters in the kernel's feature space, as KMeans has them.

        |phi(x) - mu_j|^2 = k(x, x) - 2 G_j / n_j + S_jj / n_j^2, with G_j the similarities of x with cluster j, summed,
        and S_jj those within the cluster. Fitted samples have the distances that they had in the fit. Kernels that
        exist between fitted samples only ("graph", "diffusion", "auto") know a new sample as the mean of the fitted
        ones nearest to it; for given similarities k(x, x) is taken to be the mean of the fitted ones. Discriminative
        presets measure by the kernel that theirs is made of. In a pipeline that ends in a classifier the classes reach
        `fit` as known labels, with a warning.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        distances : (n, c) array, or a frame after `set_output`
            NaN for a cluster without samples, which has no mean.
        """
        check_is_fitted(self)
        return self._answer("distances", X, width=self._n_features_out)

    def membership(self, X: Any) -> np.ndarray:
        """Return soft labels: the probability of every cluster for a sample.

            p_j = e^(-|phi(x) - mu_j|^2 / 2t) / sum_k e^(-|phi(x) - mu_k|^2 / 2t).

        The temperature t comes from the fit: samples are taken to scatter around the means alike in every direction in
        which means differ, with the variance t that makes the fitted samples most likely (a mixture of such clouds, all
        of the same weight, its means held). So a share of 0.8 means what it says where clusters are round in feature
        space and of similar size; clusters that never overlap have shares of 0 and 1.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        shares : (n, c) array
            Rows add up to one. 0 for a cluster without samples.
        """
        check_is_fitted(self)
        return self._answer("membership", X, width=self._n_features_out)

    @_exists_if(lambda self: self._has_positions)
    def position(self, X: Any) -> np.ndarray:
        """Return a continuous place along the structure: label j stands for j - 0.5 to j + 0.5.

        Within its cluster j (the label that `predict` gives) a sample lies the farther along the nearer it is to the
        next cluster than to the one before: by <phi(x), mu_(j+1) - mu_(j-1)>. Its place is j - 0.5 plus the share of
        the fitted samples of the cluster that are behind it, so that these are spread evenly (0.5 where all neighbours
        of the cluster are empty, or it has none). On a graph a sample of cluster j is compared in this way along every
        edge at j, by <phi(x), mu_k - mean of the other neighbours' means>, and lies on the edge on which it has come
        farthest.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        position : (n,) or (n, 2) array
            A chain: -0.5 to c - 0.5. A ring: 0 to c, c left out; cluster 0 lies around 0. A grid: row and column. A
            graph of yours, a matrix (clusters with A_jk > 0 are linked) and a found tree: the number e of an edge in
            `structure_.edges()`, and the fraction of the way from cluster edges[e][0] (0) to edges[e][1] (1). At an end
            of a graph, a cluster with one edge, the half that is turned away lies beyond it: -0.5 to 0, or 1 to 1.5, so
            that a chain drawn as a graph has the positions of a chain. NaN in a cluster without an edge. A taxonomy:
            the leaf, and how far from its far side (0) towards the other leaves below the same parent (1). A product:
            the columns of its factors, if all of them have some, else an edge and a fraction. Nothing lies between the
            clusters of a flat structure, nor where each is linked to all others: a ValueError.
        """
        check_is_fitted(self)
        scales = self._places.scales
        if scales is None:
            raise ValueError(
                f"structure '{self.structure_}' has no positions between its clusters; positions exist on chains, "
                "rings, grids, trees, graphs and products of these. transform(X) has the distances to all clusters."
            )
        return self._answer("position", X, width=scales.width)

    @_exists_if(lambda self: self._has_positions)
    def pseudotime(self, X: Any = None, *, root: Any = 0) -> np.ndarray:
        """Return how far samples are from a root cluster along the structure; neighbouring clusters are one step apart.

        The distance of `position(X)` from the root: from its outer side where it is at an end of a chain, a graph or a
        row of a grid, so that the first sample is near 0; from its middle, in all directions, elsewhere. On a ring the
        shorter way round, on a grid and on products the sum over the columns.

        Parameters
        ----------
        X : as in `predict`, or None
            None: the fitted samples, by `position_`.
        root : int, str or list of these, default=0
            Number or name of the cluster that time begins in. Of several roots the nearest one counts.

        Returns
        -------
        pseudotime : (n,) array

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from kernelclust import StructuredClustering
        >>> fork = nx.Graph([("stem", "split"), ("split", "left"), ("split", "right")])
        >>> centre = np.array([[0, 0], [0, 4], [-3, 7], [3, 7]])
        >>> y = np.full(80, "", dtype=object)
        >>> y[[0, 20, 40, 60]] = "stem", "split", "left", "right"
        >>> X = np.repeat(centre, 20, axis=0) + np.random.default_rng(0).standard_normal((80, 2))
        >>> model = StructuredClustering(structure=fork, kernel="linear", random_state=0).fit(X, y)
        >>> time = model.pseudotime(root="stem")
        >>> [round(float(time[i : i + 20].mean()), 1) for i in (0, 40, 60)]
        [0.5, 2.5, 2.5]
        """
        return self._placed(X).pseudotime(root)

    @_exists_if(lambda self: self._has_positions)
    def lineages(self, X: Any = None, *, root: Any = 0) -> Lineages:
        """Return the paths from a root cluster to all other ends, and pseudotime and weight of samples on each.

        For chains, and graphs whose nodes are the clusters, all of them connected, without a cycle. tradeSeq's
        `fitGAM` takes the two matrices as they are (`pseudotime`, `cellWeights`).

        Parameters
        ----------
        X : as in `predict`, or None
            None: the fitted samples, by `position_`.
        root : int or str, default=0
            Number or name of the cluster that all paths begin in.

        Returns
        -------
        lineages : Lineages
            `paths`, `pseudotime` (n, n_paths) and `weights` (n, n_paths).
        """
        return self._placed(X).lineages(root)

    @_exists_if(lambda self: self._has_positions and self._has_intervals)
    def position_interval(self, X: Any = None, *, level: float = 0.8) -> np.ndarray:
        """Return an interval around the position of each sample on a chain or ring, in which its true position lies.

        The true position is the one that a sample would have if all samples stood in their true order. Clusters are
        seen as a line through their means, from which samples deviate by noise: in X or, with the default kernel, in
        that of its views in which clusters are most distinct. Noise across the line can be measured; along the line, it
        is taken to be as large as across it in the noisiest direction. This gives the probability of every position for
        a sample, which is then averaged over the samples that were given a similar position.

        Where slightly changed distances between the clusters arrange them otherwise, intervals cover these nodes too.
        Beyond that an interval takes for granted that the order of the clusters is right, and that samples differ by
        noise in more than one direction: with one column, or none across the line, it is too short, and columns of
        mere noise make it longer. docs/guide/how-sure.md has the shares of samples that lay in their intervals.

        Parameters
        ----------
        X : as in `predict`, or None
            None: the fitted samples, by `position_`.
        level : float, default=0.8
            Probability that an interval is to have, between 0 and 1.

        Returns
        -------
        interval : (n, 2) array
            Lower and upper end; the position lies between them. On a ring, ends are not taken modulo c: from -0.3 to
            0.4 is around cluster 0.
        """
        errors = self._checked_errors(level)
        return self._placed(X).position_interval(errors, level)

    @_exists_if(lambda self: self._has_positions and self._has_intervals)
    def pseudotime_interval(self, X: Any = None, *, root: Any = 0, level: float = 0.8) -> np.ndarray:
        """Return an interval around the pseudotime of each sample, on chains, rings and graphs.

        It has the true pseudotimes as `position_interval` has the true positions.

        Parameters
        ----------
        X : as in `predict`, or None
            None: the fitted samples, by `position_`.
        root : int, str or list of these, default=0
            As in `pseudotime`.
        level : float, default=0.8
            Probability that an interval is to have, between 0 and 1.

        Returns
        -------
        interval : (n, 2) array
            Lower and upper end.
        """
        errors = self._checked_errors(level)
        return self._placed(X).pseudotime_interval(root, errors, level)

    def _checked_errors(self, level: float) -> PositionErrors:
        check_is_fitted(self)
        return check_errors(self._errors, level)

    def _placed(self, X: Any) -> Placed:
        """Return the positions of samples, of the fitted ones where X is None."""
        check_is_fitted(self)
        return Placed.of(self, self.position_ if X is None and self.position_ is not None else self.position(X))


def has_intervals(model: Any) -> bool:
    """Return whether a fitted model has intervals of positions or pseudotimes."""
    return getattr(model, "_errors", None) is not None and model._has_positions and model._has_intervals


def structures_of(model: Any) -> StructureTable | None:
    """Return the probabilities of structures over the clusters of a fitted model; None where there are none.

    Those that the structure was found by, where it was; else those of the fit.
    """
    found = getattr(model, "diagnostics_", {}).get("structures")
    order = getattr(model, "order_", None)
    return found if found is not None or order is None else order.structures
