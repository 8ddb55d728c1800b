"""Batches of a stream: an even sample of all rows seen is kept, and clustered again when twice as many were seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from kernelclust.constraints import check_labels
from kernelclust.estimators._data import where
from kernelclust.objectives import check_weights

KEPT = 5000  # rows


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

    def joined(self, X: Any, weight: np.ndarray, y: np.ndarray) -> Stream:
        """With another batch."""
        key = self.rng.random_sample(X.shape[0])
        seen = self.seen + X.shape[0]
        X = sparse.vstack([self.X, X], format="csr") if sparse.issparse(X) else np.concatenate([self.X, X])
        weight, y, key = (np.concatenate(two) for two in ((self.weight, weight), (self.y, y), (self.key, key)))
        known = y >= 0
        favoured = key - 1.0 * (known & (np.cumsum(known) <= KEPT // 2))
        kept = np.sort(np.argsort(favoured, kind="stable")[:KEPT])
        return replace(self, X=X[kept], weight=weight[kept], y=y[kept], key=key[kept], seen=seen)

    @property
    def due(self) -> bool:
        return self.seen >= 2 * self.fitted


def add_batch(model: Any, X: Any, y: Any, sample_weight: Any, n_clusters: int) -> None:
    """Let a model see a batch, and fit it where that is due."""
    if where(X).elsewhere or model._is_pairwise():
        raise ValueError("partial_fit takes batches of rows as arrays or frames of the host, and a kernel of samples.")
    before: Stream | None = getattr(model, "_stream", None)
    X = model._check_samples(X, reset=before is None)
    weight = check_weights(sample_weight, X)
    known = check_labels(y, X.shape[0], n_clusters)
    if before is None:
        before = Stream(X[:0], weight[:0], known[:0], weight[:0], _own(model.random_state))
    stream = before.joined(X, weight, known)
    if stream.due:
        model._like = model._prediction.labels(stream.X) if before.seen and (stream.y < 0).all() else None
        try:
            model._fit(stream.X, None if (stream.y < 0).all() else stream.y, stream.weight, None, None)
        finally:
            model._like = None
        stream = replace(stream, fitted=stream.seen)
    model._stream = stream
    model._diagnostics["n_samples_seen"] = stream.seen
    model.labels_ = np.where(known >= 0, known, model._prediction.labels(X))
    model.position_ = model._places.position(X, model.labels_)
    model.medoids_ = np.full(n_clusters, -1)  # of samples that may have gone
    model._asked = np.full(X.shape[0], -1)


def _own(random_state: Any) -> np.random.RandomState:
    """A generator of the stream's own, so that a fit does not move it on."""
    return np.random.RandomState(check_random_state(random_state).randint(2**31))
