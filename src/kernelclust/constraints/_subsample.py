"""Some of the samples, those with known labels first."""

from __future__ import annotations

import numpy as np


def draw(m: int, at_most: int, y: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray:
    """Draw so many of m samples, those whose label is known among them (as far as they are no more than half)."""
    if m <= at_most or m - at_most < m // 4:
        return np.arange(m)
    told = np.empty(0, dtype=int) if y is None else np.flatnonzero(y >= 0)
    if len(told) > at_most // 2:
        told = rng.choice(told, at_most // 2, replace=False)
    others = rng.randint(0, m, size=at_most + at_most * at_most // (2 * m))  # some are drawn twice
    return np.unique(np.concatenate([told, others]))
