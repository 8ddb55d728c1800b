"""The clusters in the user's own columns: profile, typical and borderline rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

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

    def telling(self, cluster: int) -> list[tuple[str, float, float]]:
        """(column, mean, score) of the columns by which a cluster differs most from all rows."""
        row = self.scores[cluster]
        order = np.argsort(-np.abs(row), kind="stable")[:SHOWN]
        return [(self.names[k], self.means[cluster, k], row[k]) for k in order if abs(row[k]) >= CLEAR]

    def columns(self) -> np.ndarray:
        """The columns that differ most between clusters, in the order that they have."""
        spread = np.nan_to_num(np.abs(self.scores)).max(axis=0)
        return np.sort(np.argsort(-spread, kind="stable")[:MOST_COLUMNS])


def profile(X: Any, labels: np.ndarray, n_clusters: int, names: list[str]) -> Profile:
    """Means of the columns of X (m x d) in every cluster; nan for an empty one."""
    Pi = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))
    n = Pi.sum(axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        means = _dense(Pi @ X) / n
        centre = _dense(np.ones((1, len(labels))) @ X).ravel() / len(labels)
        if sparse.issparse(X):
            spread = np.sqrt(np.maximum(_dense(X.multiply(X).mean(axis=0)).ravel() - centre**2, 0))
        else:
            spread = np.std(X, axis=0)
        scores = np.where(spread > 1e-12 * np.abs(centre), (means - centre) / np.where(spread > 0, spread, 1.0), 0.0)
    return Profile(names, means, np.where(n > 0, np.nan_to_num(scores), np.nan))


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=float)


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
    rest = D.copy()
    rest[np.arange(len(some)), labels[some]] = np.inf
    rest[:, np.bincount(labels, minlength=D.shape[1]) == 0] = np.inf
    other = rest.min(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        silhouette = np.where(np.isfinite(other), (other - mine) / np.maximum(np.maximum(mine, other), 1e-300), np.nan)
    typical, borderline = [], []
    for j in range(D.shape[1]):
        inside = np.flatnonzero(labels[some] == j)
        typical.append(some[inside[np.argsort(mine[inside], kind="stable")[:SHOWN]]])
        near = inside[np.argsort(silhouette[inside], kind="stable")[:SHOWN]] if len(inside) > SHOWN else inside[:0]
        borderline.append(some[near])
    return Rows(typical, borderline, D, some, silhouette)
