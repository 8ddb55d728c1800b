"""The simplex {x >= 0, sum x = 1}."""

from __future__ import annotations

import numpy as np


def project_on_simplex(V: np.ndarray) -> np.ndarray:
    """Nearest point of the simplex to every row of V."""
    descending = -np.sort(-V, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, V.shape[1] + 1)
    last = np.count_nonzero(descending > excess, axis=1) - 1
    return np.maximum(V - excess[np.arange(len(V)), last][:, None], 0)
