"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Solution:
    """A labeling and how it was reached.

    `value` is F at `labels`; `history` holds F after every sweep of the run that won and never falls;
    `stopped_because` is "converged" or "max_iter".
    """

    labels: np.ndarray
    value: float
    n_iter: int
    stopped_because: str
    history: list[float] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        return self.stopped_because == "converged"
