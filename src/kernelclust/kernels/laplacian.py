"""k(x, y) = exp(-gamma |x - y|_1): like rbf with heavier tails, less moved by outlying features."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import manhattan_distances

PARAMETERS = ("gamma",)
TRANSLATION_INVARIANT = True
DISTANCE_POWER = 1


def block(X, Y, *, gamma: float) -> np.ndarray:
    K = manhattan_distances(X, Y)
    K *= -gamma
    np.exp(K, out=K)
    return K


def frequencies(n_features: int, n_components: int, rng: np.random.RandomState, *, gamma: float) -> np.ndarray:
    """Random directions (d, n) whose cosines average to the kernel."""
    return gamma * rng.standard_cauchy((n_features, n_components))
