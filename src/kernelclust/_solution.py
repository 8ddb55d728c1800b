"""The result that every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Solution:
    """A labeling and how it was reached.

    `value` is F at `labels`, `cluster_sums` is S (c x c) there; `history` holds F after every sweep of the run that
    won and never falls; `stopped_because` is "converged", "max_iter" (sweeps) or "max_steps" (of a relaxation).
    `warm_start_sums` is what the solver would need to go on from here. Relaxations add the value of their relaxed
    labels and, where it is one, an upper bound on every F. `placed` says that the clusters are those without structure,
    and have places of it alone. `flat_labels` are the clusters that were found before the structure, where the solver
    found them.
    """

    labels: np.ndarray
    value: float
    cluster_sums: np.ndarray
    n_iter: int
    stopped_because: str
    history: list[float] = field(default_factory=list)
    bound: float = np.inf
    relaxed_value: float | None = None
    warm_start_sums: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    placed: bool = False
    flat_labels: np.ndarray | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        return self.stopped_because == "converged"
