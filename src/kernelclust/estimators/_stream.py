"""Batches of a stream: an even sample of all rows seen is kept, and clustered again when twice as many were seen, or
when new rows lie far from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from kernelclust._warnings import warn
from kernelclust.constraints import check_labels
from kernelclust.estimators._data import where
from kernelclust.objectives import check_weights
from kernelclust.structures import Structure

KEPT = 5000  # rows
MEASURED = 1000  # of the stored rows, whose distances to their nearest neighbours show what is usual
FAR = 0.01  # share of rows that are farther from their nearest neighbour than is usual
MIN_FAR, SURE = (
    5,
    5.0,
)  # rows, and standard deviations beyond that share, from which rows since the last fit have drifted
SOON = 1.1  # times as many rows as at the last fit, from which rows that have drifted are clustered again


@dataclass(frozen=True)
class Stream:
    """The rows with the smallest of random numbers, one drawn for every row: an even sample of all that were seen.

    Rows with a known label come first, as far as they are no more than half.
    """

    X: Any  # (k, d)
    weight: np.ndarray
    y: np.ndarray
    key: np.ndarray  # (k,) rising
    rng: np.random.RandomState
    seen: int = 0
    fitted: int = 0  # rows that had been seen at the last fit
    reach: float = np.inf  # distance to the nearest stored row that all but FAR of the rows keep within
    far: int = 0  # rows since the last fit that are farther away

    def joined(self, X: Any, weight: np.ndarray, y: np.ndarray) -> Stream:
        """Return the sample with another batch added."""
        key = self.rng.random_sample(X.shape[0])
        seen = self.seen + X.shape[0]
        both = [self.X, X]
        X = sparse.vstack(both, format="csr") if any(map(sparse.issparse, both)) else np.concatenate(both)
        weight, y, key = (np.concatenate(two) for two in ((self.weight, weight), (self.y, y), (self.key, key)))
        known = y >= 0
        favoured = key - 1.0 * (known & (np.cumsum(known) <= KEPT // 2))
        kept = np.sort(np.argsort(favoured, kind="stable")[:KEPT])
        return replace(self, X=X[kept], weight=weight[kept], y=y[kept], key=key[kept], seen=seen)

    @property
    def drifted(self) -> bool:
        """Return whether more rows since the last fit are far from the stored ones than chance explains."""
        expected = FAR * (self.seen - self.fitted)
        return self.far > expected + SURE * np.sqrt(expected) + MIN_FAR

    @property
    def due(self) -> bool:
        return self.seen >= 2 * self.fitted or (self.drifted and self.seen >= SOON * self.fitted)

    def counted(self, X: Any) -> int:
        """Return how many of these rows are farther from the stored ones than is usual."""
        if not np.isfinite(self.reach):
            return 0
        return int((_nearest(self.X, X, 1) > self.reach).sum())

    def measured(self) -> Stream:
        """Return the stream after a fit."""
        n, reach = self.X.shape[0], np.inf
        if n > 1:
            some = np.unique(np.linspace(0, n - 1, min(n, MEASURED)).astype(int))
            reach = float(np.quantile(_nearest(self.X, self.X[some], 2), 1 - FAR))
        return replace(self, fitted=self.seen, reach=reach, far=0)


def _nearest(stored: Any, X: Any, k: int) -> np.ndarray:
    """Return the distance of rows X to the k-th nearest of the stored rows; a row that is stored is its own first."""
    if sparse.issparse(stored) or sparse.issparse(X):
        stored, X = sparse.csr_matrix(stored), sparse.csr_matrix(X)
    else:  # squares of samples far from the origin have no digits left for their distances
        with np.errstate(over="ignore", invalid="ignore"):
            middle = np.nan_to_num(np.median(stored[:MEASURED], axis=0))
            stored, X = (np.nan_to_num(rows - middle) for rows in (stored, X))
    unit = max(float(abs(stored).max()), float(abs(X).max()), np.finfo(np.float32).tiny)
    search = NearestNeighbors(n_neighbors=k).fit(stored / unit)
    return unit * search.kneighbors(X / unit)[0][:, -1]


def add_batch(model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, refit: bool | str = "auto") -> None:
    """Let a model see a batch, and fit it where that is due or asked for."""
    if not (refit == "auto" or isinstance(refit, (bool, np.bool_))):
        raise ValueError(f"refit={refit!r}: give True, False or 'auto'.")
    if where(X).elsewhere or model._is_pairwise():
        raise ValueError("partial_fit takes batches of rows as arrays or frames of the host, and a kernel of samples.")
    before: Stream | None = getattr(model, "_stream", None)
    is_new = before is not None and structure != model.structure_
    if is_new and refit != "auto" and not refit:
        raise ValueError(
            f"the structure is {structure}, and the clusters of the earlier batches are on {model.structure_}: "
            "refit=True clusters the stored rows again."
        )
    X = model._check_samples(X, reset=before is None)
    names = model._column_names()
    weight = check_weights(sample_weight, X)
    known = check_labels(y, X.shape[0], structure.n_clusters)
    if before is None:
        before = Stream(X[:0], weight[:0], known[:0], weight[:0], _own(model.random_state))
    far = before.far + before.counted(X)
    stream = replace(before.joined(X, weight, known), far=far)
    if not before.seen or (stream.due or is_new if refit == "auto" else refit):
        model._like = model._prediction.labels(stream.X) if before.seen and not is_new else None
        try:
            model._fit(stream.X, None if (stream.y < 0).all() else stream.y, stream.weight, None, None)
        finally:
            model._like = None
        if names is not None:
            model.feature_names_in_ = names  # of the batches; the stored rows have none
        stream = stream.measured()
    elif stream.drifted:
        warn(
            f"{stream.far} of the {stream.seen - stream.fitted} rows since the last clustering lie farther from the "
            f"stored rows than 99 % of these from each other: the clusters may be out of date. refit=True clusters "
            "again now."
        )
    model._stream = stream
    model._diagnostics["n_samples_seen"] = stream.seen
    model._diagnostics["drift"] = stream.far / max(stream.seen - stream.fitted, 1)
    model.labels_ = model._prediction.labels(X)
    if model.label_weight is None:
        model.labels_ = np.where(known >= 0, known, model.labels_)
    model.position_ = model._places.position(X, model.labels_)
    model.medoids_ = np.full(structure.n_clusters, -1)  # of samples that may have gone
    model._asked = np.full(X.shape[0], -1)


def _own(random_state: Any) -> np.random.RandomState:
    """A generator of the stream's own, so that a fit does not move it on."""
    return np.random.RandomState(check_random_state(random_state).randint(2**31))
