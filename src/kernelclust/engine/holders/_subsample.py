"""Some of the samples, which a search begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust.constraints import Constraints, make_constraints

START, EACH = 2500, 50  # samples that a search begins with, or so many a cluster


@dataclass(frozen=True)
class Subsample:
    """Samples (k) that a search begins with, on the host."""

    few: np.ndarray  # (k,) which of all samples they are
    X: np.ndarray  # (k, d)
    w: np.ndarray  # (k,)
    y: np.ndarray  # (k,) known labels, -1 for none
    places: np.ndarray  # known labels of all samples, each once
    every: bool  # whether these are all samples that count
    lightest: float  # weight of all samples that counts
    gamma: float | None
    rng: np.random.RandomState

    def constraints(self, n_clusters: int) -> Constraints | None:
        return None if (self.y < 0).all() else make_constraints(self.w, n_clusters, labels=self.y)

    def movable(self, n_clusters: int) -> np.ndarray:
        """Return which clusters (c,) have no known label."""
        return ~np.isin(np.arange(n_clusters), self.places)


def wanted(n_clusters: int) -> int:
    return max(START, EACH * n_clusters)
