"""What a fit says about new samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust.kernels import NewSamples
from kernelclust.objectives import Assignment, ClusterObjective


@dataclass(frozen=True)
class Prediction:
    """Places of new samples with the clusters held as they are; holds no kernel matrix.

    `judge` and `sums` are the similarities and the S that distances are measured by: those of the kernel itself, or of
    the one that a discriminative kernel was made of, which knows no distances of new samples.
    """

    similarities: NewSamples
    assignment: Assignment
    n: np.ndarray  # (c,)
    judge: NewSamples
    sums: np.ndarray  # (c, c)
    reach: float = 1.0  # share of the fitted samples' spread that c clusters could explain at best

    @classmethod
    def of(
        cls,
        similarities: NewSamples,
        objective: ClusterObjective,
        S: np.ndarray,
        n: np.ndarray,
        judged: tuple[NewSamples, np.ndarray] | None = None,
        reach: float = 1.0,
    ) -> Prediction:
        judge, sums = (similarities, S) if judged is None else judged
        return cls(similarities, objective.assignment(S, n), n, judge, sums, reach)

    def rises(self, X) -> np.ndarray:
        """Rate at which F rises with a sample in each cluster (n, c)."""
        return self.assignment.rises(self.similarities(X))

    def labels(self, X) -> np.ndarray:
        return self.assignment.labels(self.similarities(X))

    def placed(self, X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Similarities that distances are measured by, with clusters (n, c) and with oneself (n,), and labels (n,)."""
        G, own = self.judge.checked(X)
        return G, own, self.assignment.labels(G) if self.judge is self.similarities else self.labels(X)

    def explained(self, X, weight: np.ndarray) -> float:
        """1 - sum |phi(x) - mu_y|^2 / sum |phi(x) - mu|^2, y the place that x is given, over `reach`; in [0, 1]."""
        return self.share(*self.spreads(X, weight))

    def spreads(self, X, weight: np.ndarray) -> tuple[float, float]:
        """The two sums of `explained`: around the clusters' means, and around the mean of all."""
        G, own, labels = self.placed(X)
        n = np.where(self.n > 0, self.n, 1.0)
        within = own - 2 * G[np.arange(len(G)), labels] / n[labels] + (np.diag(self.sums) / n**2)[labels]
        return float(weight @ np.maximum(within, 0.0)), float(weight @ np.maximum(own, 0.0))

    def share(self, within: float, total: float) -> float:
        return float(np.clip((1 - within / total) / self.reach, 0.0, 1.0)) if total > 0 else 0.0
