"""The clusters in the user's own columns: profile, typical and borderline rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust.plots import column_profile, differing_columns, silhouettes

SHOWN = 3  # columns, and rows, that a cluster is told by
CLEAR = 0.5  # standard deviations from the mean of all rows, from which a column tells
MOST_COLUMNS = 40  # of the profile: those that differ most between clusters
MOST_ROWS = 20_000  # that distances are looked at for


@dataclass
class Profile:
    """Means of the columns, (c, d) in their own units and in standard deviations from the mean of all rows."""

    names: list[str]
    means: np.ndarray
    scores: np.ndarray
    sizes: np.ndarray  # (c,)

    def telling(self, cluster: int) -> list[tuple[str, float, float]]:
        """(column, mean, score) of the columns by which a cluster differs most from all rows."""
        row = self.scores[cluster]
        order = np.argsort(-np.abs(row), kind="stable")[:SHOWN]
        return [(self.names[k], self.means[cluster, k], row[k]) for k in order if abs(row[k]) >= CLEAR]

    def columns(self) -> np.ndarray:
        """Return the columns that differ most between clusters, in the order that they have."""
        return differing_columns(self.scores, self.sizes, MOST_COLUMNS)


def profile(X: Any, labels: np.ndarray, n_clusters: int, names: list[str]) -> Profile:
    """Return the means of the columns of X (m x d) in every cluster; NaN for an empty one."""
    return Profile(names, *column_profile(X, labels, n_clusters), np.bincount(labels, minlength=n_clusters))


@dataclass
class Rows:
    """Rows that a cluster is told by, and how far apart clusters are."""

    typical: list[np.ndarray]  # of each cluster, the nearest to its mean first
    borderline: list[np.ndarray]  # of each, those nearly as near to another
    distances: np.ndarray  # (s, c) of the rows looked at, to the means of clusters
    looked_at: np.ndarray  # (s,)
    silhouette: np.ndarray  # (s,) in [-1, 1], by distances to means


def rows(model: Any, X: Any) -> Rows:
    """Typical and borderline rows, by distances in feature space."""
    labels = np.asarray(model.labels_)
    some = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MOST_ROWS)).astype(int))
    D = np.asarray(model.transform(X[some]), dtype=float)
    mine = D[np.arange(len(some)), labels[some]]
    silhouette = silhouettes(D, labels[some])
    typical, borderline = [], []
    for j in range(D.shape[1]):
        inside = np.flatnonzero(labels[some] == j)
        typical.append(some[inside[np.argsort(mine[inside], kind="stable")[:SHOWN]]])
        near = inside[np.argsort(silhouette[inside], kind="stable")[:SHOWN]] if len(inside) > SHOWN else inside[:0]
        borderline.append(some[near])
    return Rows(typical, borderline, D, some, silhouette)
