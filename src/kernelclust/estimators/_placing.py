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
    """Mixin with distances, soft membership, continuous positions and the evidence about the order of the clusters.

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
        """Evidence about the order of the clusters; None if there is only one arrangement ("flat")."""
        sizes, labels = to_host(self.sizes_), to_host(self.labels_)
        return cluster_order(self._order, self._margin, self.structure_, self._placing, sizes, labels, self._asked)

    @property
    def diagnostics_(self) -> Bunch:
        """Further measurements of the fit; None for those that do not apply."""
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
        """Return the distances |phi(x) - mu_j| to the cluster means in the kernel's feature space, as KMeans does.

        |phi(x) - mu_j|^2 = k(x, x) - 2 G_j / n_j + S_jj / n_j^2, with G_j the similarities of x with cluster j, summed,
        and S_jj those within the cluster. Fitted samples have the distances that they had in the fit. Kernels that
        exist between fitted samples only ("graph", "diffusion", "auto") represent a new sample by the mean of the
        nearest fitted ones. For given similarities, k(x, x) is the mean of those of the fitted samples. Discriminative
        presets use the kernel before its transformation. In a pipeline that ends in a classifier, the classes reach
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

        The temperature t is estimated in the fit: samples are modelled as a mixture of round Gaussians of equal weight
        around the cluster means, in the directions in which these differ, and t is the variance of largest likelihood.
        So the probabilities are calibrated if clusters are round in feature space and of similar size. For clusters
        that do not overlap they are 0 and 1.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        membership : (n, c) array
            Rows add up to one. 0 for a cluster without samples.
        """
        check_is_fitted(self)
        return self._answer("membership", X, width=self._n_features_out)

    @_exists_if(lambda self: self._has_positions)
    def position(self, X: Any) -> np.ndarray:
        """Return continuous positions along the structure: label j covers j - 0.5 to j + 0.5.

        Samples of cluster j (the label that `predict` returns) are ranked by <phi(x), mu_(j+1) - mu_(j-1)>: the nearer
        a sample is to the next cluster than to the previous one, the larger its position. The position is j - 0.5 plus
        the fraction of the fitted samples of the cluster with a lower rank, so that these are spread evenly (plus 0.5
        if the cluster has no neighbours, or all are empty). On a graph, samples of cluster j are ranked in this way
        along every edge at j, by <phi(x), mu_k - mean of the other neighbours' means>, and a sample lies on the edge
        along which its position is largest.

        Parameters
        ----------
        X : as in `predict`

        Returns
        -------
        position : (n,) or (n, 2) array
            Chain: -0.5 to c - 0.5. Ring: 0 to c, without c; cluster 0 lies around 0. Grid: row and column. Graph,
            matrix (clusters with A_jk > 0 are linked) or estimated tree: the number e of an edge in
            `structure_.edges()`, and the fraction of the way from cluster edges[e][0] (0) to edges[e][1] (1). In a
            cluster with one edge, half of the samples lie beyond the end of that edge: -0.5 to 0, or 1 to 1.5, so that
            a chain given as a graph has the positions of a chain. NaN in a cluster without an edge. Taxonomy: the leaf,
            and the position from its outer side (0) towards the other leaves of the same parent (1). Product: the
            columns of its factors if all factors have positions, else an edge and a fraction. Flat structures, and
            those in which all clusters are linked, have no positions and raise a ValueError.
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
        """Return the distance of samples from a root cluster along the structure, in steps between neighbours.

        It is the distance of `position(X)` from the root. If the root is at an end of a chain, a graph or a row of a
        grid, the distance starts at its outer side, so that the first sample is near 0; otherwise it starts at the
        middle of the root and grows in all directions. On a ring it is the shorter of both directions, on grids and
        products the sum over the columns.

        Parameters
        ----------
        X : as in `predict`, or None
            None: the fitted samples, by `position_`.
        root : int, str or list of these, default=0
            Number or name of the cluster where time begins. With several roots the nearest one counts.

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

        This works on chains, and on connected graphs without a cycle whose nodes are the clusters. The two matrices are
        the arguments `pseudotime` and `cellWeights` of tradeSeq's `fitGAM`.

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

        The true position is the one that a sample would have if all samples stood in their true order. The model is a
        line through the cluster means, from which samples deviate by noise: in X or, with the default kernel, in the
        view of X in which clusters are most distinct. Noise perpendicular to the line is measured; noise along the line
        is assumed to be as large as in the noisiest perpendicular direction. This gives the probability of every
        position for a sample, which is then averaged over samples with a similar estimated position.

        If small perturbations of the distances between the clusters change their arrangement, intervals cover these
        nodes too. Beyond that an interval assumes that the order of the clusters is correct, and that there is noise in
        more than one direction: it is too short with one column, or without noise perpendicular to the line, and longer
        with columns of pure noise. docs/guide/how-sure.md reports the fraction of true positions inside the intervals.

        Parameters
        ----------
        X : as in `predict`, or None
            None: the fitted samples, by `position_`.
        level : float, default=0.8
            Probability that an interval contains the true value, between 0 and 1.

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

        It contains the true pseudotime under the assumptions of `position_interval`.

        Parameters
        ----------
        X : as in `predict`, or None
            None: the fitted samples, by `position_`.
        root : int, str or list of these, default=0
            As in `pseudotime`.
        level : float, default=0.8
            Probability that an interval contains the true value, between 0 and 1.

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
