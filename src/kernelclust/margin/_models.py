"""Scores, labels and Psi of flat weights w: for two clusters and for more.

A rival is a labeling y' as `most_violated` returns it: it may divide samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelclust.margin._features import Features
from kernelclust.margin._search import search, two_by_two
from kernelclust.margin._table_loss import TableLoss
from kernelclust.margin._table_search import search_table, table


@dataclass(frozen=True)
class TwoClusters:
    """y_i = sgn(w . x_i) as True and False, but where it is known; Psi(y) = sum_i s_i y_i x_i, s the weights."""

    features: Features
    loss: TableLoss
    known: np.ndarray | None = None  # (n,) 1 (True), 0 (False), or -1 where it is not known

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.features.scores(w)

    def labels(self, scores: np.ndarray) -> np.ndarray:
        return scores >= 0 if self.known is None else np.where(self.known >= 0, self.known == 1, scores >= 0)

    def psi(self, labels: np.ndarray) -> np.ndarray:
        return self.features.sums(self.features.weights.times(np.where(labels, 1.0, -1.0)))

    def most_violated(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return search(scores, labels, self.loss, self.features.weights)

    def psi_of(self, rival: np.ndarray) -> np.ndarray:
        weight = self.features.weights.weight
        return self.psi(rival) if weight is None else self.features.sums(2 * rival - weight)

    def losses(self, rivals: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return self.loss.of_tables(two_by_two(rivals, labels, self.features.weights))

    def sides(self) -> np.ndarray:
        """Return s with the balance |w . s| <= limit."""
        return self.features.sums(self.features.weights.each)[None]


@dataclass(frozen=True)
class ManyClusters:
    """y_i = argmax_c w_c . x_i, but where it is known; Psi(y) = sums of s x over clusters (Crammer and Singer)."""

    features: Features
    loss: TableLoss
    n_clusters: int
    least_rise: float = 1e-12  # steps of the search for y' that raise its value by less are not taken
    known: np.ndarray | None = None  # (n,) label, or -1 where it is not known

    @cached_property
    def copies(self) -> np.ndarray | slice:
        """The sample of every copy where weights are whole; all samples else."""
        weight = self.features.weights.weight
        if weight is None or not self.features.weights.whole:
            return slice(None)
        return np.repeat(np.arange(len(weight)), weight.astype(int))

    @property
    def copy_weight(self) -> np.ndarray | None:
        return None if self.features.weights.whole else self.features.weights.weight

    def scores(self, w: np.ndarray) -> np.ndarray:  # (n, k)
        return self.features.scores(w.reshape(-1, self.n_clusters))

    def labels(self, scores: np.ndarray) -> np.ndarray:
        labels = scores.argmax(axis=1)
        return labels if self.known is None else np.where(self.known >= 0, self.known, labels)

    def psi(self, labels: np.ndarray) -> np.ndarray:
        here = (labels[:, None] == np.arange(self.n_clusters)).astype(float)
        return self.features.sums(self.features.weights.times(here)).ravel()

    def most_violated(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        at = self.copies
        return search_table(scores[at], labels[at], self.loss, self.least_rise, self.copy_weight)[0]

    def psi_of(self, rival: np.ndarray) -> np.ndarray:
        if isinstance(self.copies, slice):
            return self.psi(rival)
        n, k = self.features.weights.n, self.n_clusters
        return self.features.sums(np.bincount(self.copies * k + rival, minlength=n * k).reshape(n, k) * 1.0).ravel()

    def losses(self, rivals: np.ndarray, labels: np.ndarray) -> np.ndarray:
        labels, k = labels[self.copies], self.n_clusters
        return self.loss.of_tables(np.array([table(rival, labels, k, self.copy_weight) for rival in rivals]))

    def sides(self) -> np.ndarray:
        """Return s_cd with the balance |sum_i s_i (f_ic - f_id)| <= limit for every two clusters."""
        s = self.features.sums(self.features.weights.each)
        c, d = np.triu_indices(self.n_clusters, 1)
        signs = np.eye(self.n_clusters)[c] - np.eye(self.n_clusters)[d]
        return np.einsum("f,pc->pfc", s, signs).reshape(len(c), -1)


DecisionModel = TwoClusters | ManyClusters


def make_model(
    features: Features, loss: TableLoss, n_clusters: int, known: np.ndarray | None, least_rise: float = 1e-12
) -> DecisionModel:
    """Return the model for so many clusters."""
    if n_clusters == 2:
        return TwoClusters(features, loss, known)
    return ManyClusters(features, loss, n_clusters, least_rise, known)
